#include "bridge/acp/sessions/normal_path.h"

#include <filesystem>

#include "absl/strings/match.h"

namespace bridge {

std::string NormalizePath(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  // POSIX lets the system define "//x"; on Linux it is "/x".
  while (absl::StartsWith(normal, "//")) {
    normal.erase(0, 1);
  }
  if (normal.size() > 1 && absl::EndsWith(normal, "/")) {
    normal.pop_back();
  }
  return normal;
}

}  // namespace bridge

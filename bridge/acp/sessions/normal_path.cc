#include "bridge/acp/sessions/normal_path.h"

#include <filesystem>

#include "absl/strings/match.h"

namespace bridge {

std::string NormalizePath(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  if (normal.size() > 1 && absl::EndsWith(normal, "/")) {
    normal.pop_back();
  }
  return normal;
}

}  // namespace bridge

#include "bridge/acp/terminals/shell_fallback.h"

#include "bridge/gate/shell_line.h"

namespace bridge {
namespace {

constexpr char kLastShell[] = "/bin/sh";

}  // namespace

std::optional<std::vector<std::string>> ShellFallback(
    const std::vector<std::string>& argv) {
  if (!IsShell(argv.front()) || argv.front() == kLastShell) {
    return std::nullopt;
  }
  if (const size_t slash = argv.front().rfind('/');
      slash != std::string::npos) {
    std::vector<std::string> by_name = argv;
    by_name.front() = argv.front().substr(slash + 1);
    return by_name;
  }
  const std::optional<std::string> line = ShellLine(argv);
  if (!line.has_value()) {
    return std::nullopt;
  }
  return std::vector<std::string>{kLastShell, "-c", *line};
}

}  // namespace bridge

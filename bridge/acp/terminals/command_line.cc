#include "bridge/acp/terminals/command_line.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace bridge {
namespace {

// Returns true if a shell would read the text as nothing but the name of a
// program.
bool IsPlainWord(absl::string_view command) {
  return std::all_of(command.begin(), command.end(), [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("_-+./:@,", c) ||
           (static_cast<unsigned char>(c) & 0x80) != 0;
  });
}

// Returns true if the program is the shell of Windows, for agents that run
// there.
bool IsWindowsShell(absl::string_view program) {
  const std::string name =
      absl::AsciiStrToLower(program.substr(program.find_last_of("/\\") + 1));
  return name == "cmd.exe" || name == "cmd";
}

}  // namespace

std::vector<std::string> ToArgv(const std::string& command,
                                const std::vector<std::string>& arguments) {
  if (IsWindowsShell(command) && !arguments.empty()) {
    return {"/bin/sh", "-c", arguments.back()};
  }
  if (arguments.empty() && !IsPlainWord(command)) {
    return {"/bin/sh", "-c", command};
  }
  std::vector<std::string> argv = {command};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

}  // namespace bridge

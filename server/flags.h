// The command line of corrald.

#ifndef SERVER_FLAGS_H_
#define SERVER_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace server {

// The exit status for a bad command line or configuration.
inline constexpr int kBadUsage = 2;

struct Flags {
  enum class Action { kServe, kHelp, kVersion };
  Action action = Action::kServe;
  std::optional<std::string> config_file;
  std::optional<std::string> listen;
  std::optional<std::string> state_dir;
  std::optional<uint32_t> idle_exit_seconds;
  std::optional<std::string> on_shutdown;
  bool take_over = false;
};

// The text that --help prints.
absl::string_view HelpText();

// Reads the command line with absl's flags; `arguments` begins with the
// program's name. A bad command line is reported on stderr and ends the process
// with kBadUsage. Call it before any thread is made.
Flags ParseFlags(const std::vector<std::string>& arguments);

}  // namespace server

#endif  // SERVER_FLAGS_H_

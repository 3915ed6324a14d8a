// The command line of corrald.

#ifndef SERVER_FLAGS_H_
#define SERVER_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace server {

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

// What --help prints.
absl::string_view HelpText();

// `arguments` without the program's name. InvalidArgument names the flag.
absl::StatusOr<Flags> ParseFlags(const std::vector<std::string>& arguments);

}  // namespace server

#endif  // SERVER_FLAGS_H_

#include <optional>

#include "bridge/cli/attach/attached_command.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/options/quantity.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

absl::StatusOr<int> Attach(Invocation invocation) {
  OptionTable table(
      "corral attach", "[OPTIONS] EXECUTION",
      "Shows the output of a command from its beginning and follows it until\n"
      "the command ends; the exit status is then the command's. Input is "
      "passed\n"
      "on if the command has a terminal. Any number of clients can be "
      "attached\n"
      "at a time. The detach keys, and signals to corral itself, leave the\n"
      "command running: exit status 0. Input that arrives while old output is\n"
      "shown is dropped, because it contains the terminal's answers to old\n"
      "questions.");
  std::optional<uint64_t> from;
  DetachKeys detach_keys;
  table.Value(0, "from", "OFFSET",
              "Begin at this byte of the output, counted from 0.",
              [&from](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(from, ParseCount(value));
                return absl::OkStatus();
              });
  AddDetachKeys(table, detach_keys);
  ASSIGN_OR_RETURN(const std::optional<std::string> name,
                   ParseExecution(table, invocation));
  if (!name.has_value()) {
    return 0;
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  return AttachTo(*connection, *name, from, detach_keys);
}

}  // namespace bridge

#include <optional>

#include "bridge/cli/attach/attached_command.h"
#include "bridge/cli/attach/detach_keys.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/options/quantity.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

absl::StatusOr<int> Attach(Invocation invocation) {
  OptionTable table(
      "attach", "[OPTIONS] EXECUTION",
      "Shows the output of a command from its beginning and follows it until "
      "the\n"
      "command ends; the exit status is the command's then. If it has a "
      "terminal, what\n"
      "is typed is passed on. Any number can be attached at a time. The detach "
      "keys, and\n"
      "signals to corral itself, leave the command running: exit status 0. "
      "What "
      "is typed\n"
      "while old output is shown is dropped, since a terminal's answers to old "
      "questions\n"
      "are among it.");
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

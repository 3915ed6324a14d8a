#include <optional>

#include "absl/strings/str_cat.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/exit_report.h"
#include "bridge/cli/report/json_output.h"
#include "bridge/client/call.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

absl::Status Report(const corral::v1::Execution& execution, bool json) {
  if (json) {
    return Print(absl::StrCat(ToJson(execution), "\n")).status();
  }
  if (const std::string text = ExplainEnd(execution); !text.empty()) {
    Say(text);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> Wait(Invocation invocation) {
  OptionTable table("corral wait", "[OPTIONS] EXECUTION",
                    "Waits for the end of an execution. The exit status is the "
                    "command's, as with\ncorral run.");
  bool json = false;
  table.Flag(0, "json",
             absl::StrCat("Print the Execution as JSON.\n", kJsonHelp), json);
  ASSIGN_OR_RETURN(const std::optional<std::string> name,
                   ParseExecution(table, invocation));
  if (!name.has_value()) {
    return 0;
  }
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  ASSIGN_OR_RETURN(const corral::v1::Execution execution,
                   client::WaitForEnd(*connection, *name));
  RETURN_IF_ERROR(Report(execution, json));
  return ExitCode(execution);
}

}  // namespace bridge

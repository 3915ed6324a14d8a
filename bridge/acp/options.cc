#include "bridge/acp/options.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/options/duration_field.h"
#include "bridge/options/limit_fields.h"
#include "bridge/options/option_table.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr char kSummary[] =
    R"(Runs an ACP agent whose terminals are commands in Corral's sandboxes. Configure
it in an editor in place of the agent: it speaks the Agent Client Protocol on
standard input and output, starts AGENT, answers the agent's terminal/* requests
with the help of corrald, and passes on everything else unchanged.

Each ACP session has a sandbox of its own. No process of the agent outlives
corral-acp. Exit status: the agent's, or 128 + n if signal n ended it; 127 if
there is no such agent, 126 if it can't be executed; 2 for a wrong option.)";

// The table sets `options`, which must outlive it.
OptionTable MakeTable(Options& options) {
  OptionTable table("corral-acp", "[OPTIONS] [--] AGENT [ARGUMENTS]", kSummary);
  table.TakeCommandAfter(0);
  AddServerOptions(table, options.bridge.server);
  WorkplaceOptions& workplace = options.bridge.workplace;
  table.Text('w', "workspace", "DIR",
             "The directory that commands see and may write to. Default: the\n"
             "working directory that the editor gives each session.",
             workplace.workspace);
  table.Flag(0, "read-only", "Commands cannot write to the workspace.",
             workplace.read_only);
  AddLimitOptions(table, workplace.limits);
  table.Value(0, "timeout", "TIME",
              "End each command after this time: 30s, 5m, 1h30m.",
              [&options](absl::string_view value) {
                ASSIGN_OR_RETURN(options.bridge.command_timeout,
                                 ParseDuration(value, kTimeoutRange));
                return absl::OkStatus();
              });
  return table;
}

}  // namespace

std::string HelpText() {
  Options options;
  return MakeTable(options).Help();
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::string& directory) {
  Options options;
  ASSIGN_OR_RETURN(Arguments parsed, MakeTable(options).Parse(arguments));
  options.help = parsed.help;
  if (options.help) {
    return options;
  }
  options.agent = std::move(parsed.command);
  if (options.agent.empty() || options.agent.front().empty()) {
    return UsageError("no agent is given; see corral-acp --help");
  }
  std::string& workspace = options.bridge.workplace.workspace;
  if (!workspace.empty()) {
    workspace = NormalizePath(absl::StartsWith(workspace, "/")
                                  ? workspace
                                  : absl::StrCat(directory, "/", workspace));
  }
  return options;
}

}  // namespace bridge

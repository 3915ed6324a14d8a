#include "bridge/mcp/options.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/client/resource_name.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_options.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/mcp/gate/tool_gate.h"
#include "bridge/mcp/http/access.h"
#include "bridge/mcp/http/http_address.h"
#include "bridge/options/option_table.h"
#include "bridge/options/protection_options.h"
#include "bridge/options/quantity.h"
#include "bridge/options/sandbox_options.h"
#include "bridge/options/server_options.h"
#include "bridge/options/working_directory.h"
#include "sandbox/base/paths.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

// Larger terminals have no screen; see proto/corral/v1/screen_service.proto.
constexpr uint64_t kMaxColumns = 4096;
constexpr uint64_t kMaxRows = 2048;
constexpr uint64_t kMaxSessions = 100;

template <typename Field>
OptionTable::Setter Count(uint64_t max, Field* field) {
  return [max, field](absl::string_view value) -> absl::Status {
    const absl::StatusOr<uint64_t> count = ParseCount(value);
    if (!count.ok() || *count < 1 || *count > max) {
      return absl::InvalidArgumentError(
          absl::StrCat("allowed is a number from 1 to ", max));
    }
    *field = static_cast<Field>(*count);
    return absl::OkStatus();
  };
}

std::string DefaultShell() {
  const char* const shell = std::getenv("SHELL");
  return shell == nullptr || *shell == '\0' ? "/bin/bash" : shell;
}

void AddTerminalOptions(OptionTable& table, TerminalsOptions& options) {
  table.Value(0, "cols", "N", "Width of terminals in characters. Default: 120.",
              Count(kMaxColumns, &options.shell.columns));
  table.Value(0, "rows", "N", "Height of terminals in lines. Default: 40.",
              Count(kMaxRows, &options.shell.rows));
  table.Text(0, "shell", "PROGRAM",
             "The program in the terminals. Default: $SHELL, or /bin/bash.",
             options.shell.shell);
  table.Value(0, "max-sessions", "N",
              "Sessions at one time, with the default one. Default: 5.",
              Count(kMaxSessions, &options.max_sessions));
}

void AddHttpOptions(OptionTable& table, McpOptions& options,
                    std::string& token_file) {
  table.Value(0, "http", "[ADDR:]PORT",
              "Serve HTTP there, at /mcp, instead of standard input and\n"
              "output. ADDR is 127.0.0.1 unless you give one.",
              [&options](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(options.http, HttpAddress::Parse(value));
                return absl::OkStatus();
              });
  table.Text(0, "http-token-file", "FILE",
             "HTTP clients must show the token in FILE as a bearer token.\n"
             "Without it, only programs of the same user on this machine are\n"
             "served.",
             token_file);
}

absl::Status ReadHttpToken(const std::string& file, McpOptions& options) {
  if (!file.empty()) {
    if (!options.http.has_value()) {
      return UsageError("--http-token-file needs --http");
    }
    ASSIGN_OR_RETURN(options.token, ReadToken(file));
  } else if (options.http.has_value() && !options.http->IsLoopback()) {
    return UsageError(absl::StrCat("--http ", options.http->ToString(),
                                   " can be reached from other machines, so it "
                                   "needs --http-token-file"));
  }
  return absl::OkStatus();
}

absl::Status SetNames(const std::string& existing, McpOptions& options) {
  TerminalSandboxOptions& sandbox = options.terminals.sandbox;
  if (!sandbox.lasting_id.empty() && !existing.empty()) {
    return UsageError("--name excludes --sandbox");
  }
  if (!existing.empty()) {
    ASSIGN_OR_RETURN(sandbox.existing, client::SandboxName(existing));
  }
  return absl::OkStatus();
}

absl::Status SetGate(GateRules rules, AuditLog audit, McpOptions& options) {
  if (const int rule = rules.FirstWithLimits(); rule != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--gate: rule ", rule,
        " limits its commands, which corral-mcp cannot do: they run in a shell "
        "that goes on"));
  }
  options.gate = std::make_shared<ToolGate>(std::move(rules), std::move(audit),
                                            options.terminals.shell.shell);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<McpOptions> ParseMcpOptions(
    const std::vector<std::string>& words) {
  McpOptions options;
  SandboxOptions sandbox(HostTools::kProtected);
  std::string token_file;
  bool headless = false;
  OptionTable table("corral-mcp", "[OPTIONS]",
                    "Serves the terminal tools of MCP on standard input and "
                    "output.\nTheir shells run in a sandbox of Corral.");
  AddTerminalOptions(table, options.terminals);
  AddHttpOptions(table, options, token_file);
  table.Flag(0, "headless", "Ignored: corral-mcp is always headless.",
             headless);
  table.Text(0, "name", "NAME",
             "The sandbox is called NAME. It and its shells stay when\n"
             "corral-mcp ends; the next one with this name finds them. With\n"
             "--http, all clients share them.",
             options.terminals.sandbox.lasting_id);
  std::string existing;
  table.Text(0, "sandbox", "NAME",
             "Use this sandbox, which exists, and leave it when corral-mcp\n"
             "ends. The options for a new sandbox then have no effect.",
             existing);
  sandbox.AddTo(table);
  GateRules rules;
  AuditLog audit;
  AddGateOptions(table, rules, audit);
  AddServerOptions(table, options.terminals.sandbox.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(words));
  if (arguments.help) {
    options.help = table.Help();
    return options;
  }
  RETURN_IF_ERROR(ReadHttpToken(token_file, options));
  if (options.terminals.shell.shell.empty()) {
    options.terminals.shell.shell = DefaultShell();
  }
  RETURN_IF_ERROR(SetNames(existing, options));
  RETURN_IF_ERROR(SetGate(std::move(rules), std::move(audit), options));
  corral::v1::Sandbox& made = options.terminals.sandbox.sandbox;
  ASSIGN_OR_RETURN(made, sandbox.Build());
  // Shells begin where corral-mcp was started, if they can see that directory.
  const absl::StatusOr<std::string> current = CurrentDirectory();
  if (current.ok() && existing.empty() && made.has_workspace() &&
      sandbox::IsWithin(*current, made.workspace().path())) {
    options.terminals.directory = *current;
  }
  return options;
}

}  // namespace bridge

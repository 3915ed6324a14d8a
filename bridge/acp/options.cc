#include "bridge/acp/options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "bridge/acp/display/display_route.h"
#include "bridge/acp/inside/agent_sandbox.h"
#include "bridge/acp/profiles/agent_profiles.h"
#include "bridge/acp/profiles/profile_option.h"
#include "bridge/acp/profiles/profile_settings.h"
#include "bridge/acp/sessions/normal_path.h"
#include "bridge/acp/sibling_command.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/gate/gate_options.h"
#include "bridge/options/confinement_options.h"
#include "bridge/options/duration_field.h"
#include "bridge/options/egress_options.h"
#include "bridge/options/limit_fields.h"
#include "bridge/options/mount_options.h"
#include "bridge/options/option_table.h"
#include "bridge/options/protection_options.h"
#include "bridge/options/publish_option.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

constexpr char kSummary[] =
    R"(Runs an ACP agent whose terminals are commands in Corral's sandboxes. Configure
it in an editor in place of the agent: it speaks the Agent Client Protocol on
standard input and output, starts AGENT, answers the agent's terminal/* requests
with the help of corrald, and passes on everything else unchanged.

`corral-acp doctor` with the same options checks server, sandbox, workspace and
agent, and says what to do.

Each ACP session has a sandbox of its own. With --agent-in-sandbox, the agent
itself runs in one, too, and all sessions share it. No process of the agent
outlives corral-acp. Exit status: the agent's, or 128 + n if signal n ended it; 127 if
there is no such agent, 126 if it can't be executed; 2 for a wrong option.)";

// Adds the options for what the user of the editor sees and decides.
void AddEditorOptions(OptionTable& table, BridgeOptions& options) {
  table.Value(0, "display", "HOW",
              "How the editor shows output while a command runs. meta: in\n"
              "terminals that corral-acp fills; mirror: in terminals that run\n"
              "corral attach; text: in the tool call. Default: auto, the best\n"
              "of these that the editor knows.",
              [&options](absl::string_view value) {
                ASSIGN_OR_RETURN(options.display.choice,
                                 ParseDisplayChoice(value));
                return absl::OkStatus();
              });
  AddGateOptions(table, options.gate, options.audit);
  table.Flag(
      0, "ask-hosts",
      "Ask the user in the editor about each host that the network of a\n"
      "session refuses, and allow it there for the session if the user\n"
      "agrees: ports 80 and 443, TLS and HTTP only. Needs an allow-list:\n"
      "--allow-host, --network allow-list, or a profile with hosts.",
      options.ask_hosts);
  table.Value(0, "signal-exit-codes", "HOW",
              "The exit code of a command that a signal ended. none, as the\n"
              "protocol says; shell: 128 + n, for agents that take a missing\n"
              "code for success. Default: none.",
              [&options](absl::string_view value) -> absl::Status {
                if (value != "none" && value != "shell") {
                  return absl::InvalidArgumentError("allowed is none or shell");
                }
                options.signal_codes = value == "shell" ? SignalCodes::kAsShell
                                                        : SignalCodes::kNone;
                return absl::OkStatus();
              });
}

// Adds the options for an agent that runs in a sandbox itself.
void AddInsideOptions(OptionTable& table, ProfileOption& profile,
                      Options& options) {
  table.Flag(
      0, "agent-in-sandbox",
      "Run the agent itself in a sandbox, together with its commands. It\n"
      "sees the workspace, its own program, --mount and --home, and\n"
      "reaches --allow-host.",
      options.agent_in_sandbox);
  profile.AddTo(table);
  table.Value(
      'e', "env", "NAME",
      "With --agent-in-sandbox: a variable of this environment that the\n"
      "agent gets. May be repeated.",
      [&options](absl::string_view value) -> absl::Status {
        if (value.empty() || absl::StrContains(value, '=')) {
          return absl::InvalidArgumentError(
              "allowed is the name of a variable, without a value");
        }
        options.variables.emplace_back(value);
        return absl::OkStatus();
      });
  AddPublishOption(table, options.published);
  AddMountOptions(table, options.bridge.workplace.sandbox);
}

// The groups of options that have a class of their own.
struct Parts {
  ConfinementOptions confinement;
  ProtectionOptions protection{HostTools::kProtected};
  ProfileOption profile;
};

// The table sets `options` and `parts`, which must outlive it.
OptionTable MakeTable(Options& options, Parts& parts) {
  OptionTable table("corral-acp", "[doctor] [OPTIONS] [--] AGENT [ARGUMENTS]",
                    kSummary);
  table.TakeCommandAfter(0);
  AddServerOptions(table, options.bridge.server);
  WorkplaceOptions& workplace = options.bridge.workplace;
  table.Text('w', "workspace", "DIR",
             "The directory that commands see and may write to. Default: the\n"
             "working directory that the editor gives each session.",
             workplace.workspace);
  table.Value(0, "map", "LOCAL=REMOTE",
              "A directory of the editor, and where the server has it. Can be\n"
              "given more than once.",
              [&workplace](absl::string_view value) {
                return workplace.map.Add(value);
              });
  table.Flag(0, "read-only", "Commands cannot write to the workspace.",
             workplace.read_only);
  parts.protection.AddTo(table);
  parts.confinement.AddTo(table);
  AddLimitOptions(table, *workplace.sandbox.mutable_limits());
  table.Value(0, "timeout", "TIME",
              "End each command after this time: 30s, 5m, 1h30m.",
              [&options](absl::string_view value) {
                ASSIGN_OR_RETURN(options.bridge.limits.timeout,
                                 ParseDuration(value, kTimeoutRange));
                return absl::OkStatus();
              });
  table.Value(0, "cpu-timeout", "TIME", "End each command after this CPU time.",
              [&options](absl::string_view value) {
                ASSIGN_OR_RETURN(options.bridge.limits.cpu_timeout,
                                 ParseDuration(value, kTimeoutRange));
                return absl::OkStatus();
              });
  AddInsideOptions(table, parts.profile, options);
  table.Flag(
      0, "mcp",
      "Offer corral-mcp to the agent: it is added to the MCP servers of\n"
      "each session, with shells in the session's sandbox.",
      options.mcp);
  AddEditorOptions(table, options.bridge);
  return table;
}

// Adds what commands may do and change.
absl::Status Confine(const Parts& parts, WorkplaceOptions& workplace) {
  RETURN_IF_ERROR(parts.confinement.ApplyTo(workplace.sandbox));
  parts.protection.ApplyTo(workplace.protection);
  return workplace.read_only
             ? absl::OkStatus()
             : parts.protection.CheckProfile(workplace.sandbox.profile());
}

void AddSiblings(Options& options) {
  std::vector<std::string>& attach = options.bridge.display.attach;
  attach = SiblingCommand("corral", options.bridge.server);
  if (!attach.empty()) {
    attach.emplace_back("attach");
  }
}

std::string Absolute(const std::string& path, const std::string& directory) {
  return NormalizePath(
      absl::StartsWith(path, "/") ? path : absl::StrCat(directory, "/", path));
}

// Refuses what an agent in a sandbox cannot have.
absl::Status CheckInside(const Options& options, const ProfileOption& profile) {
  if (!options.agent_in_sandbox) {
    if (profile.is_given()) {
      return UsageError("--agent-profile goes with --agent-in-sandbox only");
    }
    if (!options.published.empty()) {
      return UsageError(
          "--publish goes with --agent-in-sandbox only: each session has a "
          "sandbox of its own; `corral port-forward` publishes ports of one");
    }
    return options.variables.empty()
               ? absl::OkStatus()
               : UsageError("--env goes with --agent-in-sandbox only");
  }
  if (options.mcp) {
    return UsageError(
        "--mcp does not go with --agent-in-sandbox: the agent's own terminal "
        "is in the sandbox already");
  }
  if (!options.bridge.workplace.map.empty()) {
    return UsageError(
        "--map does not go with --agent-in-sandbox: the agent sees the paths "
        "of the server");
  }
  return absl::OkStatus();
}

// Adds the settings of the profile. Options that the user gave win.
absl::Status ApplyProfile(const corral::config::v1::AgentProfile& profile,
                          const ConfinementOptions& confinement,
                          Options& options) {
  corral::v1::Sandbox& sandbox = options.bridge.workplace.sandbox;
  const std::vector<std::string> services(sandbox.egress_services().begin(),
                                          sandbox.egress_services().end());
  ProfileSettings settings =
      Settle(profile, KnownProfiles().set(), options.variables, services);
  options.variables.insert(options.variables.end(), settings.variables.begin(),
                           settings.variables.end());
  if (confinement.IsClosed()) {
    return absl::OkStatus();
  }
  for (const std::string& host : settings.hosts) {
    // Rules of the options come first: the first that matches decides.
    ASSIGN_OR_RETURN(*sandbox.add_egress_rules(), ParseEgressRule(host));
    sandbox.set_network(corral::v1::Sandbox::ALLOW_LIST);
  }
  return absl::OkStatus();
}

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real =
      std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

// Returns the absolute workspace; empty if each session has its own.
std::string WorkspaceOf(const Options& options, const std::string& directory) {
  std::string workspace = options.bridge.workplace.workspace;
  if (workspace.empty() &&
      (options.agent_in_sandbox || options.task == Options::Task::kExamine)) {
    workspace = directory;
  }
  if (workspace.empty()) {
    return workspace;
  }
  workspace = Absolute(workspace, directory);
  return options.agent_in_sandbox ? RealPath(workspace) : workspace;
}

// The agent starts corral-mcp in a directory of its choice.
absl::Status AddMcpServer(const std::string& directory,
                          BridgeOptions& options) {
  if (const int rule = options.gate.FirstWithLimits(); rule != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--mcp: rule ", rule,
        " of --gate limits its commands, which corral-mcp cannot do: they run "
        "in a shell that goes on"));
  }
  std::vector<std::string>& command = options.mcp_server;
  command = SiblingCommand("corral-mcp", options.server);
  if (command.empty()) {
    return UsageError("--mcp: no corral-mcp stands next to corral-acp");
  }
  if (!options.gate.file().empty()) {
    command.insert(command.end(),
                   {"--gate", Absolute(options.gate.file(), directory)});
  }
  if (!options.audit.path().empty()) {
    command.insert(command.end(),
                   {"--audit", Absolute(options.audit.path(), directory)});
  }
  return absl::OkStatus();
}

}  // namespace

std::string HelpText() {
  Options options;
  Parts parts;
  return MakeTable(options, parts).Help();
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::string& directory) {
  Options options;
  std::vector<std::string> words = arguments;
  if (!words.empty() && words.front() == "doctor") {
    options.task = Options::Task::kExamine;
    words.erase(words.begin());
  }
  Parts parts;
  ASSIGN_OR_RETURN(Arguments parsed, MakeTable(options, parts).Parse(words));
  options.help = parsed.help;
  if (options.help) {
    return options;
  }
  options.agent = std::move(parsed.command);
  const bool has_agent =
      !options.agent.empty() && !options.agent.front().empty();
  if (!has_agent && options.task == Options::Task::kBridge) {
    return UsageError("no agent is given; see corral-acp --help");
  }
  RETURN_IF_ERROR(CheckInside(options, parts.profile));
  options.bridge.workplace.workspace = WorkspaceOf(options, directory);
  options.bridge.preparation = Preparation::kWithSession;
  RETURN_IF_ERROR(Confine(parts, options.bridge.workplace));
  if (options.agent_in_sandbox && has_agent) {
    options.profile = parts.profile.Choose(options.agent.front());
  }
  if (options.profile != nullptr) {
    RETURN_IF_ERROR(ApplyProfile(*options.profile, parts.confinement, options));
  }
  if (options.bridge.ask_hosts && options.bridge.workplace.sandbox.network() !=
                                      corral::v1::Sandbox::ALLOW_LIST) {
    return UsageError(
        "--ask-hosts goes with an allow-list only; give --allow-host or "
        "--network allow-list, too");
  }
  AddSiblings(options);
  if (options.mcp) {
    RETURN_IF_ERROR(AddMcpServer(directory, options.bridge));
  }
  return options;
}

absl::StatusOr<AgentRuntime> AddRuntime(const std::string& directory,
                                        Options& options) {
  const WorkplaceOptions& workplace = options.bridge.workplace;
  const char* path = std::getenv("PATH");
  const char* home = std::getenv("HOME");
  Surroundings surroundings;
  surroundings.path = path == nullptr ? "" : path;
  surroundings.home = home == nullptr ? "" : RealPath(home);
  surroundings.directory = directory;
  surroundings.known = ShownDirectories(
      Workplaces::ToSandbox(workplace, {workplace.workspace, {}}));
  ASSIGN_OR_RETURN(AgentRuntime runtime,
                   FindRuntime(options.agent.front(), surroundings));
  AddRuntime(runtime, options.bridge.workplace.sandbox);
  return runtime;
}

std::vector<std::string> NotesInside(const Options& options,
                                     const AgentRuntime& runtime) {
  std::vector<std::string> notes;
  const auto* const profile = options.profile;
  notes.push_back(profile == nullptr
                      ? absl::StrCat("no profile; there are ", ProfileNames())
                      : absl::StrCat("the profile ", profile->name(), " (",
                                     profile->title(),
                                     ") adds hosts and variables; "
                                     "--agent-profile none leaves it out"));
  for (const std::string& shown : runtime.directories) {
    notes.push_back(absl::StrCat("the agent's program needs ", shown,
                                 ", which the sandbox shows"));
  }
  const auto& mounts = options.bridge.workplace.sandbox.mounts();
  const bool has_home = std::any_of(
      mounts.begin(), mounts.end(), [](const corral::v1::Mount& mount) {
        return absl::StartsWith(mount.target(), kSandboxHome);
      });
  if (profile != nullptr && !has_home) {
    notes.push_back(absl::StrCat(
        "what the agent keeps in ~/", absl::StrJoin(profile->state(), ", ~/"),
        " is lost with the sandbox; --home DIR keeps it"));
  }
  return notes;
}

Checkup ToCheckup(const Options& options,
                  const std::optional<AgentRuntime>& runtime) {
  const WorkplaceOptions& workplace = options.bridge.workplace;
  Checkup checkup;
  checkup.server = options.bridge.server;
  checkup.sandbox = Workplaces::ToSandbox(
      workplace, {workplace.map.ToRemote(workplace.workspace), {}});
  checkup.agent = options.agent;
  checkup.attach = options.bridge.display.attach;
  if (runtime.has_value()) {
    checkup.inside = {{runtime->program},
                      VariablesInside(*runtime, options.variables)};
  }
  return checkup;
}

}  // namespace bridge

#include "server/flags.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

ABSL_FLAG(std::optional<std::string>, config, std::nullopt, "");
ABSL_FLAG(std::optional<std::string>, listen, std::nullopt, "");
ABSL_FLAG(std::optional<std::string>, state_dir, std::nullopt, "");
ABSL_FLAG(std::optional<uint32_t>, idle_exit_seconds, std::nullopt, "");
ABSL_FLAG(std::optional<std::string>, on_shutdown, std::nullopt, "");
ABSL_FLAG(bool, take_over, false, "");

namespace server {
namespace {

constexpr char kHelp[] =
    R"(corrald runs commands in sandboxes, for clients that speak gRPC (corral.v1).

Usage: corrald [FLAG...]

  --config FILE           Configuration in protobuf's text format. Its fields are
                          described in proto/corral/config/v1/server_config.proto.
  --listen ADDRESS        Where to listen. unix:PATH: only the user who runs the
                          server may connect. HOST:PORT: only with mutual TLS, set
                          up in the configuration.
                          Default: unix:$XDG_RUNTIME_DIR/corral/corrald.sock, for
                          root unix:/run/corral/corrald.sock.
  --state-dir DIR         Directory for everything that must survive a restart:
                          sandboxes, records, output. Default:
                          $XDG_STATE_HOME/corral or ~/.local/state/corral, for
                          root /var/lib/corral.
  --idle-exit-seconds N   End after N seconds without a sandbox and without a call.
                          [0, 86400]; 0, the default: never.
  --on-shutdown WHAT      What happens to the sandboxes when the server is asked to
                          end. END_SANDBOXES, the default: they are deleted.
                          LEAVE_SANDBOXES: they go on, and the next server with the
                          same --state-dir takes them over.
  --take-over             Take over from the server that runs with the same
                          --state-dir, if there is one. That server releases its
                          sandboxes, hands over its listening socket and ends.
                          Commands go on, no connection is refused, and streams
                          continue at their offsets when their clients reconnect.
                          With a bad command line or configuration the old server
                          goes on.
  -h, --help              Print this and end.
  --version               Print the version and end.

A flag overrides the field of the configuration with the same meaning. An unknown
field or a value out of its range stops the start, with file, line and field.

Fields without a flag: tls, workspace_roots, mount_roots, default_limits
(memory_bytes, pids, cpu_millis, output_bytes, kill_all_on_oom, file_bytes,
disk_bytes_per_second, disk_operations_per_second, disk_bytes, disk_inodes),
default_max_age_seconds, default_idle_timeout_seconds,
default_max_ended_executions,
default_max_ended_age_seconds, ceilings,
max_sandboxes, max_executions_per_sandbox, max_ended_executions, max_output_bytes,
max_waiting_calls, max_connections, max_rpc_memory_bytes, drain_seconds.

Signals: SIGTERM or SIGINT drains. The server takes no new work and waits until
nobody reads output or waits for an end and all commands have ended, or for
drain_seconds (10), or for a second signal; then it deletes its sandboxes and
ends. With LEAVE_SANDBOXES it does not wait for commands.

Exit status: 0 after a drain or when idle; 1 if it could not start; 2 for a bad
command line or configuration.
)";

// absl names its flags as C++ names variables: "--state-dir" is state_dir.
std::string ToAbslFlag(std::string argument) {
  if (absl::StartsWith(argument, "--")) {
    std::replace(argument.begin() + 2,
                 std::find(argument.begin(), argument.end(), '='), '-', '_');
  }
  return argument;
}

// absl ends the process with status 1 for a bad command line.
bool parsing = false;
void ExitAsBadUsage() {
  if (parsing) {
    std::_Exit(kBadUsage);
  }
}

// Sets absl's flags. Ends the process with kBadUsage for an argument that is
// not a flag, too.
void ParseWithAbsl(std::vector<std::string> arguments) {
  std::vector<char*> words;
  for (std::string& argument : arguments) {
    argument = ToAbslFlag(argument);
    words.push_back(argument.data());
  }
  [[maybe_unused]] static const int registered = std::atexit(ExitAsBadUsage);
  parsing = true;
  const std::vector<char*> others =
      absl::ParseCommandLine(static_cast<int>(words.size()), words.data());
  if (others.size() > 1) {
    std::cerr << "corrald: unknown argument \"" << others[1]
              << "\"; see --help\n";
    std::exit(kBadUsage);
  }
  parsing = false;
}

}  // namespace

absl::string_view HelpText() { return kHelp; }

Flags ParseFlags(const std::vector<std::string>& arguments) {
  Flags flags;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      flags.action = Flags::Action::kHelp;
      return flags;
    }
    if (argument == "--version") {
      flags.action = Flags::Action::kVersion;
      return flags;
    }
  }
  ParseWithAbsl(arguments);
  flags.config_file = absl::GetFlag(FLAGS_config);
  flags.listen = absl::GetFlag(FLAGS_listen);
  flags.state_dir = absl::GetFlag(FLAGS_state_dir);
  flags.idle_exit_seconds = absl::GetFlag(FLAGS_idle_exit_seconds);
  flags.on_shutdown = absl::GetFlag(FLAGS_on_shutdown);
  flags.take_over = absl::GetFlag(FLAGS_take_over);
  return flags;
}

}  // namespace server

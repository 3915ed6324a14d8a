#include "server/flags.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"

namespace server {
namespace {

// "--name=value" or "--name" "value".
struct Argument {
  std::string name;
  std::optional<std::string> value;
};

Argument Split(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return {text, std::nullopt};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

absl::StatusOr<uint32_t> ParseSeconds(const Argument& argument) {
  uint32_t seconds = 0;
  if (!absl::SimpleAtoi(*argument.value, &seconds)) {
    return absl::InvalidArgumentError(absl::StrCat(argument.name, ": value \"",
                                                   *argument.value,
                                                   "\"; allowed: [0, 86400]"));
  }
  return seconds;
}

absl::Status Apply(const Argument& argument, Flags* flags) {
  if (argument.name == "--config") {
    flags->config_file = argument.value;
  } else if (argument.name == "--listen") {
    flags->listen = argument.value;
  } else if (argument.name == "--state-dir") {
    flags->state_dir = argument.value;
  } else if (argument.name == "--idle-exit-seconds") {
    ASSIGN_OR_RETURN(flags->idle_exit_seconds, ParseSeconds(argument));
  } else if (argument.name == "--on-shutdown") {
    flags->on_shutdown = argument.value;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown argument \"", argument.name, "\"; see --help"));
  }
  return absl::OkStatus();
}

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
  --state-dir DIR         Directory of what must survive a restart: sandboxes,
                          records, output. Default: /var/lib/corral.
  --idle-exit-seconds N   End after N seconds without a sandbox and without a call.
                          [0, 86400]; 0, the default: never.
  --on-shutdown WHAT      What becomes of the sandboxes when the server is told to
                          end. END_SANDBOXES, the default: they are deleted.
                          LEAVE_SANDBOXES: they go on; the next server with the
                          same --state-dir takes them over.
  --take-over             Take over from the server that runs with the same
                          --state-dir, if there is one. It lets go of its sandboxes,
                          hands over its listening socket and ends; commands go on,
                          no connection is refused, and streams go on at their
                          offsets when their clients reconnect. A bad command line
                          or configuration leaves it as it is.
  --help                  Print this and end.
  --version               Print the version and end.

A flag overrides the field of the configuration with the same meaning. An unknown
field or a value out of its range stops the start, with file, line and field.

Fields without a flag: tls, default_limits (memory_bytes, pids, cpu_millis,
output_bytes), max_sandboxes, max_executions_per_sandbox, max_output_bytes,
default_max_age_seconds, default_idle_timeout_seconds, drain_seconds.

Signals: SIGTERM or SIGINT drains. The server takes no new work and waits until
nobody reads output or waits for an end and all commands have ended, or for
drain_seconds (10), or for a second signal; then it deletes its sandboxes and
ends. With LEAVE_SANDBOXES it does not wait for commands.

Exit status: 0 after a drain or when idle; 1 if it could not start; 2 for a bad
command line or configuration.
)";

// The argument at *i, with its value, which may be the one after it.
Argument Take(const std::vector<std::string>& arguments, size_t* i) {
  Argument argument = Split(arguments[*i]);
  if (!argument.value.has_value()) {
    const bool has_next = *i + 1 < arguments.size();
    argument.value = has_next ? arguments[++*i] : "";
  }
  return argument;
}

}  // namespace

absl::string_view HelpText() { return kHelp; }

absl::StatusOr<Flags> ParseFlags(const std::vector<std::string>& arguments) {
  Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help" || arguments[i] == "-h") {
      flags.action = Flags::Action::kHelp;
      return flags;
    }
    if (arguments[i] == "--version") {
      flags.action = Flags::Action::kVersion;
      return flags;
    }
    if (arguments[i] == "--take-over") {
      flags.take_over = true;
      continue;
    }
    RETURN_IF_ERROR(Apply(Take(arguments, &i), &flags));
  }
  return flags;
}

}  // namespace server

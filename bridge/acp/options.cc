#include "bridge/acp/options.h"

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/options/duration_field.h"
#include "bridge/options/limit_fields.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

namespace {

constexpr char kHelp[] =
    R"(usage: corral-acp [options] -- AGENT [ARGUMENTS]

Runs an ACP agent whose terminals are commands in Corral's sandboxes. Configure
it in an editor in place of the agent: it speaks the Agent Client Protocol on
standard input and output, starts AGENT, answers the agent's terminal/* requests
with the help of corrald, and passes on everything else unchanged.

  --server ADDRESS   unix:PATH or HOST:PORT (default: $CORRAL_SERVER, else a
                     local server, which is started if none runs)
  --workspace DIR    the directory that commands see and may write to (default:
                     the working directory that the editor gives each session)
  --read-only        commands cannot write to the workspace
  --memory SIZE      memory of a session's commands: 512M, 2G, or bytes
  --pids N           processes and threads of a session's commands
  --cpus N           processors of a session's commands, such as 1.5
  --timeout TIME     ends each command after 30s, 5m, 1h30m
  --tls-ca FILE      for HOST:PORT: the authority of the server's certificate
  --tls-cert FILE    for HOST:PORT: the client's certificate
  --tls-key FILE     for HOST:PORT: the key of that certificate
  --help             shows this text

Each ACP session has a sandbox of its own. No process of the agent outlives
corral-acp. Exit status: the agent's, or 128 + n if signal n ended it; 127 if
there is no such agent, 126 if it can't be executed; 2 for a wrong option.
)";

using Setter = std::function<absl::Status(const std::string&, Options&)>;

// Names the option and its value in an error; `status` says what is allowed.
absl::Status Named(absl::string_view option, absl::string_view value,
                   const absl::Status& status) {
  return status.ok() ? status
                     : absl::InvalidArgumentError(absl::StrCat(
                           option, " is \"", value, "\"; ", status.message()));
}

// Sets one of the limits.
Setter Limit(absl::Status (*set)(absl::string_view, corral::v1::Limits&)) {
  return [set](const std::string& value, Options& options) {
    return set(value, options.bridge.workplace.limits);
  };
}

absl::Status SetTimeout(const std::string& value, Options& options) {
  ASSIGN_OR_RETURN(options.bridge.command_timeout,
                   ParseDuration(value, kTimeoutRange));
  return absl::OkStatus();
}

// Sets a string as it is.
template <typename Field>
Setter Text(Field field) {
  return [field](const std::string& value, Options& options) {
    field(options) = value;
    return absl::OkStatus();
  };
}

const std::map<std::string, Setter>& Setters() {
  static const auto* const setters = new std::map<std::string, Setter>{
      {"--server",
       Text([](Options & o) -> auto& { return o.bridge.server.server; })},
      {"--workspace",
       Text([](Options & o) -> auto& { return o.bridge.workplace.workspace; })},
      {"--tls-ca",
       Text([](Options & o) -> auto& { return o.bridge.server.tls_ca_file; })},
      {"--tls-cert", Text([](Options & o) -> auto& {
         return o.bridge.server.tls_certificate_file;
       })},
      {"--tls-key",
       Text([](Options & o) -> auto& { return o.bridge.server.tls_key_file; })},
      {"--memory", Limit(SetMemory)},
      {"--pids", Limit(SetPids)},
      {"--cpus", Limit(SetCpus)},
      {"--timeout", SetTimeout},
  };
  return *setters;
}

// Reads the option at the front of `rest` and takes it off.
absl::Status ReadOption(std::deque<std::string>& rest, Options& options) {
  const std::string word = rest.front();
  rest.pop_front();
  if (word == "--help" || word == "-h") {
    options.help = true;
    return absl::OkStatus();
  }
  if (word == "--read-only") {
    options.bridge.workplace.read_only = true;
    return absl::OkStatus();
  }
  const size_t equals = word.find('=');
  const auto setter = Setters().find(word.substr(0, equals));
  if (setter == Setters().end()) {
    return absl::InvalidArgumentError(absl::StrCat("unknown option ", word));
  }
  if (equals != std::string::npos) {
    const std::string value = word.substr(equals + 1);
    return Named(setter->first, value, setter->second(value, options));
  }
  if (rest.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(word, " needs a value"));
  }
  const std::string value = rest.front();
  rest.pop_front();
  return Named(word, value, setter->second(value, options));
}

}  // namespace

const char* HelpText() { return kHelp; }

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const std::string& directory) {
  Options options;
  std::deque<std::string> rest(arguments.begin(), arguments.end());
  while (!rest.empty() && rest.front() != "--" &&
         absl::StartsWith(rest.front(), "-")) {
    RETURN_IF_ERROR(ReadOption(rest, options));
  }
  if (!rest.empty() && rest.front() == "--") {
    rest.pop_front();
  }
  options.agent.assign(rest.begin(), rest.end());
  if (options.help) {
    return options;
  }
  if (options.agent.empty() || options.agent.front().empty()) {
    return absl::InvalidArgumentError("no agent is given");
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

#include "bridge/acp/options.h"

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

namespace {

constexpr char kHelp[] =
    R"(usage: corral-acp [options] -- AGENT [ARGUMENTS]

Runs an ACP agent whose terminals are commands in Corral's sandboxes. Give it to
an editor in place of the agent: it speaks the Agent Client Protocol on standard
input and output, starts AGENT, answers the agent's terminal/* requests from a
corrald, and passes on everything else as it is.

  --server ADDRESS   unix:PATH or HOST:PORT (default: $CORRAL_SERVER, else a
                     local server, which is started if need be)
  --workspace DIR    what commands see and may write to (default: the working
                     directory that the editor gives each session)
  --read-only        commands cannot write to the workspace
  --memory SIZE      memory of a session's commands: 512M, 2G, or bytes
  --pids N           processes and threads of a session's commands
  --cpus N           processors of a session's commands, such as 1.5
  --timeout TIME     ends each command after 30s, 5m, 1h30m
  --tls-ca FILE      for HOST:PORT: who signed the server's certificate
  --tls-cert FILE    our certificate
  --tls-key FILE     its key
  --help             prints this

Each ACP session has a sandbox of its own. Exit status: the agent's, or 128 + n
if signal n ended it; 127 if there is no such agent; 2 for a wrong option.
)";

using Setter = std::function<absl::Status(const std::string&, Options&)>;

absl::Status Wrong(absl::string_view option, absl::string_view value,
                   absl::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is \"", value, "\", must be ", allowed));
}

absl::StatusOr<uint64_t> ParseSize(const std::string& value) {
  constexpr absl::string_view kUnits = "KMGT";
  absl::string_view digits = value;
  int shift = 0;
  if (const size_t unit =
          value.empty() ? kUnits.npos : kUnits.find(value.back());
      unit != kUnits.npos) {
    shift = 10 * (static_cast<int>(unit) + 1);
    digits.remove_suffix(1);
  }
  uint64_t number = 0;
  if (!absl::SimpleAtoi(digits, &number) || number == 0 ||
      number > UINT64_MAX >> shift) {
    return Wrong("--memory", value,
                 "a number of bytes, or one with K, M, G or T");
  }
  return number << shift;
}

absl::Status SetCpus(const std::string& value, Options& options) {
  constexpr double kMost = 1e6;
  double cpus = 0;
  if (!absl::SimpleAtod(value, &cpus) || !(cpus > 0 && cpus <= kMost)) {
    return Wrong("--cpus", value, "a number above 0, such as 1.5");
  }
  options.bridge.workplace.limits.set_cpu_millis(std::llround(cpus * 1000));
  return absl::OkStatus();
}

absl::Status SetPids(const std::string& value, Options& options) {
  uint64_t pids = 0;
  if (!absl::SimpleAtoi(value, &pids)) {
    return Wrong("--pids", value, "a number");
  }
  options.bridge.workplace.limits.set_pids(pids);
  return absl::OkStatus();
}

absl::Status SetMemory(const std::string& value, Options& options) {
  ASSIGN_OR_RETURN(const uint64_t bytes, ParseSize(value));
  options.bridge.workplace.limits.set_memory_bytes(bytes);
  return absl::OkStatus();
}

absl::Status SetTimeout(const std::string& value, Options& options) {
  absl::Duration& timeout = options.bridge.command_timeout;
  if (!absl::ParseDuration(value, &timeout) ||
      timeout < absl::Milliseconds(1) || timeout > absl::Hours(365 * 24)) {
    return Wrong("--timeout", value, "a time of 1ms to 8760h, such as 30s");
  }
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
      {"--memory", SetMemory},
      {"--pids", SetPids},
      {"--cpus", SetCpus},
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
    return absl::InvalidArgumentError(
        absl::StrCat("there is no option ", word));
  }
  if (equals != std::string::npos) {
    return setter->second(word.substr(equals + 1), options);
  }
  if (rest.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(word, " takes a value"));
  }
  const std::string value = rest.front();
  rest.pop_front();
  return setter->second(value, options);
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

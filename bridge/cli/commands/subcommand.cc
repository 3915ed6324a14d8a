#include "bridge/cli/commands/subcommand.h"

#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/client/resource_name.h"
#include "bridge/options/server_options.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

void AddDetachKeys(OptionTable& table, DetachKeys& keys) {
  constexpr absl::string_view kDefault = "ctrl-p,ctrl-q";
  keys = *DetachKeys::Parse(kDefault);
  table.Value(0, "detach-keys", "KEYS",
              "Keys that detach from a command that has a terminal; the\n"
              "command goes on. Empty: none. Default: ctrl-p,ctrl-q.",
              [&keys](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(keys, DetachKeys::Parse(value));
                return absl::OkStatus();
              });
}

absl::StatusOr<std::string> SandboxArgument(const std::string& word) {
  const absl::StatusOr<std::string> name = client::SandboxName(word);
  return name.ok() ? name : UsageError(name.status().message());
}

absl::StatusOr<std::string> ExecutionArgument(const std::string& word) {
  if (client::SandboxName(word).ok()) {
    return UsageError(absl::StrCat(
        "\"", word, "\" names a sandbox; name one of its executions: ", word,
        "/EXECUTION, as corral ps prints them (corral rm ", word,
        " ends them all and deletes the sandbox)"));
  }
  const absl::StatusOr<std::string> name = client::ExecutionName(word);
  return name.ok() ? name : UsageError(name.status().message());
}

absl::StatusOr<std::vector<std::string>> ParseNames(
    OptionTable& table, Invocation& invocation,
    absl::StatusOr<std::string> (*parse)(const std::string& word)) {
  AddServerOptions(table, invocation.server);
  ASSIGN_OR_RETURN(const Arguments arguments, table.Parse(invocation.words));
  std::vector<std::string> names;
  if (arguments.help) {
    RETURN_IF_ERROR(Print(table.Help()).status());
    return names;
  }
  for (const std::string& word : arguments.positionals) {
    ASSIGN_OR_RETURN(names.emplace_back(), parse(word));
  }
  return names;
}

absl::StatusOr<std::optional<std::string>> ParseExecution(
    OptionTable& table, Invocation& invocation) {
  table.TakePositionals(1, 1);
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ParseNames(table, invocation, ExecutionArgument));
  return names.empty() ? std::nullopt : std::make_optional(names[0]);
}

absl::StatusOr<int> Print(const std::string& text) {
  RETURN_IF_ERROR(WriteAll(STDOUT_FILENO, text));
  return 0;
}

}  // namespace bridge

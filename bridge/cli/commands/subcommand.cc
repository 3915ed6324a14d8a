#include "bridge/cli/commands/subcommand.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/client/call.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "google/protobuf/util/json_util.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

void AddServerOptions(OptionTable& table, client::ConnectOptions& options) {
  table.Text(0, "server", "ADDRESS",
             "unix:PATH or HOST:PORT. Default: $CORRAL_SERVER, else a local\n"
             "server, which is started on demand.",
             options.server);
  table.Text(0, "tls-ca", "FILE",
             "For HOST:PORT: who signs the server's certificate. Default:\n"
             "$CORRAL_TLS_CA.",
             options.tls_ca_file);
  table.Text(0, "tls-cert", "FILE",
             "Our certificate. Default: $CORRAL_TLS_CERT.",
             options.tls_certificate_file);
  table.Text(0, "tls-key", "FILE", "Its key. Default: $CORRAL_TLS_KEY.",
             options.tls_key_file);
}

void AddDetachKeys(OptionTable& table, DetachKeys& keys) {
  constexpr absl::string_view kDefault = "ctrl-p,ctrl-q";
  keys = *DetachKeys::Parse(kDefault);
  table.Value(0, "detach-keys", "KEYS",
              "What to type to leave a command that has a terminal, and goes\n"
              "on; empty: nothing. Default: ctrl-p,ctrl-q.",
              [&keys](absl::string_view value) -> absl::Status {
                ASSIGN_OR_RETURN(keys, DetachKeys::Parse(value));
                return absl::OkStatus();
              });
}

absl::StatusOr<int> StartDetached(client::Connection& connection,
                                  const std::string& sandbox_name,
                                  const corral::v1::Command& command,
                                  bool json) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox_name);
  request.set_request_id(client::NewRequestId());
  *request.mutable_command() = command;
  ASSIGN_OR_RETURN(
      const corral::v1::Execution execution,
      client::Call(connection,
                   &corral::v1::ExecutionService::StubInterface::StartExecution,
                   request));
  std::string text = client::ShortName(execution.name());
  if (json) {
    ASSIGN_OR_RETURN(text, ToJson(execution));
  }
  return Print(absl::StrCat(text, "\n"));
}

absl::StatusOr<std::string> SandboxArgument(const std::string& word) {
  const absl::StatusOr<std::string> name = client::SandboxName(word);
  return name.ok() ? name : UsageError(name.status().message());
}

absl::StatusOr<std::string> ExecutionArgument(const std::string& word) {
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

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return absl::InternalError(status.ToString());
  }
  return json;
}

}  // namespace bridge

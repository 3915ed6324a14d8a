#include "bridge/cli/subcommand.h"

#include <unistd.h>

#include "bridge/cli/output_writer.h"
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

absl::StatusOr<std::string> SandboxArgument(const std::string& word) {
  const absl::StatusOr<std::string> name = client::SandboxName(word);
  return name.ok() ? name : UsageError(name.status().message());
}

absl::StatusOr<std::string> ExecutionArgument(const std::string& word) {
  const absl::StatusOr<std::string> name = client::ExecutionName(word);
  return name.ok() ? name : UsageError(name.status().message());
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

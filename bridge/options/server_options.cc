#include "bridge/options/server_options.h"

namespace bridge {

void AddServerOptions(OptionTable& table, client::ConnectOptions& options) {
  table.Text(0, "server", "ADDRESS",
             "unix:PATH or HOST:PORT. Default: $CORRAL_SERVER, else a local\n"
             "server, which is started on demand.",
             options.server);
  table.Text(0, "tls-ca", "FILE",
             "For HOST:PORT: the authority that signed the server's\n"
             "certificate, a PEM file. "
             "Default: $CORRAL_TLS_CA.",
             options.tls_ca_file);
  table.Text(0, "tls-cert", "FILE",
             "The client's certificate. Default: $CORRAL_TLS_CERT.",
             options.tls_certificate_file);
  table.Text(0, "tls-key", "FILE",
             "The key of that certificate. Default: $CORRAL_TLS_KEY.",
             options.tls_key_file);
}

}  // namespace bridge

// --server and the TLS files: the options that name a server.

#ifndef BRIDGE_OPTIONS_SERVER_OPTIONS_H_
#define BRIDGE_OPTIONS_SERVER_OPTIONS_H_

#include "bridge/client/connection.h"
#include "bridge/options/option_table.h"

namespace bridge {

// The table refers to `options`.
void AddServerOptions(OptionTable& table, client::ConnectOptions& options);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_SERVER_OPTIONS_H_

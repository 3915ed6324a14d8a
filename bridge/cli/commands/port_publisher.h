// --publish, and what corral port-forward does: servers of a sandbox at ports
// of this machine. Says on standard error where each is, and why a connection
// failed.
//
// Used by one thread only.

#ifndef BRIDGE_CLI_COMMANDS_PORT_PUBLISHER_H_
#define BRIDGE_CLI_COMMANDS_PORT_PUBLISHER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bridge/client/connection.h"
#include "bridge/client/port_forwarder.h"
#include "bridge/client/published_port.h"
#include "bridge/options/option_table.h"

namespace bridge {

class PortPublisher {
 public:
  // Adds --publish. The table refers to this object.
  void AddTo(OptionTable& table);

  // Fails with InvalidArgument if `text` is no PORT[:LOCAL].
  absl::Status Add(absl::string_view text);
  bool empty() const { return ports_.empty(); }

  // Takes the local ports. Fails with AlreadyExists if one is in use.
  absl::Status Listen(client::PortForwarder::Reports reports = {});

  // Begins with the first call; later ones do nothing. `connection` must
  // outlive this object.
  void Begin(client::Connection& connection, const std::string& sandbox);

 private:
  std::vector<client::PublishedPort> ports_;
  // Null if nothing is published, or after Begin().
  std::unique_ptr<client::PortForwarder> listening_;
  std::unique_ptr<client::PortForwarder> forwarder_;
};

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_PORT_PUBLISHER_H_

#include "bridge/cli/commands/port_publisher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/cli/attach/output_writer.h"
#include "bridge/options/publish_option.h"
#include "sandbox/base/status_macros.h"

namespace bridge {

void PortPublisher::AddTo(OptionTable& table) {
  AddPublishOption(table, ports_);
}

absl::Status PortPublisher::Add(absl::string_view text) {
  ASSIGN_OR_RETURN(const client::PublishedPort port,
                   client::ParsePublishedPort(text));
  ports_.push_back(port);
  return absl::OkStatus();
}

absl::Status PortPublisher::Listen(client::PortForwarder::Reports reports) {
  if (ports_.empty()) {
    return absl::OkStatus();
  }
  reports.failed = [failed = std::move(reports.failed)](
                       client::PublishedPort port, const absl::Status& why) {
    Say(absl::StrCat("port ", port.inside, ": ", why.message()));
    failed(port, why);
  };
  absl::StatusOr<std::unique_ptr<client::PortForwarder>> forwarder =
      client::PortForwarder::Listen(ports_, std::move(reports));
  if (absl::IsAlreadyExists(forwarder.status())) {
    return absl::Status(
        forwarder.status().code(),
        absl::StrCat(forwarder.status().message(),
                     "; choose another port with PORT:LOCAL, or PORT:0 for "
                     "any that is free"));
  }
  RETURN_IF_ERROR(forwarder.status());
  listening_ = *std::move(forwarder);
  return absl::OkStatus();
}

void PortPublisher::Begin(client::Connection& connection,
                          const std::string& sandbox) {
  if (listening_ == nullptr) {
    return;
  }
  forwarder_ = std::move(listening_);
  for (const client::PublishedPort& port : forwarder_->ports()) {
    Say(absl::StrCat("port ", port.inside,
                     " of the sandbox is at 127.0.0.1:", port.local));
  }
  forwarder_->Begin(&connection, sandbox);
}

}  // namespace bridge

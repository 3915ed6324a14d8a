#include "bridge/client/port_forwarder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/client/error_details.h"
#include "sandbox/base/status_macros.h"

namespace client {

absl::StatusOr<std::unique_ptr<PortForwarder>> PortForwarder::Listen(
    const std::vector<PublishedPort>& ports, Reports reports) {
  ASSIGN_OR_RETURN(std::unique_ptr<sandbox::EventLoop> loop,
                   sandbox::EventLoop::Create());
  std::vector<Port> listening;
  for (const PublishedPort& published : ports) {
    ASSIGN_OR_RETURN(std::unique_ptr<PortListener> listener,
                     PortListener::Listen(published.local));
    Port port;
    port.published = {published.inside, listener->port()};
    port.listener = std::move(listener);
    listening.push_back(std::move(port));
  }
  return std::unique_ptr<PortForwarder>(new PortForwarder(
      std::move(loop), std::move(listening), std::move(reports)));
}

PortForwarder::PortForwarder(std::unique_ptr<sandbox::EventLoop> loop,
                             std::vector<Port> ports, Reports reports)
    : loop_(std::move(loop)),
      reports_(std::move(reports)),
      ports_(std::move(ports)) {
  observer_.server_gone = reports_.server_gone;
  observer_.over = [this](ForwardedConnection* connection,
                          const grpc::Status& status) {
    OnOver(connection, status);
  };
}

PortForwarder::~PortForwarder() {
  if (thread_.joinable()) {
    loop_->Post([this] { End(); });
    thread_.join();
  }
}

std::vector<PublishedPort> PortForwarder::ports() const {
  std::vector<PublishedPort> ports;
  for (const Port& port : ports_) {
    ports.push_back(port.published);
  }
  return ports;
}

void PortForwarder::Begin(Connection* connection, const std::string& sandbox) {
  connection_ = connection;
  sandbox_ = sandbox;
  for (Port& port : ports_) {
    port.listener->Accept(loop_.get(), [this, &port](sandbox::UniqueFd socket) {
      Accept(&port, std::move(socket));
    });
  }
  thread_ = std::thread([this] { loop_->Run(); });
}

void PortForwarder::Accept(Port* port, sandbox::UniqueFd socket) {
  auto connection = std::make_unique<ForwardedConnection>(
      loop_, connection_, sandbox_, port->published.inside, std::move(socket),
      &observer_);
  ForwardedConnection* const key = connection.get();
  open_.emplace(key, Open{std::move(connection), port});
  key->Begin();
}

void PortForwarder::OnOver(ForwardedConnection* connection,
                           const grpc::Status& status) {
  const auto found = open_.find(connection);
  Report(found->second.port, status);
  // Deferred, since the connection is on the stack.
  loop_->Defer([gone = std::shared_ptr<ForwardedConnection>(
                    std::move(found->second.connection))] {});
  open_.erase(found);
  if (ending_ && open_.empty()) {
    loop_->Stop();
  }
}

void PortForwarder::Report(Port* port, const grpc::Status& status) {
  if (status.ok()) {
    port->reported.clear();
    return;
  }
  // The local program has ended its connection, or sees the same itself.
  const bool known = status.error_code() == grpc::StatusCode::CANCELLED ||
                     status.error_code() == grpc::StatusCode::ABORTED;
  if (!known && port->reported != status.error_message()) {
    port->reported = status.error_message();
    reports_.failed(port->published, ToStatus(status));
  }
}

void PortForwarder::End() {
  ending_ = true;
  for (Port& port : ports_) {
    port.listener.reset();
  }
  for (const auto& [key, open] : open_) {
    key->Cancel();
  }
  if (open_.empty()) {
    loop_->Stop();
  }
}

}  // namespace client

#include "sandbox/egress/connector.h"

#include <algorithm>
#include <utility>

namespace egress {

using Event = ::corral::egress::v1::Event;

Connector::Connector(sandbox::EventLoop* loop, sandbox::Timers* timers,
                     Resolver* resolver, const AddressFilter* filter,
                     std::string host, uint16_t port, Done done)
    : loop_(loop),
      timers_(timers),
      resolver_(resolver),
      filter_(filter),
      host_(std::move(host)),
      port_(port),
      done_(std::move(done)),
      self_(std::make_shared<Connector*>(this)) {}

void Connector::Start() {
  const std::weak_ptr<Connector*> self = self_;
  resolver_->Resolve(host_,
                     [self](absl::StatusOr<std::vector<IpAddress>> found) {
                       if (const auto connector = self.lock()) {
                         (*connector)->OnAddresses(std::move(found));
                       }
                     });
}

void Connector::OnAddresses(absl::StatusOr<std::vector<IpAddress>> found) {
  if (!found.ok() || found->empty()) {
    Fail(Event::NAME_NOT_FOUND);
    return;
  }
  const std::string first = found->front().ToString();
  found->erase(std::remove_if(found->begin(), found->end(),
                              [this](const IpAddress& address) {
                                return !filter_->Allows(address);
                              }),
               found->end());
  if (found->empty()) {
    Fail(Event::ADDRESS_NOT_ALLOWED, first);
    return;
  }
  dialer_ = std::make_unique<Dialer>(
      loop_, timers_, *std::move(found), port_,
      [this](sandbox::UniqueFd socket, const IpAddress& address) {
        if (!socket.valid()) {
          Fail(Event::UPSTREAM_UNREACHABLE);
          return;
        }
        // The call may destroy this object.
        const Done done = done_;
        done(
            {std::move(socket), address.ToString(), Event::REASON_UNSPECIFIED});
      });
  dialer_->Start();
}

void Connector::Fail(Event::Reason failure, const std::string& address) {
  // The call may destroy this object.
  const Done done = done_;
  done({sandbox::UniqueFd(), address, failure});
}

}  // namespace egress

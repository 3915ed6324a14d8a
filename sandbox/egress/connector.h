// Connects to a host outside by its name.

#ifndef SANDBOX_EGRESS_CONNECTOR_H_
#define SANDBOX_EGRESS_CONNECTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/address_filter.h"
#include "sandbox/egress/dialer.h"
#include "sandbox/egress/resolver.h"

namespace egress {

// Used on the thread of its loop only. The destructor ends the attempt without
// `done`.
class Connector {
 public:
  struct Outcome {
    // Invalid if the attempt failed; see `failure`.
    sandbox::UniqueFd socket;
    // The address that was reached, or the one that is not allowed; empty if
    // there is neither.
    std::string address;
    ::corral::egress::v1::Event::Reason failure =
        ::corral::egress::v1::Event::REASON_UNSPECIFIED;
  };
  // May destroy the connector.
  using Done = std::function<void(Outcome)>;

  // The pointers must outlive the connector.
  Connector(sandbox::EventLoop* loop, sandbox::Timers* timers,
            Resolver* resolver, const AddressFilter* filter, std::string host,
            uint16_t port, Done done);

  // Calls `done` later, or before it returns.
  void Start();

 private:
  void OnAddresses(absl::StatusOr<std::vector<IpAddress>> found);
  void Fail(::corral::egress::v1::Event::Reason failure,
            const std::string& address = "");

  sandbox::EventLoop* const loop_;
  sandbox::Timers* const timers_;
  Resolver* const resolver_;
  const AddressFilter* const filter_;
  const std::string host_;
  const uint16_t port_;
  const Done done_;
  std::unique_ptr<Dialer> dialer_;
  // Lets a late answer of the resolver find out that the connector is gone.
  const std::shared_ptr<Connector*> self_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_CONNECTOR_H_

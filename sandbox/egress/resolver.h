// Asks the host's name servers for the addresses of a name.

#ifndef SANDBOX_EGRESS_RESOLVER_H_
#define SANDBOX_EGRESS_RESOLVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/egress/ip_address.h"

struct ares_channeldata;

namespace egress {

// Used on the thread of its loop only.
class Resolver {
 public:
  using Done = std::function<void(absl::StatusOr<std::vector<IpAddress>>)>;

  // `servers`: "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT"; empty: those of
  // /etc/resolv.conf, which is read now and never again. `loop` and `timers`
  // must outlive the resolver.
  static absl::StatusOr<std::unique_ptr<Resolver>> Create(
      sandbox::EventLoop* loop, sandbox::Timers* timers,
      const std::vector<std::string>& servers);
  // Calls `done` of each unfinished look-up with an error.
  ~Resolver();

  // Asks for IPv4 and IPv6 addresses; `done` gets those of IPv4 first, at most
  // kMaxAddresses. Fails with NotFound if the name has none, and with
  // Unavailable if no server answered in time. May call `done` before it
  // returns. Neither search domains nor /etc/hosts are used.
  void Resolve(const std::string& name, Done done);

  static constexpr size_t kMaxAddresses = 64;

 private:
  Resolver(sandbox::EventLoop* loop, sandbox::Timers* timers)
      : loop_(loop), timers_(timers) {}

  void OnSocket(int fd, bool readable, bool writable);
  void OnReady(int fd, uint32_t events);
  void SetTimeout();

  sandbox::EventLoop* const loop_;
  sandbox::Timers* const timers_;
  ares_channeldata* channel_ = nullptr;
  sandbox::Timer timeout_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_RESOLVER_H_

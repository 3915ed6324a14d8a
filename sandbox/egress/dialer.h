// Connects to the first of several addresses that answers.

#ifndef SANDBOX_EGRESS_DIALER_H_
#define SANDBOX_EGRESS_DIALER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/ip_address.h"

namespace egress {

// Used on the thread of its loop only. The destructor ends the attempt without
// `done`.
class Dialer {
 public:
  // Gets a connected socket and its address; an invalid socket if no address
  // answered. May destroy the dialer.
  using Done = std::function<void(sandbox::UniqueFd, const IpAddress&)>;

  // Tries the addresses one after the other, at most kMaxAttempts. `loop` and
  // `timers` must outlive the dialer.
  Dialer(sandbox::EventLoop* loop, sandbox::Timers* timers,
         std::vector<IpAddress> addresses, uint16_t port, Done done);
  ~Dialer();

  // Calls `done` later, or before it returns.
  void Start() { Try(); }

  static constexpr size_t kMaxAttempts = 8;
  static constexpr absl::Duration kAttemptTime = absl::Seconds(5);

 private:
  // Continues with the next address.
  void Try();
  // Returns false if the connection fails at once.
  bool Begin(const IpAddress& address);
  void OnReady();
  void Abandon();
  void Finish(const IpAddress& address);

  sandbox::EventLoop* const loop_;
  sandbox::Timers* const timers_;
  const std::vector<IpAddress> addresses_;
  const uint16_t port_;
  const Done done_;
  size_t next_ = 0;
  sandbox::UniqueFd socket_;
  sandbox::Timer timeout_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_DIALER_H_

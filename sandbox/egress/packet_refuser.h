// Refuses what programs send to addresses that stand for no name, and reports
// it. Nothing is passed on.

#ifndef SANDBOX_EGRESS_PACKET_REFUSER_H_
#define SANDBOX_EGRESS_PACKET_REFUSER_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/journal.h"

namespace egress {

// Used on the thread of its loop only.
class PacketRefuser {
 public:
  // `device` is a TUN device of the sandbox's network namespace, and does not
  // block. `loop` and `journal` must outlive the object.
  PacketRefuser(sandbox::EventLoop* loop, Journal* journal,
                sandbox::UniqueFd device);
  ~PacketRefuser();

  // The most packets in each interval, so that a flood costs little outside of
  // the sandbox. Others wait in the device, which drops what it has no room
  // for.
  static constexpr int kMost = 64;
  static constexpr absl::Duration kInterval = absl::Milliseconds(10);

 private:
  void OnReadable();
  void Refuse(absl::string_view packet);

  sandbox::EventLoop* const loop_;
  Journal* const journal_;
  const sandbox::UniqueFd device_;
  // Packets that the present interval, which the timer ends, still allows.
  int left_ = 0;
  sandbox::Timer interval_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_PACKET_REFUSER_H_

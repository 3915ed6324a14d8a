#include "sandbox/egress/packet_refuser.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "corral/egress/v1/egress.pb.h"
#include "sandbox/egress/direct_packet.h"

namespace egress {
namespace {

// The device's MTU: the kernel divides larger packets.
constexpr size_t kMaxPacket = 1500;

}  // namespace

PacketRefuser::PacketRefuser(sandbox::EventLoop* loop, Journal* journal,
                             sandbox::UniqueFd device)
    : loop_(loop), journal_(journal), device_(std::move(device)) {
  loop_->Watch(device_.get(), EPOLLIN, [this](uint32_t) { OnReadable(); });
}

PacketRefuser::~PacketRefuser() { loop_->Unwatch(device_.get()); }

void PacketRefuser::OnReadable() {
  if (!interval_.pending()) {
    left_ = kMost;
    interval_ = sandbox::Timer(
        loop_, kInterval, [this] { loop_->SetEvents(device_.get(), EPOLLIN); });
  }
  char packet[kMaxPacket];
  for (; left_ > 0; --left_) {
    const ssize_t got = ::read(device_.get(), packet, sizeof(packet));
    if (got < 0) {
      if (errno != EAGAIN) {
        // A process outside of the sandbox has removed the device.
        interval_.Cancel();
        loop_->Unwatch(device_.get());
      }
      return;
    }
    Refuse({packet, static_cast<size_t>(got)});
  }
  loop_->SetEvents(device_.get(), 0);
}

void PacketRefuser::Refuse(absl::string_view packet) {
  const std::optional<DirectPacket> direct = ParseDirectPacket(packet);
  if (!direct.has_value()) {
    return;
  }
  ::corral::egress::v1::Event event;
  event.set_kind(::corral::egress::v1::Event::ADDRESS_REFUSED);
  event.set_reason(::corral::egress::v1::Event::DIRECT_ADDRESS);
  event.set_host(direct->destination.ToString());
  event.set_port(direct->port);
  event.set_transport(direct->transport);
  journal_->Report(std::move(event));
  const std::string refusal = RefusalOf(packet);
  // The sender waits for its own timeout if the kernel has no room now.
  (void)!::write(device_.get(), refusal.data(), refusal.size());
}

}  // namespace egress

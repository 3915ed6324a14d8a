#include "sandbox/egress/journal.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/fd_passing.h"

namespace egress {
namespace {

using Event = ::corral::egress::v1::Event;

}  // namespace

bool Journal::Rate::Take(absl::Time now) {
  tokens =
      since == absl::InfinitePast()
          ? kBurst
          : std::min(kBurst,
                     tokens + kPerSecond * absl::ToDoubleSeconds(now - since));
  since = now;
  if (tokens < 1) {
    return false;
  }
  tokens -= 1;
  return true;
}

bool Journal::IsRepetition(const Event& event, absl::Time now) {
  std::string key =
      absl::StrCat(event.kind(), " ", event.reason(), " ", event.host(), " ",
                   event.port(), " ", event.claimed(), " ", event.transport());
  for (const Refusal& refusal : last_) {
    if (refusal.key == key && now - refusal.time < kRepetition) {
      return true;
    }
  }
  last_[next_] = {std::move(key), now};
  next_ = (next_ + 1) % last_.size();
  return false;
}

void Journal::Report(Event event) {
  const absl::Time now = now_();
  const bool refusal = event.kind() != Event::CONNECTION_ENDED;
  if ((refusal && IsRepetition(event, now)) ||
      !(refusal ? refusals_ : ends_).Take(now)) {
    ++left_out_;
    return;
  }
  event.set_time_ns(absl::ToUnixNanos(now));
  event.set_left_out(left_out_);
  if (sink_(event)) {
    left_out_ = 0;
  } else {
    ++left_out_;
  }
}

Journal::Sink PacketSink(int socket) {
  return [socket](const Event& event) {
    ::corral::egress::v1::Report report;
    *report.mutable_event() = event;
    const std::string bytes = report.SerializeAsString();
    return sandbox::SendPacket(socket, bytes.data(), bytes.size(), {},
                               MSG_DONTWAIT) == 0;
  };
}

}  // namespace egress

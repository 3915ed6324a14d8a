#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/egress/direct_packet.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Event = ::corral::egress::v1::Event;
  const absl::string_view packet(reinterpret_cast<const char*>(data), size);
  const std::optional<egress::DirectPacket> direct =
      egress::ParseDirectPacket(packet);
  if (!direct.has_value()) {
    return 0;
  }
  CHECK(direct->port == 0 || direct->transport != Event::TRANSPORT_UNSPECIFIED);
  const std::string refusal = egress::RefusalOf(packet);
  CHECK(refusal.size() <= egress::kMaxRefusal);
  // The answer goes to the sender and to nobody else, and is itself not
  // answered.
  const bool v4 = direct->destination.family() == AF_INET;
  CHECK(refusal.substr(v4 ? 16 : 24, v4 ? 4 : 16) ==
        packet.substr(v4 ? 12 : 8, v4 ? 4 : 16));
  CHECK(!egress::ParseDirectPacket(refusal).has_value());
  return 0;
}

#include "bridge/acp/doctor/way_out_check.h"

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/client/call.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::NetworkEvent;

constexpr uint32_t kTlsPort = 443;

// Asks as plain HTTP, also where TLS is spoken: the server's refusal shows that
// the way is open. $0 is the host, $1 the port.
constexpr char kAsk[] =
    "exec 3<>/dev/tcp/$0/$1 && printf 'HEAD / HTTP/1.1\\r\\nHost: "
    "%s\\r\\nConnection: close\\r\\n\\r\\n' $0 >&3 && read -r -N 1 -t 10 <&3";

// An event is recorded a moment after its connection ended.
constexpr int kReadings = 20;
constexpr absl::Duration kBetweenReadings = absl::Milliseconds(100);

absl::StatusOr<std::optional<NetworkEvent>> EventOf(
    client::Connection& connection, const std::string& sandbox,
    const std::string& host) {
  for (int reading = 0; reading < kReadings; ++reading) {
    corral::v1::ListNetworkEventsRequest request;
    request.set_name(sandbox);
    ASSIGN_OR_RETURN(
        const corral::v1::ListNetworkEventsResponse listed,
        client::Call(
            connection,
            &corral::v1::SandboxService::StubInterface::ListNetworkEvents,
            request));
    for (const NetworkEvent& event : listed.events()) {
      if (event.host() == host) {
        return event;
      }
    }
    absl::SleepFor(kBetweenReadings);
  }
  return std::nullopt;
}

}  // namespace

Finding CheckWayOut(client::Connection& connection, const std::string& sandbox,
                    const corral::v1::EgressRule& rule) {
  const uint32_t port = rule.ports().empty() ? kTlsPort : rule.ports(0);
  RETURN_IF_ERROR(
      Run(connection, sandbox,
          {{"/bin/bash", "-c", kAsk, rule.host(), absl::StrCat(port)}})
          .status());
  ASSIGN_OR_RETURN(const std::optional<NetworkEvent> event,
                   EventOf(connection, sandbox, rule.host()));
  if (!event.has_value()) {
    return absl::UnavailableError(
        absl::StrCat("no connection to port ", port, " could be tried"));
  }
  if (event->kind() != NetworkEvent::CONNECTION_ENDED) {
    return absl::UnavailableError(absl::StrCat(
        "port ", port, " is not reached: ",
        absl::StrReplaceAll(
            absl::AsciiStrToLower(NetworkEvent::Reason_Name(event->reason())),
            {{"_", " "}}),
        "; the server's host must reach it"));
  }
  return absl::StrCat("port ", port, " is reached at ", event->upstream());
}

}  // namespace bridge

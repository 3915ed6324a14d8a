#include "bridge/cli/commands/network_log.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/cli/commands/subcommand.h"
#include "bridge/cli/report/json_output.h"
#include "bridge/client/call.h"
#include "bridge/client/connection.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::v1::NetworkEvent;
using google::protobuf::util::TimeUtil;

constexpr int kPage = 1000;
constexpr absl::Duration kPollInterval = absl::Milliseconds(500);

// "name not allowed" for NAME_NOT_ALLOWED.
std::string Words(NetworkEvent::Reason reason) {
  const std::string& name = NetworkEvent::Reason_Name(reason);
  return name.empty()
             ? absl::StrCat("reason ", reason)
             : absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", " "}});
}

const char* Verb(const NetworkEvent& event) {
  switch (event.kind()) {
    case NetworkEvent::NAME_REFUSED:
      return "refused  look-up of ";
    case NetworkEvent::CONNECTION_REFUSED:
    case NetworkEvent::ADDRESS_REFUSED:
      return "refused  ";
    case NetworkEvent::CONNECTION_ENDED:
      return "ended    ";
    default:
      return "event    ";
  }
}

// "a.example:443", "[2001:db8::1]:53/udp", or without a port.
std::string Target(const NetworkEvent& event) {
  std::string host = absl::CEscape(event.host().empty() ? "?" : event.host());
  if (event.port() == 0) {
    return host;
  }
  if (absl::StrContains(host, ':')) {
    host = absl::StrCat("[", host, "]");
  }
  absl::StrAppend(&host, ":", event.port());
  if (event.transport() != NetworkEvent::TRANSPORT_UNSPECIFIED) {
    absl::StrAppend(
        &host, "/",
        absl::AsciiStrToLower(NetworkEvent::Transport_Name(event.transport())));
  }
  return host;
}

absl::StatusOr<corral::v1::ListNetworkEventsResponse> NextPage(
    client::Connection& connection, const std::string& sandbox,
    uint64_t after) {
  corral::v1::ListNetworkEventsRequest request;
  request.set_name(sandbox);
  request.set_after(after);
  request.set_page_size(kPage);
  return client::Call(
      connection, &corral::v1::SandboxService::StubInterface::ListNetworkEvents,
      request);
}

absl::Status PrintEvent(const NetworkEvent& event, bool json) {
  const std::string line = json ? ToJson(event) : DescribeEvent(event);
  return Print(absl::StrCat(line, "\n")).status();
}

}  // namespace

std::string DescribeEvent(const NetworkEvent& event) {
  const absl::Time time =
      absl::FromUnixNanos(TimeUtil::TimestampToNanoseconds(event.time()));
  std::string line = absl::StrCat(
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()), " ",
      Verb(event), Target(event));
  if (!event.upstream().empty()) {
    absl::StrAppend(&line, " (", absl::CEscape(event.upstream()), ")");
  }
  absl::StrAppend(&line, ": ", Words(event.reason()));
  if (!event.claimed().empty()) {
    absl::StrAppend(&line, ", the client named ",
                    absl::CEscape(event.claimed()));
  }
  if (event.kind() == NetworkEvent::CONNECTION_ENDED) {
    absl::StrAppend(&line, ", sent ", event.sent_bytes(), " B, received ",
                    event.received_bytes(), " B in ",
                    absl::FormatDuration(absl::Trunc(
                        absl::Nanoseconds(
                            TimeUtil::DurationToNanoseconds(event.duration())),
                        absl::Milliseconds(1))));
  }
  if (event.left_out() > 0) {
    absl::StrAppend(&line, " (", event.left_out(), " events left out before)");
  }
  return line;
}

absl::StatusOr<int> PrintNetworkLog(const Invocation& invocation,
                                    const std::string& sandbox,
                                    const NetworkLogOptions& options) {
  ASSIGN_OR_RETURN(const auto connection,
                   client::Connection::Open(invocation.server));
  uint64_t after = 0;
  for (;;) {
    const auto page = NextPage(*connection, sandbox, after);
    if (absl::IsNotFound(page.status()) && after > 0) {
      return 0;
    }
    RETURN_IF_ERROR(page.status());
    for (const NetworkEvent& event : page->events()) {
      RETURN_IF_ERROR(PrintEvent(event, options.json));
      after = event.number();
    }
    if (page->events_size() < kPage) {
      if (!options.follow) {
        return 0;
      }
      absl::SleepFor(kPollInterval);
    }
  }
}

}  // namespace bridge

#include "sandbox/supervisor/construction_report.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/init/exchange.h"

namespace sandbox {
namespace {

struct Report {
  int32_t failure;  // a wire::Reply::Failure
  // Enough for the longest path.
  char text[4600];
};

// No text leads beyond its report, whatever was sent.
absl::Status StatusOf(Report& report, const char* who) {
  report.text[sizeof(report.text) - 1] = '\0';
  const auto kind = static_cast<wire::Reply::Failure>(report.failure);
  return kind == wire::Reply::FAULT
             ? MakeFailure(kind, absl::StrCat(who, ": ", report.text))
             : MakeFailure(kind, report.text);
}

absl::Status UnexpectedError(const char* who) {
  return absl::InternalError(absl::StrCat(who, " sent an unexpected packet"));
}

}  // namespace

absl::StatusOr<ReportSockets> MakeReportSockets() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  return ReportSockets{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void SendReport(int socket, const absl::Status& status,
                const std::vector<int>& fds) {
  Report report = {FailureOf(status), {}};
  const std::string text(status.message());
  std::strncpy(report.text, text.c_str(), sizeof(report.text) - 1);
  if (!SendWithFds(socket, &report, sizeof(report), fds).ok()) {
    ::_exit(1);
  }
}

void ReportAndExit(int socket, const absl::Status& status) {
  SendReport(socket, status, {});
  ::_exit(status.ok() ? 0 : 1);
}

absl::StatusOr<std::vector<UniqueFd>> ReceiveReport(int socket,
                                                    const char* who) {
  Report report = {};
  absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(socket, &report, sizeof(report));
  if (!packet.ok() || packet->size == 0) {
    return KilledError(who);
  }
  if (packet->bytes_lost || packet->size != sizeof(report)) {
    return UnexpectedError(who);
  }
  const absl::Status status = StatusOf(report, who);
  if (!status.ok()) {
    return status;
  }
  return std::move(packet->fds);
}

absl::Status ReceiveFirstPacket(int socket, const char* who) {
  Report report = {};
  const absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(socket, &report, sizeof(report));
  if (!packet.ok() || packet->size == 0) {
    return KilledError(who);
  }
  if (!packet->bytes_lost && packet->size == sizeof(report)) {
    return StatusOf(report, who);
  }
  constexpr SpawnAnswer kReady = {SpawnStage::kNone, 0};
  const bool ready = !packet->bytes_lost && packet->size == sizeof(kReady) &&
                     packet->fds.empty() &&
                     std::memcmp(&report, &kReady, sizeof(kReady)) == 0;
  return ready ? absl::OkStatus() : UnexpectedError(who);
}

absl::Status KilledError(const char* who) {
  return absl::AbortedError(absl::StrCat(who, " was killed during set-up"));
}

}  // namespace sandbox

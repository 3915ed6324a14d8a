#include "sandbox/egress/supervisor_link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/packets.h"

namespace egress {

SupervisorLink::SupervisorLink(sandbox::EventLoop* loop, int socket,
                               Proxy* proxy,
                               std::function<void(absl::Status)> on_end)
    : loop_(loop), socket_(socket), proxy_(proxy), on_end_(std::move(on_end)) {
  loop_->Watch(socket_, EPOLLIN, [this](uint32_t) { OnReadable(); });
}

SupervisorLink::~SupervisorLink() { loop_->Unwatch(socket_); }

void SupervisorLink::OnReadable() {
  absl::Status received = ReceiveUpdate();
  if (!received.ok()) {
    loop_->Unwatch(socket_);
    on_end_(std::move(received));
  }
}

absl::Status SupervisorLink::ReceiveUpdate() {
  char byte;
  if (::recv(socket_, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0) {
    return absl::CancelledError("the supervisor has ended");
  }
  wire::Update update;
  ASSIGN_OR_RETURN(std::vector<sandbox::UniqueFd> descriptors,
                   ReceiveMessage(socket_, &update));
  RETURN_IF_ERROR(proxy_->Update(update, std::move(descriptors)));
  wire::Report report;
  report.set_updated(true);
  const std::string bytes = report.SerializeAsString();
  // This send may wait, since a caller waits for the report, and the supervisor
  // always reads.
  return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0
             ? absl::ErrnoToStatus(errno, "report an update")
             : absl::OkStatus();
}

}  // namespace egress

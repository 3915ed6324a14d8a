#include "sandbox/supervisor/way_out_sockets.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/packets.h"
#include "sandbox/kernel/mounts.h"
#include "sandbox/kernel/namespaces.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Inner;
using ::egress::InnerSockets;

// The file of every sandbox, but hosts are looked up by DNS too.
constexpr char kNameSwitch[] =
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
    "networks: files\nprotocols: files\nservices: files\n";

absl::StatusOr<InnerSockets> OpenInside(const Construction& made,
                                        const std::set<uint16_t>& ports) {
  RETURN_IF_ERROR(BecomeSandboxRoot(made.first_id));
  RETURN_IF_ERROR(ReplaceEtc(made.root.get(),
                             {{"etc/resolv.conf", ::egress::kInnerResolvConf},
                              {"etc/nsswitch.conf", kNameSwitch}}));
  return ::egress::OpenInnerSockets(ports);
}

// In a child: sends the sockets, or why there are none.
[[noreturn]] void SendInside(int socket, const Construction& made,
                             const std::set<uint16_t>& ports) {
  absl::StatusOr<InnerSockets> inner = OpenInside(made, ports);
  std::vector<int> fds;
  Inner description;
  if (inner.ok()) {
    description = std::move(inner->description);
    for (const UniqueFd& fd : inner->sockets) {
      fds.push_back(fd.get());
    }
  } else {
    description.set_failure(std::string(inner.status().message()));
  }
  ::_exit(::egress::SendMessage(socket, description, fds).ok() ? 0 : 1);
}

// Runs `function` in the network namespace of the process behind `pidfd`. A
// thread can enter that namespace alone: a process in the sandbox would be in
// reach of what runs there.
absl::Status RunInNetwork(const UniqueFd& pidfd,
                          const std::function<absl::Status()>& function) {
  absl::Status status;
  std::thread thread([&] {
    status = ::setns(pidfd.get(), CLONE_NEWNET) == 0
                 ? function()
                 : absl::ErrnoToStatus(errno, "enter the network namespace");
  });
  thread.join();
  return status;
}

// The device's file is one of the host, and no process of the sandbox has it.
void AddPackets(const UniqueFd& pidfd, InnerSockets* inner) {
  const absl::Status added =
      RunInNetwork(pidfd, [inner] { return ::egress::AddPacketDevice(inner); });
  if (!added.ok()) {
    LOG(WARNING) << "packets to addresses without a name are refused without "
                 << "an event: " << added.ToString();
  }
}

absl::StatusOr<InnerSockets> OpenSockets(const Construction& made,
                                         const std::set<uint16_t>& ports) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  ASSIGN_OR_RETURN(const Child child, ForkIntoSandbox(made, -1));
  if (child.pid == 0) {
    SendInside(theirs.get(), made, ports);
  }
  theirs.Reset();
  InnerSockets inner;
  absl::StatusOr<std::vector<UniqueFd>> sockets =
      ::egress::ReceiveMessage(ours.get(), &inner.description);
  siginfo_t info;
  ::waitid(P_PIDFD, static_cast<id_t>(child.pidfd.get()), &info, WEXITED);
  if (!sockets.ok()) {
    return absl::AbortedError("a process was killed while it opened sockets");
  }
  if (!inner.description.failure().empty()) {
    return absl::InternalError(
        absl::StrCat("way out: ", inner.description.failure()));
  }
  if (static_cast<int>(sockets->size()) !=
      inner.description.descriptors_size()) {
    return absl::InternalError("way out: the sockets are not those described");
  }
  inner.sockets = *std::move(sockets);
  return inner;
}

}  // namespace

absl::StatusOr<InnerSockets> OpenWayOutSockets(
    const Construction& made, const std::set<uint16_t>& ports) {
  ASSIGN_OR_RETURN(InnerSockets inner, OpenSockets(made, ports));
  AddPackets(made.init.pidfd, &inner);
  return inner;
}

}  // namespace sandbox

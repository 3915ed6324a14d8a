#include "sandbox/supervisor/way_out.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/egress/inner_sockets.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/packets.h"
#include "sandbox/egress/policy.h"
#include "sandbox/kernel/mounts.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/privileges.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Descriptor;
using ::corral::egress::v1::Event;
using ::corral::egress::v1::Inner;

// Larger events do not exist.
constexpr size_t kMaxEvent = 4096;
// Events that are taken before others get their turn.
constexpr int kBatch = 64;

// The file of every sandbox, but hosts are looked up by DNS too.
constexpr char kNameSwitch[] =
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
    "networks: files\nprotocols: files\nservices: files\n";

absl::StatusOr<::egress::InnerSockets> OpenInside(
    int root, const std::set<uint16_t>& ports) {
  RETURN_IF_ERROR(BecomeNamespaceRoot());
  RETURN_IF_ERROR(
      ReplaceEtc(root, {{"etc/resolv.conf", ::egress::kInnerResolvConf},
                        {"etc/nsswitch.conf", kNameSwitch}}));
  return ::egress::OpenInnerSockets(ports);
}

// In a child: sends the sockets, or why there are none.
[[noreturn]] void SendInside(int socket, int root,
                             const std::set<uint16_t>& ports) {
  absl::StatusOr<::egress::InnerSockets> inner = OpenInside(root, ports);
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

// Returns the sockets that `inner` then describes.
absl::StatusOr<std::vector<UniqueFd>> OpenSockets(
    const Construction& made, const std::set<uint16_t>& ports, Inner* inner) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  ASSIGN_OR_RETURN(const Child child, ForkInto(made.init.pidfd.get(), -1));
  if (child.pid == 0) {
    SendInside(theirs.get(), made.root.get(), ports);
  }
  theirs.Reset();
  absl::StatusOr<std::vector<UniqueFd>> sockets =
      ::egress::ReceiveMessage(ours.get(), inner);
  siginfo_t info;
  ::waitid(P_PIDFD, static_cast<id_t>(child.pidfd.get()), &info, WEXITED);
  if (!sockets.ok()) {
    return absl::AbortedError("a process was killed while it opened sockets");
  }
  if (!inner->failure().empty()) {
    return absl::InternalError(absl::StrCat("way out: ", inner->failure()));
  }
  return sockets;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WayOut>> WayOut::Open(
    EventLoop* loop, const Construction& made, uid_t user,
    const std::string& directory, const wire::Egress& egress,
    std::vector<std::string> seen) {
  ASSIGN_OR_RETURN(NetworkLog log, NetworkLog::Create(directory));
  ASSIGN_OR_RETURN(UniqueFd names, ::egress::NameTable::MakeFile());
  Inner inner;
  ASSIGN_OR_RETURN(
      std::vector<UniqueFd> sockets,
      OpenSockets(made, ::egress::PortsOf(egress.policy()), &inner));
  std::unique_ptr<WayOut> way_out(
      new WayOut(loop, user, std::move(log), std::move(names), egress,
                 std::move(inner), std::move(sockets), std::move(seen)));
  RETURN_IF_ERROR(way_out->Start());
  return way_out;
}

WayOut::WayOut(EventLoop* loop, uid_t user, NetworkLog log, UniqueFd names,
               const wire::Egress& egress, Inner inner,
               std::vector<UniqueFd> sockets, std::vector<std::string> seen)
    : loop_(loop),
      user_(user),
      log_(std::move(log)),
      names_(std::move(names)),
      sockets_(std::move(sockets)),
      sources_(egress.credentials()),
      credentials_(loop, sources_, std::move(seen)) {
  *start_.mutable_policy() = egress.policy();
  start_.mutable_policy()->set_ipv6(inner.ipv6());
  *start_.mutable_name_servers() = egress.name_servers();
  *start_.mutable_descriptors() = std::move(*inner.mutable_descriptors());
  start_.add_descriptors()->set_kind(Descriptor::NAMES);
}

WayOut::~WayOut() { EndProcess(); }

absl::Status WayOut::Start() {
  std::vector<int> fds;
  for (const UniqueFd& socket : sockets_) {
    fds.push_back(socket.get());
  }
  fds.push_back(names_.get());
  ::corral::egress::v1::Start start = start_;
  ASSIGN_OR_RETURN(const std::vector<UniqueFd> of_services,
                   OpenForServices(&start));
  for (const UniqueFd& fd : of_services) {
    fds.push_back(fd.get());
  }
  ASSIGN_OR_RETURN(process_, ::egress::StartEgress(user_, start, fds));
  loop_->Watch(process_.socket.get(), EPOLLIN,
               [this](uint32_t) { OnEvents(); });
  loop_->Watch(process_.pidfd.get(), EPOLLIN, [this](uint32_t) { OnEnd(); });
  settled_ = Timer(loop_, kLastDelay, [this] { delay_ = kFirstDelay; });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<UniqueFd>> WayOut::OpenForServices(
    ::corral::egress::v1::Start* start) {
  std::vector<UniqueFd> opened;
  if (sources_.empty()) {
    return opened;
  }
  ASSIGN_OR_RETURN(UniqueFd credentials, credentials_.Connect());
  opened.push_back(std::move(credentials));
  start->add_descriptors()->set_kind(Descriptor::CREDENTIALS);
  for (const wire::CredentialSource& source : sources_) {
    if (source.ca_file().empty()) {
      continue;
    }
    opened.emplace_back(
        ::open(source.ca_file().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!opened.back().valid()) {
      return absl::ErrnoToStatus(
          errno, absl::StrCat("service ", source.service(), ": open ",
                              source.ca_file()));
    }
    Descriptor* const descriptor = start->add_descriptors();
    descriptor->set_kind(Descriptor::AUTHORITIES);
    descriptor->set_service(source.service());
  }
  return opened;
}

void WayOut::OnEvents() {
  if (!process_.socket.valid()) {
    return;
  }
  char bytes[kMaxEvent];
  for (int i = 0; i < kBatch; ++i) {
    const ReceivedPacket packet = ReceivePacket(process_.socket.get(), bytes,
                                                sizeof(bytes), MSG_DONTWAIT);
    if (packet.error != 0) {
      return;
    }
    if (packet.size == 0) {
      // The end of the process is noticed by its pidfd.
      loop_->SetEvents(process_.socket.get(), 0);
      return;
    }
    Event event;
    if (!event.ParseFromArray(bytes, static_cast<int>(packet.size))) {
      continue;
    }
    const absl::Status kept = log_.Append(std::move(event));
    if (!kept.ok()) {
      LOG(WARNING) << "an event of the network is lost: " << kept.ToString();
    }
  }
}

bool WayOut::ReapIfOwn(pid_t pid) {
  if (credentials_.ReapIfOwn(pid)) {
    return true;
  }
  if (!Owns(pid)) {
    return false;
  }
  OnEnd();
  return true;
}

void WayOut::OnEnd() {
  OnEvents();
  EndProcess();
  LOG(WARNING) << "corral-egress has ended; starts again in " << delay_;
  restart_ = Timer(loop_, delay_, [this] {
    const absl::Status started = Start();
    if (!started.ok()) {
      LOG(ERROR) << "corral-egress: " << started.ToString();
      OnEnd();
    }
  });
  delay_ = std::min(2 * delay_, kLastDelay);
}

void WayOut::EndProcess() {
  if (!process_.pidfd.valid()) {
    return;
  }
  settled_.Cancel();
  loop_->Unwatch(process_.socket.get());
  loop_->Unwatch(process_.pidfd.get());
  ::syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0);
  siginfo_t info;
  ::waitid(P_PIDFD, static_cast<id_t>(process_.pidfd.get()), &info, WEXITED);
  process_ = ::egress::EgressProcess();
}

}  // namespace sandbox

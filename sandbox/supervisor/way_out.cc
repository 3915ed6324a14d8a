#include "sandbox/supervisor/way_out.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "sandbox/base/failure.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/egress/inner_sockets.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/packets.h"
#include "sandbox/egress/policy.h"
#include "sandbox/supervisor/way_out_sockets.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Descriptor;
using ::corral::egress::v1::Policy;
using ::corral::egress::v1::Report;
using ::corral::egress::v1::Update;

// No event is larger.
constexpr size_t kMaxEvent = 4096;
// Events that are taken before others get their turn.
constexpr int kBatch = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<WayOut>> WayOut::Open(
    EventLoop* loop, const Construction& made, uid_t user,
    const std::string& directory, const wire::Egress& egress,
    const std::vector<std::string>& seen) {
  ASSIGN_OR_RETURN(NetworkLog log, NetworkLog::Create(directory));
  ASSIGN_OR_RETURN(UniqueFd names, ::egress::NameTable::MakeFile());
  ASSIGN_OR_RETURN(::egress::InnerSockets inner,
                   OpenWayOutSockets(made, ::egress::PortsOf(egress.policy())));
  ASSIGN_OR_RETURN(WayOutBroker broker,
                   WayOutBroker::Start(user, egress.credentials(), seen));
  std::unique_ptr<WayOut> way_out(
      new WayOut(loop, std::move(log), std::move(names), egress,
                 std::move(inner), std::move(broker)));
  RETURN_IF_ERROR(way_out->Start());
  return way_out;
}

WayOut::WayOut(EventLoop* loop, NetworkLog log, UniqueFd names,
               const wire::Egress& egress, ::egress::InnerSockets inner,
               WayOutBroker broker)
    : loop_(loop), log_(std::move(log)), broker_(std::move(broker)) {
  *start_.mutable_policy() = egress.policy();
  start_.mutable_policy()->set_ipv6(inner.description.ipv6());
  *start_.mutable_name_servers() = egress.name_servers();
  AddSockets(std::move(inner));
  start_.add_descriptors()->set_kind(Descriptor::NAMES);
  sockets_.push_back(std::move(names));
}

WayOut::~WayOut() {
  // The callers wait on a connection that ends with the sandbox.
  waiting_.clear();
  EndProcess();
}

absl::Status WayOut::Start() {
  ASSIGN_OR_RETURN(WayOutBroker::Started started, broker_.StartEgress());
  process_ = std::move(started.process);
  std::vector<int> fds;
  for (const UniqueFd& socket : sockets_) {
    fds.push_back(socket.get());
  }
  for (const UniqueFd& fd : started.descriptors) {
    fds.push_back(fd.get());
  }
  ::corral::egress::v1::Start start = start_;
  start.mutable_descriptors()->MergeFrom(started.descriptions);
  const absl::Status sent =
      ::egress::SendMessage(process_.socket.get(), start, fds);
  if (!sent.ok()) {
    process_.End();
    return sent;
  }
  // A process that hangs must not hang the supervisor with it.
  ::fcntl(process_.socket.get(), F_SETFL, O_NONBLOCK);
  loop_->Watch(process_.socket.get(), EPOLLIN,
               [this](uint32_t) { OnEvents(); });
  loop_->Watch(process_.pidfd.get(), EPOLLIN, [this](uint32_t) { OnEnd(); });
  settled_ = Timer(loop_, kLastDelay, [this] { delay_ = kFirstDelay; });
  return absl::OkStatus();
}

void WayOut::AddSockets(::egress::InnerSockets inner) {
  start_.mutable_descriptors()->MergeFrom(inner.description.descriptors());
  std::move(inner.sockets.begin(), inner.sockets.end(),
            std::back_inserter(sockets_));
}

void WayOut::Allow(const wire::EgressRules& rules, Done done) {
  const absl::Status allowed = TryAllow(rules);
  if (!allowed.ok()) {
    done(WithFailure(wire::Reply::EGRESS, allowed));
  } else if (process_.socket.valid()) {
    waiting_.push_back(std::move(done));
  } else {
    // The next process begins with the new rules.
    done(absl::OkStatus());
  }
}

absl::Status WayOut::TryAllow(const wire::EgressRules& rules) {
  ::corral::egress::v1::Policy further;
  *further.mutable_rules() = rules.rules();
  ASSIGN_OR_RETURN(Policy policy,
                   ::egress::WithRules(start_.policy(), further));
  std::set<uint16_t> ports = ::egress::PortsOf(policy);
  for (const uint16_t port : ::egress::PortsOf(start_.policy())) {
    ports.erase(port);
  }
  ASSIGN_OR_RETURN(::egress::InnerSockets inner,
                   ::egress::OpenListeners(ports, policy.ipv6()));
  *start_.mutable_policy() = std::move(policy);
  Send(inner);
  AddSockets(std::move(inner));
  return absl::OkStatus();
}

void WayOut::Send(const ::egress::InnerSockets& further) {
  if (!process_.socket.valid()) {
    return;
  }
  Update update;
  *update.mutable_policy() = start_.policy();
  *update.mutable_descriptors() = further.description.descriptors();
  std::vector<int> fds;
  for (const UniqueFd& socket : further.sockets) {
    fds.push_back(socket.get());
  }
  const absl::Status sent =
      ::egress::SendMessage(process_.socket.get(), update, fds);
  if (!sent.ok()) {
    // The process hangs or has ended. The next one begins with the new rules.
    LOG(WARNING) << "corral-egress does not read: " << sent.ToString();
    ::syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0);
  }
}

void WayOut::AnswerOldest() {
  if (!waiting_.empty()) {
    Done done = std::move(waiting_.front());
    waiting_.pop_front();
    done(absl::OkStatus());
  }
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
      // The end of the process is noticed by its pidfd. Clearing the events is
      // not enough: epoll always reports a hang-up.
      loop_->Unwatch(process_.socket.get());
      return;
    }
    Report report;
    if (!packet.bytes_lost &&
        report.ParseFromArray(bytes, static_cast<int>(packet.size))) {
      OnReport(std::move(report));
    }
  }
}

void WayOut::OnReport(Report report) {
  if (report.updated()) {
    AnswerOldest();
    return;
  }
  const absl::Status kept = log_.Append(std::move(*report.mutable_event()));
  if (!kept.ok()) {
    LOG(WARNING) << "an event of the network is lost: " << kept.ToString();
  }
}

wire::EgressRules WayOut::rules() const {
  wire::EgressRules rules;
  *rules.mutable_rules() = start_.policy().rules();
  return rules;
}

bool WayOut::ReapIfOwn(pid_t pid) {
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
  process_.End();
  while (!waiting_.empty()) {
    AnswerOldest();
  }
}

}  // namespace sandbox

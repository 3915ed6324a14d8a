#include "sandbox/supervisor/way_out_broker.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/egress/packets.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/privileges.h"

namespace sandbox {
namespace {

namespace wire = ::corral::egress::v1;

using ::egress::EgressProcess;

constexpr char kName[] = "corral-broker";
// The first descriptors of an answer: the pidfd of the process and its socket.
constexpr size_t kOfProcess = 2;

// The part that runs in the process beside the supervisor.
class Broker {
 public:
  Broker(EventLoop* loop, UniqueFd socket, uid_t user,
         const CredentialServer::Sources& sources,
         const std::vector<std::string>& seen)
      : loop_(loop),
        socket_(std::move(socket)),
        user_(user),
        sources_(sources),
        credentials_(loop, sources, seen) {
    loop_->Watch(socket_.get(), EPOLLIN, [this](uint32_t) { OnRequest(); });
  }
  ~Broker() { loop_->Unwatch(socket_.get()); }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

 private:
  void OnRequest() {
    wire::Started answer;
    uint32_t number = 0;
    if (::recv(socket_.get(), &number, sizeof(number), MSG_DONTWAIT) !=
        sizeof(number)) {
      loop_->Stop();
      return;
    }
    std::vector<UniqueFd> fds;
    const absl::Status started = StartEgress(&answer, &fds);
    if (!started.ok()) {
      answer.Clear();
      answer.set_failure(std::string(started.message()));
      fds.clear();
    }
    answer.set_request(number);
    std::vector<int> numbers;
    for (const UniqueFd& fd : fds) {
      numbers.push_back(fd.get());
    }
    // Without its answer, a process ends when its socket is closed here.
    const absl::Status sent =
        ::egress::SendMessage(socket_.get(), answer, numbers);
    if (!sent.ok()) {
      LOG(WARNING) << kName << ": " << sent.ToString();
    }
  }

  absl::Status StartEgress(wire::Started* answer, std::vector<UniqueFd>* fds) {
    std::vector<UniqueFd> opened;
    RETURN_IF_ERROR(OpenForServices(answer, &opened));
    ASSIGN_OR_RETURN(
        EgressProcess process,
        ::egress::StartEgress(user_, ::egress::Parent::kParentOfCaller));
    answer->set_pid(process.pid);
    fds->push_back(std::move(process.pidfd));
    fds->push_back(std::move(process.socket));
    std::move(opened.begin(), opened.end(), std::back_inserter(*fds));
    return absl::OkStatus();
  }

  absl::Status OpenForServices(wire::Started* answer,
                               std::vector<UniqueFd>* opened) {
    if (sources_.empty()) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(UniqueFd credentials, credentials_.Connect());
    opened->push_back(std::move(credentials));
    answer->add_descriptors()->set_kind(wire::Descriptor::CREDENTIALS);
    for (const CredentialServer::Source& source : sources_) {
      if (source.ca_file().empty()) {
        continue;
      }
      opened->emplace_back(
          ::open(source.ca_file().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
      if (!opened->back().valid()) {
        return absl::ErrnoToStatus(
            errno, absl::StrCat("service ", source.service(), ": open ",
                                source.ca_file()));
      }
      wire::Descriptor* const descriptor = answer->add_descriptors();
      descriptor->set_kind(wire::Descriptor::AUTHORITIES);
      descriptor->set_service(source.service());
    }
    return absl::OkStatus();
  }

  EventLoop* const loop_;
  const UniqueFd socket_;
  const uid_t user_;
  const CredentialServer::Sources& sources_;
  CredentialServer credentials_;
};

// Commands of the operator inherit these rights: files and processes of others,
// and becoming another user.
absl::Status GiveUpCapabilities() {
  return KeepAtMost({CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
                     CAP_FOWNER, CAP_KILL, CAP_SETGID, CAP_SETUID,
                     CAP_SYS_RESOURCE});
}

int Serve(UniqueFd socket, uid_t user, const CredentialServer::Sources& sources,
          const std::vector<std::string>& seen) {
  absl::Status ready = DieWithParent();
  if (ready.ok()) {
    ready = GiveUpCapabilities();
  }
  absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create();
  if (!ready.ok() || !loop.ok()) {
    LOG(ERROR) << kName << ": " << ready.ToString() << ", "
               << loop.status().ToString();
    return 1;
  }
  const Broker broker(loop->get(), std::move(socket), user, sources, seen);
  (*loop)->Run();
  return 0;
}

absl::Status LimitWaiting(int socket, absl::Duration patience) {
  const timeval limit = absl::ToTimeval(patience);
  return ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ==
                 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, "setsockopt(SO_RCVTIMEO)");
}

}  // namespace

absl::StatusOr<WayOutBroker> WayOutBroker::Start(
    uid_t user, const CredentialServer::Sources& sources,
    const std::vector<std::string>& seen, absl::Duration patience) {
  ASSIGN_OR_RETURN(SideProcess process,
                   SideProcess::Start(kName, {}, [&](UniqueFd socket) {
                     return Serve(std::move(socket), user, sources, seen);
                   }));
  RETURN_IF_ERROR(LimitWaiting(process.socket(), patience));
  return WayOutBroker(std::move(process));
}

absl::StatusOr<WayOutBroker::Started> WayOutBroker::StartEgress() {
  const uint32_t number = ++request_;
  if (SendPacket(process_.socket(), &number, sizeof(number), {},
                 MSG_DONTWAIT) != 0) {
    return absl::UnavailableError(absl::StrCat(kName, " has ended"));
  }
  wire::Started answer;
  std::vector<UniqueFd> fds;
  do {
    absl::StatusOr<std::vector<UniqueFd>> received =
        ::egress::ReceiveMessage(process_.socket(), &answer);
    if (!received.ok()) {
      return absl::UnavailableError(
          absl::StrCat(kName, ": ", received.status().message()));
    }
    fds = *std::move(received);
    // The answer to an earlier request comes first if that was given up.
  } while (answer.request() != number);
  if (!answer.failure().empty()) {
    return absl::InternalError(answer.failure());
  }
  if (fds.size() !=
      kOfProcess + static_cast<size_t>(answer.descriptors_size())) {
    return absl::InternalError(
        absl::StrCat(kName, " has sent ", fds.size(), " descriptors"));
  }
  Started started;
  started.process.pid = answer.pid();
  started.process.pidfd = std::move(fds[0]);
  started.process.socket = std::move(fds[1]);
  std::move(fds.begin() + kOfProcess, fds.end(),
            std::back_inserter(started.descriptors));
  started.descriptions.Swap(answer.mutable_descriptors());
  return started;
}

}  // namespace sandbox

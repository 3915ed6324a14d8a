#include "sandbox/client/local_supervisor_connection.h"

#include <sys/epoll.h>
#include <sys/random.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"
#include "sandbox/client/supervisor_process.h"

namespace sandbox {
namespace {

// The delay before another attempt to send a message for which the host lacked
// memory or descriptors.
constexpr absl::Duration kFlushRetry = absl::Milliseconds(20);

// Random: a supervisor may answer requests of an earlier server on this
// connection, and their numbers must not match.
uint64_t FirstRequest() {
  uint32_t random = 0;
  CHECK(::getrandom(&random, sizeof(random), 0) == sizeof(random));
  return (uint64_t{random} << 31) + 1;
}

// Returns true if another attempt to send the message may succeed.
bool MayBeSentLater(const absl::Status& sent) {
  return absl::IsUnavailable(sent) || absl::IsResourceExhausted(sent);
}

absl::Status LostStatus() {
  return MakeFailure(wire::Reply::SUPERVISOR_GONE,
                     "the sandbox's supervisor is gone");
}

// Returns the start that is requested, with or without a user; null if another
// request is made.
wire::StartExecution* StartOf(wire::ToSupervisor& request) {
  if (request.has_start_with_user()) {
    return request.mutable_start_with_user();
  }
  return request.has_start_execution() ? request.mutable_start_execution()
                                       : nullptr;
}

}  // namespace

LocalSupervisorConnection::LocalSupervisorConnection(
    EventLoop* loop, std::thread::id loop_thread, PacketSocket socket,
    SupervisorObserver* observer, const std::atomic<bool>* let_go,
    std::function<void()> lost, absl::Duration end_patience)
    : loop_(loop),
      loop_thread_(loop_thread),
      socket_(std::move(socket)),
      observer_(observer),
      let_go_(let_go),
      lost_(std::move(lost)),
      end_patience_(end_patience),
      next_request_(FirstRequest()) {}

LocalSupervisorConnection::~LocalSupervisorConnection() {
  if (std::this_thread::get_id() == loop_thread_) {
    Unwatch();
    return;
  }
  Mutex mutex;
  bool done = false;
  loop_->Post([&] {
    Unwatch();
    alive_.reset();
    MutexLock lock(&mutex);
    done = true;
    mutex.Signal();
  });
  MutexLock lock(&mutex);
  mutex.Await([&] { return done; });
}

void LocalSupervisorConnection::Post(absl::AnyInvocable<void()> function) {
  loop_->Post([this, alive = std::weak_ptr<const bool>(alive_),
               function = std::move(function)]() mutable {
    if (!alive.expired() && !*let_go_) {
      function();
    }
  });
}

void LocalSupervisorConnection::Listen(std::shared_ptr<const UniqueFd> pidfd) {
  Post([this, pidfd = std::move(pidfd)] {
    pidfd_ = pidfd;
    Watch();
  });
}

void LocalSupervisorConnection::Kill() {
  if (pidfd_ != nullptr && !*let_go_) {
    KillSupervisor(*pidfd_);
  }
}

void LocalSupervisorConnection::Watch() {
  loop_->Watch(socket_.fd(), EPOLLIN,
               [this](uint32_t events) { OnReady(events); });
}

void LocalSupervisorConnection::Unwatch() {
  creation_ = nullptr;
  flush_timer_.Cancel();
  end_timer_.Cancel();
  loop_->Unwatch(socket_.fd());
}

void LocalSupervisorConnection::Request(wire::ToSupervisor request,
                                        Answer done) {
  if (*let_go_) {
    return;
  }
  {
    MutexLock lock(&mutex_);
    if (!gone_) {
      request.set_request_id(next_request_++);
      if (request.has_delete_sandbox()) {
        delete_request_ = request.request_id();
      }
      if (wire::StartExecution* const start = StartOf(request);
          start != nullptr) {
        start->set_report_answers(request.request_id());
        starts_.emplace(request.request_id(), start->id());
      }
      pending_.emplace(request.request_id(), std::move(done));
      Send(request);
      return;
    }
  }
  Post([done = std::move(done)]() mutable {
    done(LostStatus(), wire::Reply(), {});
  });
}

void LocalSupervisorConnection::Send(const wire::ToSupervisor& request) {
  if (unsent_.empty() && !MayBeSentLater(socket_.Send(request))) {
    return;  // sent; or the peer is gone, which the end of stream reports
  }
  unsent_.push_back(request);
  if (unsent_.size() == 1) {
    Post([this] {
      MutexLock lock(&mutex_);
      // The socket is not watched after the end.
      if (!gone_) {
        loop_->SetEvents(socket_.fd(), EPOLLIN | EPOLLOUT);
      }
    });
  }
}

void LocalSupervisorConnection::Flush() {
  MutexLock lock(&mutex_);
  absl::Status sent;
  while (!unsent_.empty()) {
    sent = socket_.Send(unsent_.front());
    if (MayBeSentLater(sent)) {
      break;
    }
    unsent_.pop_front();
  }
  const bool full = absl::IsUnavailable(sent);
  loop_->SetEvents(socket_.fd(), full ? EPOLLIN | EPOLLOUT : EPOLLIN);
  if (absl::IsResourceExhausted(sent)) {
    LOG(WARNING) << "a message to a supervisor is sent later: "
                 << sent.ToString();
    FlushLater();
  }
}

void LocalSupervisorConnection::FlushLater() {
  if (!flush_timer_.pending()) {
    flush_timer_ = Timer(loop_, kFlushRetry, [this] {
      if (!*let_go_) {
        Flush();
      }
    });
  }
}

void LocalSupervisorConnection::OnReady(uint32_t events) {
  if (*let_go_) {
    loop_->Unwatch(socket_.fd());
    return;
  }
  if ((events & EPOLLOUT) != 0) {
    Flush();
  }
  if ((events & ~EPOLLOUT) != 0) {
    Receive();
  }
}

void LocalSupervisorConnection::Receive() {
  // One message for each event: the observer may destroy this object.
  wire::FromSupervisor message;
  std::vector<UniqueFd> fds;
  const absl::StatusOr<bool> got = socket_.Receive(&message, &fds);
  if (!got.ok()) {
    OnEnd(got.status());
    return;
  }
  if (*got) {
    OnMessage(message, std::move(fds));
  }
}

void LocalSupervisorConnection::OnMessage(const wire::FromSupervisor& message,
                                          std::vector<UniqueFd> fds) {
  switch (message.message_case()) {
    case wire::FromSupervisor::kSnapshot:
      observer_->OnSnapshot(message.snapshot());
      break;
    case wire::FromSupervisor::kReply:
      OnReply(message.reply(), std::move(fds));
      break;
    case wire::FromSupervisor::kExecution:
      OnExecution(message.execution());
      break;
    case wire::FromSupervisor::kOutputChanged:
      for (const auto& change : message.output_changed().changes()) {
        observer_->OnOutput(change);
      }
      break;
    case wire::FromSupervisor::kFailed:
      end_ = message.failed();
      break;
    case wire::FromSupervisor::kStorage:
      observer_->OnStorage(message.storage());
      break;
    case wire::FromSupervisor::kEgressRules:
      observer_->OnEgressRules(message.egress_rules());
      break;
    case wire::FromSupervisor::MESSAGE_NOT_SET:
      break;  // a newer supervisor sent it
  }
}

void LocalSupervisorConnection::OnEnd(const absl::Status& why) {
  if (AskAnotherSupervisor()) {
    return;
  }
  Unwatch();
  std::map<uint64_t, Answer> pending;
  bool deleted;
  {
    MutexLock lock(&mutex_);
    gone_ = true;
    pending.swap(pending_);
    starts_.clear();
    deleted = delete_request_ != 0 && pending.count(delete_request_) == 0;
  }
  for (auto& [id, done] : pending) {
    done(LostStatus(), wire::Reply(), {});
  }
  const bool explained = end_.cause() != wire::SandboxEnd::CAUSE_UNSPECIFIED;
  if (!explained && deleted) {
    end_.set_cause(wire::SandboxEnd::DELETED);
  } else if (!explained) {
    end_.set_cause(wire::SandboxEnd::SUPERVISOR_DIED);
    end_.set_message("the supervisor ended unasked");
    LOG(WARNING) << "a supervisor is gone: " << why.ToString();
    Kill();
    lost_();
  }
  observer_->OnGone(end_);
}

void LocalSupervisorConnection::Create(const wire::SandboxSpec& spec,
                                       std::shared_ptr<const UniqueFd> pidfd,
                                       absl::Duration patience,
                                       SandboxCreation::Replace replace,
                                       Done done) {
  wire::ToSupervisor request;
  *request.mutable_create_sandbox() = spec;
  bool sent = false;
  {
    MutexLock lock(&mutex_);
    request.set_request_id(next_request_++);
    pending_.emplace(request.request_id(),
                     [this, done = std::move(done)](
                         absl::Status status, const wire::Reply& reply,
                         const std::vector<UniqueFd>&) mutable {
                       if (creation_ != nullptr) {
                         creation_->OnAnswer();
                       }
                       if (reply.has_trace()) {
                         observer_->OnMade(reply.trace());
                       }
                       done(std::move(status));
                     });
    sent = !*let_go_ && !MayBeSentLater(socket_.Send(request));
  }
  // All of this is one step of the loop: if the supervisor is dead already, its
  // end must find creation_, which replaces it. The request was sent before, so
  // that the supervisor does not wait for this step. Nothing is received from
  // it until the loop watches the socket.
  Post([this, request = std::move(request), replace = std::move(replace),
        pidfd = std::move(pidfd), patience, sent] {
    pidfd_ = pidfd;
    creation_ = std::make_unique<SandboxCreation>(
        loop_, request, patience, replace, [this] {
          LOG(ERROR) << "a supervisor that does not answer is killed";
          Kill();
        });
    Watch();
    if (!sent) {
      MutexLock lock(&mutex_);
      Send(request);
    }
  });
}

void LocalSupervisorConnection::FailCreation(const absl::Status& why,
                                             Done done) {
  {
    MutexLock lock(&mutex_);
    gone_ = true;
  }
  Post([why, done = std::move(done)]() mutable { done(why); });
  // A step of its own, since `done` may destroy this object.
  Post([this, why] {
    end_.set_cause(wire::SandboxEnd::SUPERVISOR_DIED);
    end_.set_message(std::string(why.message()));
    observer_->OnGone(end_);
  });
}

bool LocalSupervisorConnection::AskAnotherSupervisor() {
  if (creation_ == nullptr) {
    return false;
  }
  std::optional<SupervisorProcess> other = creation_->OnEnd();
  if (!other.has_value()) {
    return false;
  }
  loop_->Unwatch(socket_.fd());
  {
    MutexLock lock(&mutex_);
    socket_ = std::move(other->socket);
    unsent_.clear();
    Send(creation_->request());
  }
  pidfd_ = std::move(other->pidfd);
  Watch();
  return true;
}

void LocalSupervisorConnection::LimitEnd() {
  {
    MutexLock lock(&mutex_);
    if (gone_) {
      return;
    }
  }
  if (!end_timer_.pending()) {
    end_timer_ = Timer(loop_, end_patience_, [this] {
      LOG(ERROR) << "a supervisor that does not end is killed";
      Kill();
    });
  }
}

}  // namespace sandbox

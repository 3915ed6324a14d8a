#include "sandbox/client/local_supervisor_connection.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "sandbox/base/failure.h"
#include "sandbox/base/log.h"

namespace sandbox {
namespace {

// When this host is short of what a message takes.
constexpr absl::Duration kFlushRetry = absl::Milliseconds(20);

SupervisorConnection::InputDone WithoutInput(SupervisorConnection::Done done) {
  return [done = std::move(done)](absl::Status status,
                                  const wire::InputState&) mutable {
    done(std::move(status));
  };
}

// Not what the server before began with: a supervisor may answer its requests
// on the connection of the server after it.
uint64_t FirstRequest() {
  uint32_t random = 0;
  CHECK(::getrandom(&random, sizeof(random), 0) == sizeof(random));
  return (uint64_t{random} << 31) + 1;
}

// Of what the socket says of a message.
bool MayBeSentLater(const absl::Status& sent) {
  return absl::IsUnavailable(sent) || absl::IsResourceExhausted(sent);
}

absl::Status LostStatus() {
  return MakeFailure(wire::Reply::SUPERVISOR_GONE,
                     "the sandbox's supervisor is gone");
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
    MutexLock lock(&mutex);
    done = true;
    mutex.Signal();
  });
  MutexLock lock(&mutex);
  mutex.Await([&] { return done; });
}

void LocalSupervisorConnection::Post(std::function<void()> function) {
  loop_->Post([alive = std::weak_ptr<const bool>(alive_),
               function = std::move(function)] {
    if (!alive.expired()) {
      function();
    }
  });
}

void LocalSupervisorConnection::Listen(std::shared_ptr<const UniqueFd> pidfd) {
  Post([this, pidfd = std::move(pidfd)] {
    process_ = pidfd;
    Watch();
  });
}

void LocalSupervisorConnection::KillSupervisor() {
  if (process_ != nullptr && process_->valid()) {
    ::syscall(SYS_pidfd_send_signal, process_->get(), SIGKILL, nullptr, 0);
  }
}

void LocalSupervisorConnection::Watch() {
  loop_->Watch(socket_.fd(), EPOLLIN,
               [this](uint32_t events) { OnReady(events); });
}

void LocalSupervisorConnection::Unwatch() {
  EndCreation();
  Cancel(flush_timer_);
  Cancel(end_timer_);
  loop_->Unwatch(socket_.fd());
}

void LocalSupervisorConnection::Cancel(
    std::optional<EventLoop::TimerId>& timer) {
  if (timer.has_value()) {
    loop_->Cancel(*timer);
    timer.reset();
  }
}

void LocalSupervisorConnection::Request(wire::ToSupervisor request,
                                        InputDone done) {
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
      pending_.emplace(request.request_id(), std::move(done));
      Send(request);
      return;
    }
  }
  loop_->Post([done = std::move(done)]() mutable {
    done(LostStatus(), wire::InputState());
  });
}

void LocalSupervisorConnection::Send(const wire::ToSupervisor& request) {
  if (unsent_.empty() && !MayBeSentLater(socket_.Send(request))) {
    return;  // sent, or the end of the socket will tell
  }
  unsent_.push_back(request);
  if (unsent_.size() == 1) {
    Post([this] {
      // Either way it is watched no longer.
      if (!ended_ && !*let_go_) {
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
    LOG(WARNING) << "a supervisor is not reached: " << sent.ToString();
    FlushLater();
  }
}

void LocalSupervisorConnection::FlushLater() {
  if (!flush_timer_.has_value()) {
    flush_timer_ = loop_->After(kFlushRetry, [this] {
      flush_timer_.reset();
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
  // One message a turn: the observer may destroy this.
  wire::FromSupervisor message;
  const absl::StatusOr<bool> got = socket_.Receive(&message);
  if (!got.ok()) {
    OnEnd(got.status());
    return;
  }
  if (*got) {
    OnMessage(message);
  }
}

void LocalSupervisorConnection::OnMessage(const wire::FromSupervisor& message) {
  switch (message.message_case()) {
    case wire::FromSupervisor::kSnapshot:
      observer_->OnSnapshot(message.snapshot());
      break;
    case wire::FromSupervisor::kReply:
      OnReply(message.reply());
      break;
    case wire::FromSupervisor::kExecution:
      observer_->OnExecution(message.execution());
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
    case wire::FromSupervisor::MESSAGE_NOT_SET:
      break;  // of a newer supervisor
  }
}

void LocalSupervisorConnection::OnReply(const wire::Reply& reply) {
  InputDone done;
  {
    MutexLock lock(&mutex_);
    const auto found = pending_.find(reply.request_id());
    if (found == pending_.end()) {
      return;
    }
    done = std::move(found->second);
    pending_.erase(found);
  }
  done(MakeFailure(reply.failure(), reply.message()), reply.input());
}

void LocalSupervisorConnection::OnEnd(const absl::Status& why) {
  if (ReplaceSupervisor()) {
    return;
  }
  ended_ = true;
  Unwatch();
  std::map<uint64_t, InputDone> pending;
  bool asked;
  {
    MutexLock lock(&mutex_);
    gone_ = true;
    pending.swap(pending_);
    // Its reply came: it is not among the pending.
    asked = delete_request_ != 0 && pending.count(delete_request_) == 0;
  }
  for (auto& [id, done] : pending) {
    done(LostStatus(), wire::InputState());
  }
  const bool explained = end_.cause() != wire::SandboxEnd::CAUSE_UNSPECIFIED;
  if (!explained && asked) {
    end_.set_cause(wire::SandboxEnd::DELETED);
  } else if (!explained) {
    end_.set_cause(wire::SandboxEnd::SUPERVISOR_DIED);
    end_.set_message("the supervisor ended unasked");
    LOG(WARNING) << "a supervisor is gone: " << why.ToString();
    KillSupervisor();
    lost_();
  }
  observer_->OnGone(end_);
}

void LocalSupervisorConnection::Create(const wire::SandboxSpec& spec,
                                       std::shared_ptr<const UniqueFd> pidfd,
                                       absl::Duration patience, Replace replace,
                                       Done done) {
  auto creation = std::make_shared<Creation>();
  creation->replace = std::move(replace);
  *creation->request.mutable_create_sandbox() = spec;
  {
    MutexLock lock(&mutex_);
    creation->request.set_request_id(next_request_++);
    pending_.emplace(creation->request.request_id(),
                     WithoutInput([this, done = std::move(done)](
                                      absl::Status status) mutable {
                       EndCreation();
                       done(std::move(status));
                     }));
  }
  // All at once: a supervisor that is dead already is replaced too.
  Post([this, creation, pidfd = std::move(pidfd), patience] {
    creation_ = creation;
    process_ = pidfd;
    LimitCreation(patience);
    Watch();
    MutexLock lock(&mutex_);
    Send(creation_->request);
  });
}

void LocalSupervisorConnection::LimitCreation(absl::Duration patience) {
  creation_->timer = loop_->After(patience, [this] {
    if (!*let_go_) {
      LOG(ERROR) << "a supervisor that does not answer is killed";
      KillSupervisor();
    }
  });
}

void LocalSupervisorConnection::EndCreation() {
  if (creation_ != nullptr) {
    loop_->Cancel(creation_->timer);
    creation_ = nullptr;
  }
}

bool LocalSupervisorConnection::ReplaceSupervisor() {
  if (creation_ == nullptr || creation_->replace == nullptr) {
    return false;
  }
  absl::StatusOr<SupervisorProcess> other =
      std::exchange(creation_->replace, nullptr)();
  if (!other.ok()) {
    LOG(ERROR) << "no other supervisor: " << other.status().ToString();
    return false;
  }
  LOG(WARNING) << "a supervisor ended before it had made its sandbox; another "
                  "one makes it";
  loop_->Cancel(creation_->timer);
  loop_->Unwatch(socket_.fd());
  {
    MutexLock lock(&mutex_);
    socket_ = std::move(other->socket);
    unsent_.clear();
    Send(creation_->request);
  }
  process_ = std::move(other->pidfd);
  LimitCreation(kFreshPatience);
  Watch();
  return true;
}

void LocalSupervisorConnection::Start(wire::StartExecution start, Done done) {
  wire::ToSupervisor request;
  *request.mutable_start_execution() = std::move(start);
  Request(std::move(request), WithoutInput(std::move(done)));
}

void LocalSupervisorConnection::Signal(wire::Signal signal, Done done) {
  wire::ToSupervisor request;
  *request.mutable_signal() = std::move(signal);
  Request(std::move(request), WithoutInput(std::move(done)));
}

void LocalSupervisorConnection::Resize(wire::Resize resize, Done done) {
  wire::ToSupervisor request;
  *request.mutable_resize() = std::move(resize);
  Request(std::move(request), WithoutInput(std::move(done)));
}

void LocalSupervisorConnection::WriteInput(wire::WriteInput input,
                                           InputDone done) {
  wire::ToSupervisor request;
  *request.mutable_write_input() = std::move(input);
  Request(std::move(request), std::move(done));
}

void LocalSupervisorConnection::Acknowledge(wire::Acknowledge acknowledge) {
  wire::ToSupervisor request;
  *request.mutable_acknowledge() = std::move(acknowledge);
  MutexLock lock(&mutex_);
  if (!gone_ && !*let_go_) {
    request.set_request_id(next_request_++);
    Send(request);
  }
}

void LocalSupervisorConnection::DeleteExecution(const std::string& execution_id,
                                                Done done) {
  wire::ToSupervisor request;
  request.mutable_delete_execution()->set_execution_id(execution_id);
  Request(std::move(request), WithoutInput(std::move(done)));
}

void LocalSupervisorConnection::DeleteSandbox(wire::ExitRecord::Cause cause,
                                              Done done) {
  wire::ToSupervisor request;
  request.mutable_delete_sandbox()->set_cause(cause);
  Request(std::move(request), WithoutInput(std::move(done)));
  Post([this] { LimitEnd(); });
}

void LocalSupervisorConnection::LimitEnd() {
  if (ended_ || end_timer_.has_value()) {
    return;
  }
  end_timer_ = loop_->After(end_patience_, [this] {
    end_timer_.reset();
    if (!*let_go_) {
      LOG(ERROR) << "a supervisor that does not end is killed";
      KillSupervisor();
    }
  });
}

}  // namespace sandbox

// The requests of LocalSupervisorConnection, and their answers.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "sandbox/client/supervisor_connection.h"

namespace sandbox {

void LocalSupervisorConnection::Ask(wire::ToSupervisor request, Done done) {
  Request(std::move(request),
          [done = std::move(done)](absl::Status status, const wire::Reply&,
                                   const std::vector<UniqueFd>&) mutable {
            done(std::move(status));
          });
}

void LocalSupervisorConnection::Start(wire::StartExecution start, Done done) {
  wire::ToSupervisor request;
  if (start.command().user_id() != 0) {
    *request.mutable_start_with_user() = std::move(start);
  } else {
    *request.mutable_start_execution() = std::move(start);
  }
  Ask(std::move(request), std::move(done));
}

void LocalSupervisorConnection::Signal(wire::Signal signal, Done done) {
  wire::ToSupervisor request;
  *request.mutable_signal() = std::move(signal);
  Ask(std::move(request), std::move(done));
}

void LocalSupervisorConnection::Resize(wire::Resize resize, Done done) {
  wire::ToSupervisor request;
  *request.mutable_resize() = std::move(resize);
  Ask(std::move(request), std::move(done));
}

void LocalSupervisorConnection::WriteInput(wire::WriteInput input,
                                           InputDone done) {
  wire::ToSupervisor request;
  *request.mutable_write_input() = std::move(input);
  Request(std::move(request), [done = std::move(done)](
                                  absl::Status status, const wire::Reply& reply,
                                  const std::vector<UniqueFd>&) mutable {
    done(std::move(status), reply.input());
  });
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

void LocalSupervisorConnection::AllowHosts(wire::EgressRules rules, Done done) {
  wire::ToSupervisor request;
  *request.mutable_allow_hosts() = std::move(rules);
  Ask(std::move(request), std::move(done));
}

void LocalSupervisorConnection::MakeSockets(SocketsDone done) {
  wire::ToSupervisor request;
  request.mutable_make_sockets();
  Request(std::move(request),
          [done = std::move(done)](absl::Status status, const wire::Reply&,
                                   std::vector<UniqueFd> fds) mutable {
            if (!status.ok()) {
              done(std::move(status));
            } else if (fds.empty()) {
              done(MakeFailure(wire::Reply::SHORTAGE,
                               "the server has no descriptor left"));
            } else {
              done(std::move(fds));
            }
          });
}

void LocalSupervisorConnection::DeleteExecution(const std::string& execution_id,
                                                Done done) {
  wire::ToSupervisor request;
  request.mutable_delete_execution()->set_execution_id(execution_id);
  Ask(std::move(request), std::move(done));
}

void LocalSupervisorConnection::DeleteSandbox(wire::ExitRecord::Cause cause,
                                              Done done) {
  wire::ToSupervisor request;
  request.mutable_delete_sandbox()->set_cause(cause);
  Ask(std::move(request), std::move(done));
  Post([this] { LimitEnd(); });
}

LocalSupervisorConnection::Answer LocalSupervisorConnection::Take(
    uint64_t request_id) {
  const auto found = pending_.find(request_id);
  if (found == pending_.end()) {
    return nullptr;
  }
  Answer done = std::move(found->second);
  pending_.erase(found);
  starts_.erase(request_id);
  return done;
}

LocalSupervisorConnection::Answer LocalSupervisorConnection::TakeStart(
    const wire::ExecutionRecord& report) {
  MutexLock lock(&mutex_);
  const auto start = starts_.find(report.answers());
  return start == starts_.end() || start->second != report.id()
             ? nullptr
             : Take(report.answers());
}

void LocalSupervisorConnection::OnReply(const wire::Reply& reply,
                                        std::vector<UniqueFd> fds) {
  Answer done;
  {
    MutexLock lock(&mutex_);
    done = Take(reply.request_id());
  }
  if (done != nullptr) {
    done(MakeFailure(reply.failure(), reply.message()), reply, std::move(fds));
  }
}

void LocalSupervisorConnection::OnExecution(
    const wire::ExecutionRecord& record) {
  Answer started = TakeStart(record);
  // The observer may destroy this object.
  const std::weak_ptr<const bool> alive = alive_;
  observer_->OnExecution(record);
  if (started != nullptr && !alive.expired()) {
    started(absl::OkStatus(), wire::Reply(), {});
  }
}

}  // namespace sandbox

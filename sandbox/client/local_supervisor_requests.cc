// The requests about executions and the way out.

#include <string>
#include <utility>

#include "sandbox/base/mutex.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "sandbox/client/supervisor_connection.h"

namespace sandbox {

void LocalSupervisorConnection::Start(wire::StartExecution start, Done done) {
  wire::ToSupervisor request;
  *request.mutable_start_execution() = std::move(start);
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

void LocalSupervisorConnection::AllowHosts(wire::EgressRules rules, Done done) {
  wire::ToSupervisor request;
  *request.mutable_allow_hosts() = std::move(rules);
  Ask(std::move(request), std::move(done));
}

void LocalSupervisorConnection::DeleteExecution(const std::string& execution_id,
                                                Done done) {
  wire::ToSupervisor request;
  request.mutable_delete_execution()->set_execution_id(execution_id);
  Ask(std::move(request), std::move(done));
}

}  // namespace sandbox

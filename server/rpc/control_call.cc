#include "server/rpc/control_call.h"

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/api/validation.h"
#include "server/core/execution.h"
#include "server/core/sandbox.h"
#include "server/rpc/found_execution.h"

namespace server {
namespace {

constexpr uint64_t kLastSignal = 64;

absl::Status Precondition(corral::v1::ErrorReason reason,
                          const Execution& execution, const char* what) {
  return Error(absl::StatusCode::kFailedPrecondition, reason,
               absl::StrCat(execution.name(), what),
               {{"name", execution.name()}});
}

absl::Status HasEnded(const Execution& execution) {
  return Precondition(corral::v1::EXECUTION_ENDED, execution, " has ended");
}

absl::Status CheckTerminal(const Execution& execution) {
  return execution.command().has_terminal()
             ? absl::OkStatus()
             : Precondition(corral::v1::NOT_A_TERMINAL, execution,
                            " has no terminal");
}

// Returns the error of the API for the supervisor's answer.
absl::Status ToControlError(const Execution& execution,
                            const absl::Status& status) {
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::NONE:
      return absl::OkStatus();
    case wire::Reply::EXECUTION_ENDED:
    case wire::Reply::NOT_A_TERMINAL:  // the terminal is closed already
    case wire::Reply::SUPERVISOR_GONE:
      return HasEnded(execution);
    case wire::Reply::NO_SUCH_EXECUTION:
      return ExecutionNotFound(execution.name());
    default:
      return ServerFault(execution.name(), status);
  }
}

absl::StatusOr<wire::Signal> ToSignal(
    const corral::v1::SignalExecutionRequest& request,
    const Execution& execution) {
  wire::Signal signal;
  if (request.signal() < 1 ||
      static_cast<uint64_t>(request.signal()) > kLastSignal) {
    return InvalidField("signal", absl::StrCat(request.signal()), "[1, 64]");
  }
  if (!corral::v1::SignalExecutionRequest::Scope_IsValid(request.scope())) {
    return InvalidField("scope", absl::StrCat(request.scope()),
                        "TREE, LEADER, FOREGROUND_GROUP");
  }
  signal.set_kill_after_ns(-1);
  if (request.has_kill_after()) {
    ASSIGN_OR_RETURN(const absl::Duration kill_after,
                     CheckDuration("kill_after", request.kill_after(),
                                   absl::ZeroDuration(), absl::Hours(1)));
    signal.set_kill_after_ns(absl::ToInt64Nanoseconds(kill_after));
  }
  if (request.scope() == corral::v1::SignalExecutionRequest::FOREGROUND_GROUP) {
    RETURN_IF_ERROR(CheckTerminal(execution));
  }
  signal.set_signal(request.signal());
  signal.set_scope(ToWire(request.scope()));
  return signal;
}

// Passes a request on, after the server has found the supervisor.
void PassOn(const FoundExecution& target,
            absl::AnyInvocable<void(sandbox::SupervisorConnection&,
                                    sandbox::SupervisorConnection::Done)>
                request,
            ControlReply reply) {
  target.sandbox->AwaitKnown(
      [sandbox = target.sandbox, execution = target.execution,
       request = std::move(request),
       reply = std::move(reply)](const absl::Status& known) mutable {
        if (!known.ok()) {
          reply(known);
          return;
        }
        const auto supervisor = sandbox->supervisor();
        if (supervisor == nullptr) {
          reply(HasEnded(*execution));
          return;
        }
        request(*supervisor, [execution, reply = std::move(reply)](
                                 const absl::Status& done) mutable {
          reply(ToControlError(*execution, done));
        });
      });
}

}  // namespace

void Signal(const FoundExecution& target,
            const corral::v1::SignalExecutionRequest& request,
            ControlReply reply) {
  absl::StatusOr<wire::Signal> signal = ToSignal(request, *target.execution);
  if (!signal.ok()) {
    reply(signal.status());
    return;
  }
  signal->set_execution_id(target.id);
  PassOn(
      target,
      [signal = *std::move(signal)](sandbox::SupervisorConnection& supervisor,
                                    sandbox::SupervisorConnection::Done done) {
        supervisor.Signal(signal, std::move(done));
      },
      std::move(reply));
}

void Resize(const FoundExecution& target,
            const corral::v1::ResizeTerminalRequest& request,
            ControlReply reply) {
  absl::Status status = CheckTerminalSize("size", request.size());
  status.Update(CheckTerminal(*target.execution));
  if (!status.ok()) {
    reply(status);
    return;
  }
  wire::Resize resize;
  resize.set_execution_id(target.id);
  resize.set_rows(request.size().rows());
  resize.set_columns(request.size().columns());
  PassOn(
      target,
      [resize](sandbox::SupervisorConnection& supervisor,
               sandbox::SupervisorConnection::Done done) {
        supervisor.Resize(resize, std::move(done));
      },
      [execution = target.execution, size = request.size(),
       reply = std::move(reply)](const absl::Status& resized) mutable {
        if (resized.ok()) {
          execution->SetTerminalSize(size);
        }
        reply(resized);
      });
}

}  // namespace server

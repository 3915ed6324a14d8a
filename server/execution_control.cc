// The calls of ExecutionService that act on a running command.

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
#include "corral/v1/execution.grpc.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/sandbox.h"
#include "server/activity.h"
#include "server/conversion.h"
#include "server/errors.h"
#include "server/execution.h"
#include "server/execution_service.h"
#include "server/session.h"
#include "server/unary_reply.h"
#include "server/validation.h"

namespace server {
namespace {

constexpr size_t kMaxInputBytes = 1 << 20;
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

// The answer of the supervisor to a signal or a resize.
absl::Status ToControlError(const Execution& execution,
                            const absl::Status& status) {
  if (absl::IsFailedPrecondition(status) || absl::IsUnavailable(status)) {
    return HasEnded(execution);
  }
  if (absl::IsNotFound(status)) {
    return ExecutionNotFound(execution.name());
  }
  return status.ok() ? status : ServerFault(execution.name(), status);
}

absl::Status CheckInput(const corral::v1::WriteInputRequest& request,
                        const Execution& execution, uint32_t schema_version) {
  if (!request.has_offset() && schema_version == 0) {
    return InvalidField("offset", "",
                        "an offset, since an older Corral made "
                        "the sandbox");
  }
  if (request.data().size() > kMaxInputBytes) {
    return InvalidField("data", absl::StrCat(request.data().size(), " bytes"),
                        "at most 1048576 bytes");
  }
  if (!execution.takes_input()) {
    return Precondition(corral::v1::INPUT_CLOSED, execution,
                        " was started without stdin");
  }
  return absl::OkStatus();
}

absl::Status ToInputError(const corral::v1::WriteInputRequest& request,
                          const Execution& execution,
                          const absl::Status& status,
                          const wire::InputState& input) {
  if (absl::IsOutOfRange(status)) {
    return OffsetOutOfRange("input", request.offset(), input.accepted_offset());
  }
  if (absl::IsNotFound(status)) {
    return ExecutionNotFound(execution.name());
  }
  return status.ok() ? status : ServerFault(execution.name(), status);
}

// An execution that is over takes no input, which is no error.
corral::v1::InputState ClosedInput(const Execution& execution) {
  corral::v1::InputState input = execution.input();
  input.set_closed(true);
  return input;
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

using Answer = absl::AnyInvocable<void(absl::Status)>;

// Of a session whose executions are known.
void WriteKnown(const Session& session,
                const std::shared_ptr<Execution>& execution,
                wire::WriteInput input,
                const corral::v1::WriteInputRequest& request,
                corral::v1::InputState* response, Answer reply) {
  const absl::Status checked =
      CheckInput(request, *execution, session.schema_version());
  if (!checked.ok()) {
    reply(checked);
    return;
  }
  const auto sandbox = session.sandbox();
  if (sandbox == nullptr) {
    *response = ClosedInput(*execution);
    reply(absl::OkStatus());
    return;
  }
  sandbox->WriteInput(
      std::move(input),
      [&request, response, execution, reply = std::move(reply)](
          const absl::Status& done, const wire::InputState& taken) mutable {
        if (done.ok()) {
          *response = FromWire(taken);
          execution->UpdateInput(*response);
        } else if (absl::IsUnavailable(done)) {
          *response = ClosedInput(*execution);
          reply(absl::OkStatus());
          return;
        }
        reply(ToInputError(request, *execution, done, taken));
      });
}

// Asks the supervisor for a signal or a resize, once it is known who that is.
void Control(
    const std::shared_ptr<Session>& session,
    const std::shared_ptr<Execution>& execution,
    absl::AnyInvocable<void(sandbox::Sandbox&, sandbox::Sandbox::Done)> ask,
    Answer reply) {
  session->AwaitKnown(
      [session, execution, ask = std::move(ask),
       reply = std::move(reply)](const absl::Status& known) mutable {
        if (!known.ok()) {
          reply(known);
          return;
        }
        const auto sandbox = session->sandbox();
        if (sandbox == nullptr) {
          reply(HasEnded(*execution));
          return;
        }
        ask(*sandbox, [execution, reply = std::move(reply)](
                          const absl::Status& done) mutable {
          reply(ToControlError(*execution, done));
        });
      });
}

}  // namespace

ExecutionService::UnaryReactor* ExecutionService::WriteInput(
    Context* context, const corral::v1::WriteInputRequest* request,
    corral::v1::InputState* response) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<Found> found = Find(request->name());
  if (!found.ok()) {
    return Reply(context, found.status());
  }
  wire::WriteInput input;
  input.set_execution_id(found->id);
  input.set_offset(request->offset());
  input.set_append(!request->has_offset());
  input.set_data(request->data());
  input.set_eof(request->eof());
  UnaryReactor* reactor = context->DefaultReactor();
  found->session->AwaitKnown([session = found->session,
                              execution = found->execution,
                              input = std::move(input), request, response,
                              reply = ReplyLater(reactor, std::move(call))](
                                 const absl::Status& known) mutable {
    if (known.ok()) {
      WriteKnown(*session, execution, std::move(input), *request, response,
                 std::move(reply));
    } else {
      reply(known);
    }
  });
  return reactor;
}

ExecutionService::UnaryReactor* ExecutionService::SignalExecution(
    Context* context, const corral::v1::SignalExecutionRequest* request,
    google::protobuf::Empty* /*response*/) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<Found> found = Find(request->name());
  if (!found.ok()) {
    return Reply(context, found.status());
  }
  absl::StatusOr<wire::Signal> signal = ToSignal(*request, *found->execution);
  if (!signal.ok()) {
    return Reply(context, signal.status());
  }
  signal->set_execution_id(found->id);
  UnaryReactor* reactor = context->DefaultReactor();
  Control(
      found->session, found->execution,
      [signal = *std::move(signal)](sandbox::Sandbox& sandbox,
                                    sandbox::Sandbox::Done done) {
        sandbox.Signal(signal, std::move(done));
      },
      ReplyLater(reactor, std::move(call)));
  return reactor;
}

ExecutionService::UnaryReactor* ExecutionService::ResizeTerminal(
    Context* context, const corral::v1::ResizeTerminalRequest* request,
    google::protobuf::Empty* /*response*/) {
  Activity::Call call = activity_->BeginCall();
  const absl::StatusOr<Found> found = Find(request->name());
  absl::Status status = found.status();
  status.Update(CheckTerminalSize("size", request->size()));
  if (status.ok()) {
    status = CheckTerminal(*found->execution);
  }
  if (!status.ok()) {
    return Reply(context, status);
  }
  wire::Resize resize;
  resize.set_execution_id(found->id);
  resize.set_rows(request->size().rows());
  resize.set_columns(request->size().columns());
  UnaryReactor* reactor = context->DefaultReactor();
  Control(
      found->session, found->execution,
      [resize](sandbox::Sandbox& sandbox, sandbox::Sandbox::Done done) {
        sandbox.Resize(resize, std::move(done));
      },
      ReplyLater(reactor, std::move(call)));
  return reactor;
}

}  // namespace server

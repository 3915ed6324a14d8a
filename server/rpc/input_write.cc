#include "server/rpc/input_write.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/conversion.h"
#include "server/api/errors.h"
#include "server/core/sandbox.h"
#include "server/rpc/found_execution.h"
#include "server/rpc/unary_reply.h"

namespace server {
namespace {

constexpr size_t kMaxInputBytes = 1 << 20;
// The delay before a retry when too much input waits at the supervisor, for
// example from calls of an earlier server.
constexpr absl::Duration kFullRetry = absl::Milliseconds(200);

// An ended execution accepts no input, which is not an error.
corral::v1::InputState ClosedInput(const Execution& execution) {
  corral::v1::InputState input = execution.input();
  input.set_closed(true);
  return input;
}

wire::WriteInput InputOf(const corral::v1::WriteInputRequest& request,
                         const std::string& id) {
  wire::WriteInput input;
  input.set_execution_id(id);
  input.set_offset(request.offset());
  input.set_append(!request.has_offset());
  input.set_data(request.data());
  input.set_eof(request.eof());
  return input;
}

}  // namespace

grpc::ServerUnaryReactor* InputWrite::Start(
    FoundExecution target, const corral::v1::WriteInputRequest* request,
    corral::v1::InputState* response, TimerQueue* timers, Activity::Call call,
    Activity::Held held) {
  // OnDone deletes it.
  auto* write = new InputWrite(std::move(target), request, response, timers,
                               std::move(call), std::move(held));
  const std::shared_ptr<Sandbox> sandbox = write->target_.sandbox;
  sandbox->AwaitKnown([write](const absl::Status& known) {
    const absl::Status checked = known.ok() ? write->Check() : known;
    if (checked.ok()) {
      write->Enqueue();
    } else {
      Answer reply = std::move(write->reply_);
      reply(checked);
    }
  });
  return write;
}

InputWrite::InputWrite(FoundExecution target,
                       const corral::v1::WriteInputRequest* request,
                       corral::v1::InputState* response, TimerQueue* timers,
                       Activity::Call call, Activity::Held held)
    : target_(std::move(target)),
      request_(request),
      response_(response),
      timers_(timers),
      reply_(
          [held = std::move(held), reply = ReplyLater(this, std::move(call))](
              const absl::Status& status) mutable {
            held.reset();
            reply(status);
          }) {}

absl::Status InputWrite::Check() const {
  if (request_->data().size() > kMaxInputBytes) {
    return InvalidField("data", absl::StrCat(request_->data().size(), " bytes"),
                        "at most 1048576 bytes");
  }
  if (!target_.execution->takes_input()) {
    return Error(
        absl::StatusCode::kFailedPrecondition, corral::v1::INPUT_CLOSED,
        absl::StrCat(target_.execution->name(), " was started without stdin"),
        {{"name", target_.execution->name()}});
  }
  return absl::OkStatus();
}

void InputWrite::Enqueue() {
  // The call may end, and this object be destroyed, before Add() returns.
  const std::shared_ptr<Execution> execution = target_.execution;
  if (!execution->input_queue().Add(this, request_->data().size())) {
    Answer reply = std::move(reply_);
    reply(SandboxUnavailable(target_.sandbox->spec().name(),
                             "too much input of the execution waits already",
                             kFullRetry, "READY"));
  }
}

void InputWrite::OnCancel() {
  cancelled_ = true;
  if (target_.execution->input_queue().Remove(this)) {
    Answer reply = std::move(reply_);
    reply(absl::CancelledError());
  }
}

void InputWrite::Begin() { Send(std::move(reply_)); }

void InputWrite::Send(Answer reply) {
  if (cancelled_) {
    End(absl::CancelledError(), std::move(reply));
    return;
  }
  const auto supervisor = target_.sandbox->supervisor();
  if (supervisor == nullptr) {
    *response_ = ClosedInput(*target_.execution);
    End(absl::OkStatus(), std::move(reply));
    return;
  }
  supervisor->WriteInput(
      InputOf(*request_, target_.id),
      [this, reply = std::move(reply)](const absl::Status& status,
                                       const wire::InputState& taken) mutable {
        OnAnswer(status, taken, std::move(reply));
      });
}

void InputWrite::OnAnswer(const absl::Status& status,
                          const wire::InputState& taken, Answer reply) {
  const wire::Reply::Failure failure = sandbox::FailureOf(status);
  if (failure == wire::Reply::SHORTAGE) {
    timers_->RunAfter(kFullRetry, [this, reply = std::move(reply)]() mutable {
      Send(std::move(reply));
    });
    return;
  }
  if (status.ok()) {
    *response_ = FromWire(taken);
    target_.execution->UpdateInput(*response_);
  } else if (failure == wire::Reply::SUPERVISOR_GONE) {
    *response_ = ClosedInput(*target_.execution);
  }
  End(ToError(status, taken), std::move(reply));
}

void InputWrite::End(const absl::Status& status, Answer reply) {
  const std::shared_ptr<Execution> execution = target_.execution;
  reply(status);
  execution->input_queue().End();
}

absl::Status InputWrite::ToError(const absl::Status& status,
                                 const wire::InputState& taken) const {
  switch (sandbox::FailureOf(status)) {
    case wire::Reply::NONE:
    case wire::Reply::SUPERVISOR_GONE:
      return absl::OkStatus();
    case wire::Reply::OFFSET_GAP:
      return OffsetOutOfRange("input", request_->offset(),
                              taken.accepted_offset());
    case wire::Reply::NO_SUCH_EXECUTION:
      return ExecutionNotFound(target_.execution->name());
    default:
      return ServerFault(target_.execution->name(), status);
  }
}

}  // namespace server

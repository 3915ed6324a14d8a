#include "server/ports/port_call.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "grpcpp/server_context.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/api/errors.h"
#include "server/api/grpc_status.h"
#include "server/api/names.h"
#include "server/api/validation.h"
#include "server/core/registry.h"

namespace server {
namespace {

constexpr uint64_t kLastPort = 65535;

absl::Status CheckData(const std::string& data) {
  return CheckRange("data", data.size(), {1, sandbox::SocketPump::kMaxData});
}

absl::Status NotReady(const Sandbox& sandbox) {
  return SandboxNotReady(
      sandbox.spec().name(),
      corral::v1::Sandbox::State_Name(sandbox.Describe().state()));
}

absl::Status Fault(const std::string& name, const absl::Status& cause) {
  return ServerFault(absl::StrCat("connection to ", name), cause);
}

// Returns the error of the API for the supervisor's answer.
absl::Status ToSocketsError(const std::string& name,
                            const absl::Status& refusal) {
  switch (sandbox::FailureOf(refusal)) {
    case sandbox::wire::Reply::UNKNOWN_REQUEST:
      return SandboxTooOld(name, "published ports");
    case sandbox::wire::Reply::SANDBOX_NOT_READY:
    case sandbox::wire::Reply::SUPERVISOR_GONE:
      return SandboxNotReady(name, "ending");
    default:
      return Fault(name, refusal);
  }
}

}  // namespace

PortCall* PortCall::Begin(std::shared_ptr<sandbox::EventLoop> loop,
                          Sandboxes* sandboxes, absl::Duration patience,
                          grpc::CallbackServerContext* context,
                          Activity::Call call) {
  // make_shared cannot reach the constructor.
  std::shared_ptr<PortCall> self(new PortCall(
      std::move(loop), sandboxes, patience, context, std::move(call)));
  self->self_ = self;
  const absl::Status lasting = self->call_->AddLasting(self.get(), self);
  if (lasting.ok()) {
    self->StartRead(&self->request_);
  } else {
    self->Fail(lasting);
  }
  return self.get();
}

void PortCall::Post(absl::AnyInvocable<void(PortCall&)> function) {
  loop_->Post([self = shared_from_this(),
               function = std::move(function)]() mutable { function(*self); });
}

void PortCall::Fail(const absl::Status& status) {
  Post([status](PortCall& call) { call.Leave(status); });
}

void PortCall::OnReadDone(bool ok) {
  if (ok) {
    Post([](PortCall& call) { call.OnRequest(); });
  } else {
    // Without `end`, the client has left.
    Post([](PortCall& call) {
      call.Leave(absl::CancelledError("the client is gone"));
    });
  }
}

void PortCall::OnWriteDone(bool /*ok*/) {
  // A client that is gone is reported by OnCancel().
  Post([](PortCall& call) { call.OnResponded(); });
}

void PortCall::OnCancel() {
  Post([](PortCall& call) {
    call.Leave(absl::CancelledError("the client is gone"));
  });
}

void PortCall::OnDone() {
  Post([](PortCall& call) { call.CleanUp(); });
}

void PortCall::CleanUp() {
  dial_.reset();
  pump_.reset();
  if (sandbox_ != nullptr) {
    sandbox_->connections().Remove(this);
  }
  hold_.reset();
  sandbox_.reset();
  call_->RemoveLasting(this);
  call_.reset();
  self_.reset();
}

void PortCall::OnRequest() {
  if (state_ != State::kAwaitsOpen && state_ != State::kOpen) {
    return;  // the call ends
  }
  absl::Status checked;
  if (state_ == State::kAwaitsOpen) {
    checked = request_.has_open()
                  ? Open(request_.open())
                  : InvalidField("message", "no open", "open first");
  } else if (request_.has_data()) {
    checked = CheckData(request_.data());
    if (checked.ok()) {
      pump_->OnRead(std::move(*request_.mutable_data()));
    }
  } else if (request_.has_end()) {
    pump_->OnReadEnd();
  } else {
    checked = InvalidField("message", "no data", "data or end after open");
  }
  if (!checked.ok()) {
    Leave(checked);
  }
}

absl::Status PortCall::Open(const corral::v1::OpenPort& open) {
  ASSIGN_OR_RETURN(const SandboxName name,
                   SandboxName::Parse("open.name", open.name()));
  RETURN_IF_ERROR(CheckRange("open.port", open.port(), {1, kLastPort}));
  ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox,
                   sandboxes_->registry().Get(name));
  if (sandbox->gone()) {
    return NotReady(*sandbox);
  }
  RETURN_IF_ERROR(sandbox->connections().Add(this, shared_from_this()));
  port_ = static_cast<uint16_t>(open.port());
  sandbox_ = sandbox;
  hold_.emplace(sandbox_->HoldForCall());
  state_ = State::kConnecting;
  // The answers of a sandbox may come after the end of the call.
  sandbox_->AwaitKnown([weak = weak_from_this()](const absl::Status& known) {
    if (const auto self = weak.lock(); self != nullptr) {
      self->Post([known](PortCall& call) { call.OnKnown(known); });
    }
  });
  return absl::OkStatus();
}

void PortCall::OnKnown(const absl::Status& known) {
  if (state_ != State::kConnecting) {
    return;
  }
  const auto supervisor = sandbox_->supervisor();
  if (!known.ok()) {
    Leave(known);
  } else if (supervisor == nullptr ||
             sandbox_->Describe().state() != corral::v1::Sandbox::READY) {
    Leave(NotReady(*sandbox_));
  } else {
    supervisor->MakeSockets(
        [weak = weak_from_this()](
            absl::StatusOr<std::vector<sandbox::UniqueFd>> sockets) {
          if (const auto self = weak.lock(); self != nullptr) {
            self->Post([sockets = std::move(sockets)](PortCall& call) mutable {
              call.OnSockets(std::move(sockets));
            });
          }
        });
  }
}

void PortCall::OnSockets(
    absl::StatusOr<std::vector<sandbox::UniqueFd>> sockets) {
  if (state_ != State::kConnecting) {
    return;
  }
  if (!sockets.ok()) {
    Leave(ToSocketsError(sandbox_->spec().name(), sockets.status()));
    return;
  }
  dial_ = std::make_unique<LoopbackDial>(loop_.get(), *std::move(sockets),
                                         port_, patience_);
  dial_->Begin([this](absl::StatusOr<sandbox::UniqueFd> socket) {
    OnDialled(std::move(socket));
  });
}

void PortCall::OnDialled(absl::StatusOr<sandbox::UniqueFd> socket) {
  if (state_ != State::kConnecting) {
    return;
  }
  const std::string& name = sandbox_->spec().name();
  if (absl::IsNotFound(socket.status())) {
    Leave(PortRefused(name, port_));
  } else if (absl::IsDeadlineExceeded(socket.status())) {
    Leave(PortTimedOut(name, port_, patience_));
  } else if (!socket.ok()) {
    Leave(Fault(name, socket.status()));
  } else {
    pump_ = std::make_unique<sandbox::SocketPump>(loop_.get(),
                                                  *std::move(socket), this);
    state_ = State::kAnswering;
    response_.mutable_connected();
    Respond();
  }
}

void PortCall::OnResponded() {
  writing_ = false;
  if (state_ == State::kEnding) {
    FinishNow();
  } else if (state_ == State::kAnswering) {
    state_ = State::kOpen;
    pump_->Begin();
  } else if (state_ == State::kOpen) {
    response_.Clear();  // an idle connection keeps no data
    pump_->OnWritten();
  }
}

void PortCall::Respond() {
  writing_ = true;
  StartWrite(&response_);
}

void PortCall::Write(std::string data) {
  response_.set_data(std::move(data));
  Respond();
}

void PortCall::WriteEnd() {
  response_.mutable_end();
  Respond();
}

void PortCall::Read() { StartRead(&request_); }

void PortCall::OnEnd(const absl::Status& status) {
  End(status.ok() ? status
                  : ConnectionReset(sandbox_->spec().name(),
                                    "the server in the sandbox has reset it"));
}

void PortCall::Leave(const absl::Status& why) {
  if (state_ == State::kEnding || state_ == State::kFinished) {
    return;
  }
  pump_.reset();
  End(why);
}

void PortCall::End(const absl::Status& result) {
  state_ = State::kEnding;
  result_ = result;
  if (writing_) {
    end_timer_ = sandbox::Timer(loop_.get(), kEndPatience,
                                [this] { context_->TryCancel(); });
  } else {
    FinishNow();
  }
}

void PortCall::FinishNow() {
  end_timer_.Cancel();
  state_ = State::kFinished;
  Finish(ToGrpcStatus(result_));
}

}  // namespace server

#include "sandbox/supervisor/supervisor.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/program_code.h"
#include "sandbox/base/timer.h"
#include "sandbox/supervisor/background.h"

namespace sandbox {
namespace {

// The version of supervisor.proto.
constexpr uint32_t kSchemaVersion = 1;

// The time without a start or an end after which no command is soon expected.
constexpr absl::Duration kQuiet = absl::Milliseconds(300);

// Returns the id of the execution that the request is about; empty for a start,
// and for a request about the sandbox.
std::string ExecutionOf(const wire::ToSupervisor& request) {
  switch (request.request_case()) {
    case wire::ToSupervisor::kSignal:
      return request.signal().execution_id();
    case wire::ToSupervisor::kResize:
      return request.resize().execution_id();
    case wire::ToSupervisor::kWriteInput:
      return request.write_input().execution_id();
    case wire::ToSupervisor::kAcknowledge:
      return request.acknowledge().execution_id();
    case wire::ToSupervisor::kDeleteExecution:
      return request.delete_execution().execution_id();
    case wire::ToSupervisor::kStartExecution:
    case wire::ToSupervisor::kStartWithUser:
    case wire::ToSupervisor::kCompleteSandbox:
    case wire::ToSupervisor::kCreateSandbox:
    case wire::ToSupervisor::kDeleteSandbox:
    case wire::ToSupervisor::kAllowHosts:
    case wire::ToSupervisor::kMakeSockets:
    case wire::ToSupervisor::REQUEST_NOT_SET:
      break;
  }
  return "";
}

}  // namespace

Supervisor::Supervisor(std::unique_ptr<EventLoop> loop, PacketSocket control,
                       wire::SandboxSpec::Profile profile, absl::Status rights)
    : loop_(std::move(loop)),
      profile_(profile),
      rights_(std::move(rights)),
      storage_([this] { ReportStorage(); }),
      quota_(loop_.get()),
      sync_(loop_.get(), loop_.get(), &storage_,
            std::make_unique<BackgroundThread>()),
      spares_(loop_.get(), &storage_),
      strange_children_(loop_.get(), loop_.get(),
                        {[this](pid_t pid) { return Recognize(pid); },
                         [this](absl::AnyInvocable<void()> then) {
                           return spawner_ != nullptr &&
                                  spawner_->AfterAnswer(std::move(then));
                         }}),
      control_(
          loop_.get(), std::move(control),
          [this](wire::ToSupervisor request) { OnRequest(std::move(request)); },
          [this] { SendSnapshot(); }, [this] { OnDisconnect(); }) {
  sync_.OnSynced([this](const std::string& path) { commands_.OnSynced(path); });
  quota_.SetEarlier([this] { return commands_.ExpireForgotten(); });
}

Supervisor::~Supervisor() = default;

void Supervisor::Run() {
  // Prepares before the request is read, so that a server can keep a prepared
  // supervisor for the next request.
  prepared_ = rights_.ok() ? Prepare() : rights_;
  loop_->Run();
}

void Supervisor::OnRequest(wire::ToSupervisor request) {
  const uint64_t id = request.request_id();
  // A burst of starts does not look through itself.
  if (const std::string execution = ExecutionOf(request); !execution.empty()) {
    BeginStartsUpTo(execution);
  }
  switch (request.request_case()) {
    case wire::ToSupervisor::kCompleteSandbox:
      CompleteSandbox(id, request.complete_sandbox());
      break;
    case wire::ToSupervisor::kCreateSandbox:
      CreateSandbox(id, request.create_sandbox());
      break;
    case wire::ToSupervisor::kDeleteSandbox:
      DeleteSandbox(id, request.delete_sandbox().cause());
      break;
    case wire::ToSupervisor::kStartExecution:
      StartExecution(id, std::move(*request.mutable_start_execution()));
      break;
    case wire::ToSupervisor::kStartWithUser:
      StartExecution(id, std::move(*request.mutable_start_with_user()));
      break;
    case wire::ToSupervisor::kSignal:
      Signal(id, request.signal());
      break;
    case wire::ToSupervisor::kResize:
      Resize(id, request.resize());
      break;
    case wire::ToSupervisor::kWriteInput:
      WriteInput(id, request.write_input());
      break;
    case wire::ToSupervisor::kAcknowledge:
      Acknowledge(request.acknowledge());
      break;
    case wire::ToSupervisor::kDeleteExecution:
      DeleteExecution(id, request.delete_execution().execution_id());
      break;
    case wire::ToSupervisor::kAllowHosts:
      AllowHosts(id, request.allow_hosts());
      break;
    case wire::ToSupervisor::kMakeSockets:
      MakeSockets(id);
      break;
    case wire::ToSupervisor::REQUEST_NOT_SET:
      Reply(id, MakeFailure(wire::Reply::UNKNOWN_REQUEST,
                            "this supervisor does not know the request"));
      break;
  }
}

wire::FromSupervisor Supervisor::ReplyOf(uint64_t request_id,
                                         const absl::Status& status) {
  wire::FromSupervisor message;
  wire::Reply* reply = message.mutable_reply();
  reply->set_request_id(request_id);
  reply->set_failure(FailureOf(status));
  reply->set_message(std::string(status.message()));
  return message;
}

void Supervisor::Reply(uint64_t request_id, const absl::Status& status) {
  control_.Send(ReplyOf(request_id, status));
}

void Supervisor::ReplyInput(uint64_t request_id, const absl::Status& status,
                            const wire::InputState& input) {
  wire::FromSupervisor message = ReplyOf(request_id, status);
  *message.mutable_reply()->mutable_input() = input;
  control_.Send(std::move(message));
}

void Supervisor::OnDisconnect() {
  if (state_ == State::kNew || state_ == State::kComplete) {
    Abandon();
  }
}

void Supervisor::ForgetCodeLater() {
  forgetting_ = Timer(loop_.get(), kQuiet, ForgetCode);
}

bool Supervisor::IsInitOrSpawner(pid_t pid) const {
  return pid == construction_.init.pid || pid == construction_.spawner.pid;
}

bool Supervisor::IsKnown(pid_t pid) {
  return IsInitOrSpawner(pid) || (way_out_ != nullptr && way_out_->Owns(pid)) ||
         commands_.Owns(pid);
}

StrangeChildren::Kind Supervisor::Recognize(pid_t pid) {
  if (IsInitOrSpawner(pid)) {
    return StrangeChildren::Kind::kOwn;
  }
  if (way_out_ != nullptr && way_out_->ReapIfOwn(pid)) {
    return StrangeChildren::Kind::kReaped;
  }
  return commands_.ReapIfOwn(pid) ? StrangeChildren::Kind::kReaped
                                  : StrangeChildren::Kind::kStrange;
}

void Supervisor::ReportStorage() {
  if (state_ == State::kReady || state_ == State::kDeleting) {
    wire::FromSupervisor message;
    message.mutable_storage()->set_failure(storage_.failure());
    control_.Send(std::move(message));
  }
}

void Supervisor::SendSnapshot() {
  BeginAllStarts();
  commands_.Report([this](wire::Snapshot snapshot) {
    snapshot.set_ready(state_ == State::kReady);
    snapshot.set_schema_version(kSchemaVersion);
    snapshot.mutable_storage()->set_failure(storage_.failure());
    if (way_out_ != nullptr) {
      *snapshot.mutable_egress_rules() = way_out_->rules();
    }
    if (state_ != State::kNew) {
      *snapshot.mutable_trace() = trace_;
    }
    wire::FromSupervisor hello;
    *hello.mutable_snapshot() = std::move(snapshot);
    control_.Send(std::move(hello));
  });
}

}  // namespace sandbox

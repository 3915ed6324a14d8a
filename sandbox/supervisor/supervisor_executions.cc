// Requests about the executions of a sandbox, and reports of their states.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/failure.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/supervisor/command_table.h"
#include "sandbox/supervisor/supervisor.h"

namespace sandbox {
namespace {

// One is under way, and one is ready to follow.
constexpr size_t kStartsAhead = 2;

// Fails if a sandbox whose ids begin at `first_id` has no such user.
absl::Status CheckUser(uint32_t user, uint32_t first_id) {
  if (first_id == kNoRange && user != 0 && user != kCommandId) {
    return MakeFailure(
        wire::Reply::ISOLATION,
        absl::StrCat("user id ", user,
                     ": the sandbox has only one user, that "
                     "of corrald; run corrald as root of the host"));
  }
  return user < kIdRange ? absl::OkStatus()
                         : MakeFailure(wire::Reply::ISOLATION,
                                       absl::StrCat("user id ", user,
                                                    ": the sandbox has only ",
                                                    kIdRange, " user ids"));
}

}  // namespace

template <typename Action>
void Supervisor::With(uint64_t request_id, const std::string& id,
                      Action action) {
  const absl::StatusOr<CommandTable::Found> command = commands_.Find(id);
  if (command.ok()) {
    std::visit([&](auto* found) { action(*found); }, *command);
  } else {
    Reply(request_id, command.status());
  }
}

void Supervisor::StartExecution(uint64_t request_id,
                                wire::StartExecution start) {
  const bool busy =
      state_ == State::kReady && spawner_->pending() >= kStartsAhead;
  if (busy || !waiting_starts_.empty()) {
    waiting_starts_.emplace_back(request_id, std::move(start));
  } else {
    BeginStart(request_id, std::move(start));
  }
}

void Supervisor::BeginNextStart() {
  auto [request_id, start] = std::move(waiting_starts_.front());
  waiting_starts_.pop_front();
  BeginStart(request_id, std::move(start));
}

void Supervisor::BeginWaitingStarts() {
  while (!waiting_starts_.empty() && spawner_->pending() < kStartsAhead) {
    BeginNextStart();
  }
}

void Supervisor::BeginStartsUpTo(const std::string& id) {
  const auto found = std::find_if(
      waiting_starts_.begin(), waiting_starts_.end(),
      [&id](const auto& waiting) { return waiting.second.id() == id; });
  if (found == waiting_starts_.end()) {
    return;
  }
  for (auto left = found - waiting_starts_.begin() + 1; left > 0; --left) {
    BeginNextStart();
  }
}

void Supervisor::BeginAllStarts() {
  for (auto& [request_id, start] : std::exchange(waiting_starts_, {})) {
    BeginStart(request_id, std::move(start));
  }
}

void Supervisor::BeginStart(uint64_t request_id, wire::StartExecution start) {
  if (state_ != State::kReady) {
    Reply(request_id, MakeFailure(wire::Reply::SANDBOX_NOT_READY,
                                  "the sandbox is not ready"));
    return;
  }
  const absl::Status user =
      CheckUser(start.command().user_id(), groups_.first_id());
  if (!user.ok()) {
    Reply(request_id, user);
    return;
  }
  const bool report_answers = start.report_answers() != 0;
  commands_.Start(std::move(start), [this, request_id, report_answers](
                                        const absl::Status& status) {
    if (!waiting_starts_.empty()) {
      // Deferred: a command is on the stack.
      loop_->Defer([this] { BeginWaitingStarts(); });
    }
    if (!status.ok() || !report_answers) {
      Reply(request_id, status);
    }
  });
}

void Supervisor::Signal(uint64_t request_id, const wire::Signal& signal) {
  With(request_id, signal.execution_id(),
       [&](auto& command) { Reply(request_id, command.Signal(signal)); });
}

void Supervisor::Resize(uint64_t request_id, const wire::Resize& resize) {
  With(request_id, resize.execution_id(), [&](auto& command) {
    Reply(request_id, command.Resize(resize.rows(), resize.columns()));
  });
}

void Supervisor::WriteInput(uint64_t request_id,
                            const wire::WriteInput& input) {
  With(request_id, input.execution_id(), [&](auto& command) {
    command.WriteInput(input,
                       [this, request_id](const absl::Status& status,
                                          const wire::InputState& state) {
                         ReplyInput(request_id, status, state);
                       });
  });
}

void Supervisor::Acknowledge(const wire::Acknowledge& acknowledge) {
  const absl::StatusOr<CommandTable::Found> found =
      commands_.Find(acknowledge.execution_id());
  if (found.ok()) {
    std::visit(
        [&](auto* command) {
          command->Acknowledge(acknowledge.stream(), acknowledge.offset());
        },
        *found);
  }
}

void Supervisor::DeleteExecution(uint64_t request_id, const std::string& id) {
  commands_.Delete(id, [this, request_id](const absl::Status& status) {
    Reply(request_id, status);
  });
}

void Supervisor::OnState(const wire::ExecutionRecord& record) {
  wire::FromSupervisor message;
  *message.mutable_execution() = record;
  control_.Send(std::move(message));
  if (record.state() != wire::ExecutionRecord::RUNNING) {
    commands_.OnEnd(record.id());
    ForgetCodeLater();
    loop_->Defer([this] { TryEnd(); });
  }
}

}  // namespace sandbox

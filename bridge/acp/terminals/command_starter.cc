#include "bridge/acp/terminals/command_starter.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/sessions/session_sandbox.h"
#include "bridge/acp/terminals/command_line.h"
#include "bridge/acp/terminals/errors.h"
#include "bridge/client/request_id.h"
#include "google/protobuf/util/time_util.h"

namespace bridge {
namespace {

using corral::v1::Command;
using corral::v1::Execution;
using google::protobuf::util::TimeUtil;

// How much output the server keeps, so that the stream can be resumed after a
// break. The limit counts characters after decoding; one invalid byte becomes
// three, a valid byte stays one.
uint64_t RetainBytes(size_t output_byte_limit) {
  constexpr uint64_t kMargin = 1 << 20;
  constexpr uint64_t kMost = 64 << 20;
  return std::min<uint64_t>(output_byte_limit * 4 + kMargin, kMost);
}

Command ToCommand(const CreateTerminalParams& params,
                  const std::string& directory, absl::Duration timeout) {
  Command command;
  for (const std::string& argument : ToArgv(params.command, params.arguments)) {
    command.add_argv(argument);
  }
  for (const auto& [name, value] : params.environment) {
    corral::v1::EnvironmentVariable* variable = command.add_environment();
    variable->set_name(name);
    variable->set_value(value);
  }
  command.set_working_directory(directory);
  command.set_merge_stderr(true);
  if (timeout != absl::InfiniteDuration()) {
    *command.mutable_wall_timeout() =
        TimeUtil::NanosecondsToDuration(absl::ToInt64Nanoseconds(timeout));
  }
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::DROP_OLDEST);
  command.mutable_output()->set_retain_bytes(
      RetainBytes(params.output_byte_limit));
  return command;
}

// Whether the sandbox takes no executions any more, or is gone.
bool IsSandboxGone(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
}

}  // namespace

struct CommandStarter::Attempt {
  corral::v1::StartExecutionRequest request;
  std::string program;
  std::shared_ptr<SessionSandbox> sandbox;
  bool may_replace_sandbox = true;
  Done done;
};

void CommandStarter::Start(const CreateTerminalParams& params, Done done) {
  const absl::StatusOr<Workplaces::Workplace> workplace =
      workplaces_->Find(params.session_id, params.cwd);
  if (!workplace.ok()) {
    done({"", absl::IsNotFound(workplace.status())
                  ? UnknownSession(params.session_id)
                  : FromStatus(workplace.status())});
    return;
  }
  auto attempt = std::make_shared<Attempt>();
  *attempt->request.mutable_command() =
      ToCommand(params, workplace->directory, command_timeout_);
  attempt->request.set_request_id(client::NewRequestId());
  attempt->request.set_execution_id(absl::StrCat("t", next_execution_++));
  attempt->program = attempt->request.command().argv(0);
  attempt->sandbox = workplace->sandbox;
  attempt->done = std::move(done);
  Enter(attempt);
}

void CommandStarter::Enter(const std::shared_ptr<Attempt>& attempt) {
  attempt->sandbox->WhenReady(
      [this, attempt](const absl::StatusOr<std::string>& name) {
        if (!name.ok()) {
          attempt->done({"", FromStatus(name.status())});
          return;
        }
        attempt->request.set_parent(*name);
        calls_->StartExecution(
            attempt->request,
            [this, attempt](const auto& answer) { OnAnswer(attempt, answer); });
      });
}

void CommandStarter::OnAnswer(const std::shared_ptr<Attempt>& attempt,
                              const absl::StatusOr<Execution>& answer) {
  if (!answer.ok() && IsSandboxGone(answer.status()) &&
      std::exchange(attempt->may_replace_sandbox, false)) {
    attempt->sandbox->GiveUp(attempt->request.parent());
    Enter(attempt);
    return;
  }
  if (!answer.ok()) {
    if (IsUncertain(answer.status())) {
      deletions_->DeleteExecution(
          absl::StrCat(attempt->request.parent(), "/executions/",
                       attempt->request.execution_id()));
    }
    attempt->done({"", FromStatus(answer.status())});
    return;
  }
  if (answer->state() == Execution::FAILED_TO_START) {
    deletions_->DeleteExecution(answer->name());
    attempt->done({"", StartFailed(attempt->program, answer->start_failure())});
    return;
  }
  attempt->done({answer->name(), std::nullopt});
}

}  // namespace bridge

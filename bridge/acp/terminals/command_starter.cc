#include "bridge/acp/terminals/command_starter.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/sessions/path_map.h"
#include "bridge/acp/sessions/session_sandbox.h"
#include "bridge/acp/terminals/command_line.h"
#include "bridge/acp/terminals/errors.h"
#include "bridge/acp/terminals/shell_fallback.h"
#include "bridge/client/request_id.h"
#include "google/protobuf/util/time_util.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using corral::v1::Command;
using corral::v1::Execution;
using google::protobuf::util::TimeUtil;

// The output that the server keeps, so that a broken stream can be resumed. The
// limit counts bytes after decoding, where an invalid byte becomes three.
uint64_t RetainBytes(size_t output_byte_limit) {
  constexpr uint64_t kMargin = 1 << 20;
  return output_byte_limit * 4 + kMargin;
}

void SetTimeout(absl::Duration timeout, google::protobuf::Duration* field) {
  *field = TimeUtil::NanosecondsToDuration(absl::ToInt64Nanoseconds(timeout));
}

// Replaces paths also inside of arguments and variables: agents write the
// session's directory into scripts.
void ReplacePaths(const PathMap& map, GatedCommand& command) {
  if (map.empty()) {
    return;
  }
  for (std::string& argument : command.argv) {
    argument = map.ReplaceIn(argument);
  }
  for (auto& [name, value] : command.environment) {
    value = map.ReplaceIn(value);
  }
}

void SetArgv(const GatedCommand& gated, Command& command) {
  command.clear_argv();
  for (const std::string& argument : gated.argv) {
    command.add_argv(argument);
  }
}

bool MayReplaceShell(const corral::v1::StartFailure& failure) {
  return failure.stage() == corral::v1::StartFailure::EXEC &&
         failure.errno_value() == ENOENT;
}

// Returns false if nothing is left to try.
bool UseFallback(std::vector<std::string>& argv) {
  std::optional<std::vector<std::string>> fallback = ShellFallback(argv);
  if (!fallback.has_value()) {
    return false;
  }
  argv = *std::move(fallback);
  return true;
}

void AddVariable(const std::string& name, const std::string& value,
                 Command& command) {
  corral::v1::EnvironmentVariable* variable = command.add_environment();
  variable->set_name(name);
  variable->set_value(value);
}

// Nobody can press a key in a pager, or answer a question.
void AddDefaults(const GatedCommand& gated, Command& command) {
  for (const auto& [name, value] :
       {std::pair{"PAGER", "cat"}, std::pair{"GIT_PAGER", "cat"},
        std::pair{"GIT_TERMINAL_PROMPT", "0"}}) {
    const bool is_given = std::any_of(
        gated.environment.begin(), gated.environment.end(),
        [name = name](const auto& given) { return given.first == name; });
    if (!is_given) {
      AddVariable(name, value, command);
    }
  }
}

Command ToCommand(const GatedCommand& gated, size_t output_byte_limit) {
  Command command;
  SetArgv(gated, command);
  for (const auto& [name, value] : gated.environment) {
    AddVariable(name, value, command);
  }
  AddDefaults(gated, command);
  command.set_working_directory(gated.directory);
  command.set_merge_stderr(true);
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::DROP_OLDEST);
  command.mutable_output()->set_retain_bytes(RetainBytes(output_byte_limit));
  return command;
}

void Limit(const CommandLimits& limits, const Gate::Verdict& verdict,
           Command& command) {
  const absl::Duration timeout = std::min(limits.timeout, verdict.timeout);
  if (timeout != absl::InfiniteDuration()) {
    SetTimeout(timeout, command.mutable_wall_timeout());
  }
  const absl::Duration cpu_timeout =
      std::min(limits.cpu_timeout, verdict.cpu_timeout);
  if (cpu_timeout != absl::InfiniteDuration()) {
    SetTimeout(cpu_timeout, command.mutable_cpu_timeout());
  }
}

// Returns true if the sandbox has ended or does not exist any more.
bool IsSandboxGone(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
}

}  // namespace

struct CommandStarter::Attempt {
  GatedCommand command;
  corral::v1::RunExecutionRequest request;
  std::shared_ptr<SessionSandbox> sandbox;
  uint64_t question = 0;  // to the user; 0: none
  bool may_replace_sandbox = true;
  Done done;
};

CommandStarter::Handle CommandStarter::Start(const CreateTerminalParams& params,
                                             Done done) {
  const absl::StatusOr<Workplaces::Workplace> workplace =
      workplaces_->Find(params.session_id, params.cwd);
  if (!workplace.ok()) {
    done({{},
          "",
          absl::IsNotFound(workplace.status())
              ? UnknownSession(params.session_id)
              : FromStatus(workplace.status())});
    return {};
  }
  auto attempt = std::make_shared<Attempt>();
  attempt->command = {params.session_id,
                      ToArgv(params.command, params.arguments),
                      params.environment, workplace->directory};
  ReplacePaths(workplaces_->map(), attempt->command);
  *attempt->request.mutable_command() =
      ToCommand(attempt->command, params.output_byte_limit);
  attempt->sandbox = workplace->sandbox;
  attempt->done = std::move(done);
  attempt->question = gate_->Decide(
      attempt->command,
      [this, attempt](const auto& verdict) { OnVerdict(attempt, verdict); });
  return attempt;
}

void CommandStarter::Abandon(const Handle& handle) {
  if (const auto attempt = handle.lock(); attempt != nullptr) {
    gate_->Withdraw(attempt->question);
  }
}

void CommandStarter::OnVerdict(const std::shared_ptr<Attempt>& attempt,
                               const Gate::Verdict& verdict) {
  if (!verdict.allowed) {
    attempt->done({attempt->command, "", std::nullopt, verdict.reason});
    return;
  }
  Limit(limits_, verdict, *attempt->request.mutable_command());
  if (verdict.sandbox.has_value()) {
    auto sandbox = workplaces_->SandboxOfRule(attempt->command.session_id,
                                              verdict.rule, *verdict.sandbox);
    // A closed session has none; its own sandbox then refuses the command.
    if (sandbox != nullptr) {
      attempt->sandbox = std::move(sandbox);
    }
  }
  Identify(*attempt);
  Enter(attempt);
}

void CommandStarter::Identify(Attempt& attempt) {
  attempt.request.set_request_id(client::NewRequestId());
  attempt.request.set_execution_id(absl::StrCat("t", next_execution_++));
}

void CommandStarter::Enter(const std::shared_ptr<Attempt>& attempt) {
  attempt->sandbox->WhenReady([this, attempt](
                                  const absl::StatusOr<std::string>& name) {
    if (!name.ok()) {
      attempt->done({attempt->command, "", FromStatus(name.status())});
      return;
    }
    attempt->request.set_parent(*name);
    calls_->RunExecution(attempt->request, [this, attempt](const auto& answer) {
      OnAnswer(attempt, answer);
    });
  });
}

void CommandStarter::OnAnswer(
    const std::shared_ptr<Attempt>& attempt,
    const absl::StatusOr<std::shared_ptr<CommandStream>>& answer) {
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
    attempt->done({attempt->command, "", FromStatus(answer.status())});
    return;
  }
  const Execution& started = (*answer)->started();
  if (started.state() == Execution::FAILED_TO_START) {
    deletions_->DeleteExecution(started.name());
    if (MayReplaceShell(started.start_failure()) &&
        UseFallback(attempt->command.argv)) {
      LOG(INFO) << "the server has no such shell: "
                << attempt->request.command().argv(0);
      SetArgv(attempt->command, *attempt->request.mutable_command());
      Identify(*attempt);
      Enter(attempt);
      return;
    }
    attempt->done(
        {attempt->command, "",
         StartFailed(attempt->command.argv.front(), started.start_failure())});
    return;
  }
  attempt->done({attempt->command, started.name(), std::nullopt, "", *answer});
}

}  // namespace bridge

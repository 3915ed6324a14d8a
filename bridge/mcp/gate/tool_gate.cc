#include "bridge/mcp/gate/tool_gate.h"

#include "absl/status/status.h"
#include "bridge/gate/shell_line.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

std::string TextOf(const OrderedJson& arguments, const char* name) {
  if (!arguments.is_object()) {
    return "";
  }
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_string()
             ? found->get<std::string>()
             : "";
}

}  // namespace

ToolGate::ToolGate(GateRules rules, AuditLog audit, const std::string& shell)
    : rules_(std::move(rules)),
      shell_(shell),
      line_shell_(IsShell(shell) ? shell : "sh"),
      audit_(std::move(audit)) {}

std::optional<ToolGate::Case> ToolGate::Judge(
    const std::string& tool, const OrderedJson& arguments) const {
  Case judged;
  if (tool == "run") {
    judged.command.argv = {line_shell_, "-c", TextOf(arguments, "command")};
  } else if (tool == "type" || tool == "sendKey") {
    judged.command.argv = {shell_};
    judged.types = true;
  } else if (tool == "createSession" && !TextOf(arguments, "shell").empty()) {
    judged.command.argv = {TextOf(arguments, "shell")};
  } else {
    return std::nullopt;
  }
  judged.command.session_id = TextOf(arguments, "sessionId");
  judged.ruling = rules_.Rule(judged.command);
  return judged;
}

bool ToolGate::Record(const Case& decided, bool allowed,
                      const std::string& by) {
  MutexLock lock(&mutex_);
  const absl::Status written = audit_.WriteDecision(
      {decided.command.session_id, decided.command.argv,
       decided.command.directory,
       corral::config::v1::GateDecision_Name(decided.ruling.decision), allowed,
       by});
  if (!written.ok()) {
    LOG(ERROR) << written;
  }
  return written.ok();
}

void ToolGate::RecordEnd(const Case& ended, const OrderedJson& result,
                         const std::string& execution) {
  corral::v1::Execution report;
  const auto code = result.find("exitCode");
  const bool known = code != result.end() && code->is_number_integer();
  if (known) {
    report.mutable_exit()->set_code(code->get<int>());
    report.mutable_exit()->set_cause(corral::v1::ExitStatus::NORMAL);
  }
  MutexLock lock(&mutex_);
  const absl::Status written =
      audit_.WriteEnd({ended.command.session_id, ended.command.argv,
                       ended.command.directory, execution},
                      known ? &report : nullptr);
  if (!written.ok()) {
    LOG(ERROR) << written;
  }
}

}  // namespace bridge

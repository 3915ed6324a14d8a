#include "bridge/acp/gate/gate.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bridge/acp/requests/permission.h"
#include "bridge/gate/shell_line.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/request.h"

namespace bridge {
namespace {

// The user sees this of a command: the line of a shell, or the words.
std::string Title(const GatedCommand& command) {
  return ShellLine(command.argv).value_or(absl::StrJoin(command.argv, " "));
}

std::string Key(const GatedCommand& command) {
  // NUL separates the parts, since no argument of a command has a NUL byte.
  return absl::StrCat(command.directory, std::string(1, '\0'),
                      absl::StrJoin(command.argv, std::string(1, '\0')));
}

std::string CardId(uint64_t question) {
  return absl::StrCat("corral-gate-", question);
}

}  // namespace

Gate::Gate(GateRules rules, OwnRequests* requests, AuditLog* audit,
           Send to_client)
    : rules_(std::move(rules)),
      requests_(requests),
      audit_(audit),
      to_client_(std::move(to_client)) {}

uint64_t Gate::Decide(const GatedCommand& command, Done done) {
  const Ruling ruling = rules_.Rule(command);
  switch (ruling.decision) {
    case corral::config::v1::ASK:
      break;
    case corral::config::v1::ALLOW:
      done(Decided(command, ruling, true, ruling.by, ""));
      return 0;
    default:
      done(Decided(command, ruling, false, ruling.by,
                   ruling.reason.empty() ? "a rule of the user forbids it"
                                         : ruling.reason));
      return 0;
  }
  const auto& known = remembered_[command.session_id];
  if (const auto found = known.find(Key(command)); found != known.end()) {
    const bool allowed = found->second == Remembered::kAllowed;
    done(Decided(command, ruling, allowed, "user, for the session",
                 "the user does not allow it"));
    return 0;
  }
  return Ask(command, ruling, std::move(done));
}

uint64_t Gate::Ask(const GatedCommand& command, const Ruling& ruling,
                   Done done) {
  const uint64_t number = next_question_++;
  Json input = {{"command", command.argv}, {"cwd", command.directory}};
  if (!ruling.reason.empty()) {
    input["reason"] = ruling.reason;
  }
  const Json params = {
      {"sessionId", command.session_id},
      {"toolCall",
       {{"toolCallId", CardId(number)},
        {"title", Title(command)},
        {"kind", "execute"},
        {"status", "pending"},
        {"rawInput", std::move(input)}}},
      {"options",
       {PermissionOption("allow_once", "Run it"),
        PermissionOption("allow_always", "Run it, also later in this session"),
        PermissionOption("reject_once", "Do not run it"),
        PermissionOption("reject_always", "Never run it in this session")}}};
  Question& question = questions_[number];
  question.command = command;
  question.ruling = ruling;
  question.done = std::move(done);
  question.request_id = requests_->Request(
      "session/request_permission", params,
      [this, number](const Message& response) { OnAnswer(number, response); });
  return number;
}

void Gate::OnAnswer(uint64_t number, const Message& response) {
  auto node = questions_.extract(number);
  if (node.empty()) {
    return;
  }
  Question& question = node.mapped();
  const std::string option = SelectedOption(response);
  const bool allowed = absl::StartsWith(option, "allow_");
  if (option == "allow_always" || option == "reject_always") {
    remembered_[question.command.session_id][Key(question.command)] =
        allowed ? Remembered::kAllowed : Remembered::kRejected;
  }
  const Verdict verdict =
      Decided(question.command, question.ruling, allowed,
              option.empty() ? AuditLog::kNoAnswer : "user",
              option.empty() ? "the user did not answer"
                             : "the user does not allow it");
  EndCard(number, question, verdict.allowed);
  question.done(verdict);
}

void Gate::EndCard(uint64_t number, const Question& question, bool allowed) {
  to_client_(NotificationLine(
      "session/update", {{"sessionId", question.command.session_id},
                         {"update",
                          {{"sessionUpdate", "tool_call_update"},
                           {"toolCallId", CardId(number)},
                           {"status", allowed ? "completed" : "failed"}}}}));
}

void Gate::Withdraw(uint64_t question) {
  if (const auto node = questions_.extract(question); !node.empty()) {
    const Question& withdrawn = node.mapped();
    Decided(withdrawn.command, withdrawn.ruling, false, AuditLog::kNoAnswer,
            "");
    requests_->Cancel(withdrawn.request_id);
    EndCard(question, withdrawn, false);
  }
}

void Gate::CloseSession(const std::string& session_id) {
  remembered_.erase(session_id);
}

Gate::Verdict Gate::Decided(const GatedCommand& command, const Ruling& ruling,
                            bool allowed, const std::string& by,
                            const std::string& reason) {
  Verdict verdict = {allowed,        allowed ? "" : reason, by,
                     ruling.timeout, ruling.cpu_timeout,    ruling.by,
                     ruling.sandbox};
  const absl::Status written = audit_->WriteDecision(
      {command.session_id, command.argv, command.directory,
       corral::config::v1::GateDecision_Name(ruling.decision), allowed, by});
  if (!written.ok()) {
    verdict.allowed = false;
    verdict.reason = static_cast<std::string>(written.message());
  }
  return verdict;
}

}  // namespace bridge

#include "bridge/acp/hosts/host_questions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/acp/hosts/plain_name.h"
#include "bridge/acp/requests/permission.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/request.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

constexpr char kAllow[] = "allow_always";
constexpr char kRefuse[] = "reject_always";

Json Params(const std::string& session_id, const std::string& card_id,
            const std::string& host) {
  return {{"sessionId", session_id},
          {"toolCall",
           {{"toolCallId", card_id},
            {"title", absl::StrCat("Reach the host ", TitleOfName(host))},
            {"kind", "fetch"},
            {"status", "pending"},
            {"rawInput", {{"host", host}, {"ports", {80, 443}}}}}},
          {"options",
           {PermissionOption(kAllow, "Allow this host in this session"),
            PermissionOption(kRefuse, "Refuse this host in this session")}}};
}

}  // namespace

HostQuestions::HostQuestions(HostCalls* calls, OwnRequests* requests,
                             AuditLog* audit, Send to_client)
    : calls_(calls),
      requests_(requests),
      audit_(audit),
      to_client_(std::move(to_client)) {}

void HostQuestions::OnRefused(const std::string& session_id,
                              const std::string& sandbox,
                              absl::string_view name) {
  const std::optional<std::string> host = PlainName(name);
  if (!host.has_value()) {
    return;
  }
  Session& session = sessions_[session_id];
  if (const auto known = session.answers.find(*host);
      known != session.answers.end()) {
    if (known->second == Answer::kAllowed) {
      // The sandbox is another one than that of the question, or the server
      // refused the rule.
      Allow(session_id, {sandbox, *host}, "");
    }
    return;
  }
  const bool waits = std::any_of(
      session.waiting.begin(), session.waiting.end(),
      [&host](const Question& question) { return question.host == *host; });
  if (waits || session.waiting.size() == kMaxWaiting ||
      session.answers.size() + session.waiting.size() >= kMaxAnswers) {
    return;
  }
  session.waiting.push_back({sandbox, *host});
  if (session.waiting.size() == 1) {
    AskNext(session_id);
  }
}

void HostQuestions::AskNext(const std::string& session_id) {
  Session& session = sessions_[session_id];
  if (session.waiting.empty()) {
    return;
  }
  session.card_id = absl::StrCat("corral-host-", next_card_++);
  session.request_id = requests_->Request(
      "session/request_permission",
      Params(session_id, session.card_id, session.waiting.front().host),
      [this, session_id](const Message& response) {
        OnAnswer(session_id, response);
      });
}

void HostQuestions::OnAnswer(const std::string& session_id,
                             const Message& response) {
  Session& session = sessions_[session_id];
  const Question question = std::move(session.waiting.front());
  session.waiting.pop_front();
  const std::string option = SelectedOption(response);
  const bool decided = option == kAllow || option == kRefuse;
  const absl::Status written = audit_->WriteHost(
      {session_id, question.sandbox, question.host, option == kAllow,
       decided ? "user" : AuditLog::kNoAnswer});
  const bool allowed = option == kAllow && written.ok();
  if (allowed) {
    session.answers[question.host] = Answer::kAllowed;
    Allow(session_id, question, session.card_id);
  } else {
    // A client that answers with an error would do so again.
    if (decided || response.result().empty()) {
      session.answers[question.host] = Answer::kRefused;
    }
    EndCard(session_id, session.card_id, false,
            static_cast<std::string>(written.message()));
  }
  AskNext(session_id);
}

void HostQuestions::Allow(const std::string& session_id,
                          const Question& question,
                          const std::string& card_id) {
  corral::v1::AllowHostsRequest request;
  request.set_name(question.sandbox);
  request.add_egress_rules()->set_host(question.host);
  calls_->allow(request, [this, session_id, host = question.host, card_id](
                             const absl::StatusOr<corral::v1::Sandbox>& done) {
    if (!done.ok()) {
      LOG(WARNING) << "the host " << host
                   << " was not allowed: " << done.status();
    }
    if (!card_id.empty() && sessions_.count(session_id) > 0) {
      EndCard(session_id, card_id, done.ok(),
              static_cast<std::string>(done.status().message()));
    }
  });
}

void HostQuestions::Cancel(const std::string& session_id) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end() || found->second.waiting.empty()) {
    return;
  }
  const Question& asked = found->second.waiting.front();
  // An error changes nothing: the host stays refused.
  audit_
      ->WriteHost(
          {session_id, asked.sandbox, asked.host, false, AuditLog::kNoAnswer})
      .IgnoreError();
  found->second.waiting.clear();
  requests_->Cancel(found->second.request_id);
  EndCard(session_id, found->second.card_id, false, "");
}

void HostQuestions::CloseSession(const std::string& session_id) {
  Cancel(session_id);
  sessions_.erase(session_id);
}

void HostQuestions::EndCard(const std::string& session_id,
                            const std::string& card_id, bool allowed,
                            const std::string& why) {
  Json update = {{"sessionUpdate", "tool_call_update"},
                 {"toolCallId", card_id},
                 {"status", allowed ? "completed" : "failed"}};
  if (!why.empty()) {
    update["content"] =
        Json::array({{{"type", "content"},
                      {"content", {{"type", "text"}, {"text", why}}}}});
  }
  to_client_(NotificationLine(
      "session/update",
      {{"sessionId", session_id}, {"update", std::move(update)}}));
}

}  // namespace bridge

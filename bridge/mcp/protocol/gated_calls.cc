// Calls of McpServer that the rules decide about.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/shell_line.h"
#include "bridge/mcp/protocol/mcp_server.h"
#include "bridge/mcp/protocol/replies.h"

namespace bridge {
namespace {

using sandbox::MutexLock;

// Returns the question as the user reads it.
std::string QuestionOf(const ToolGate::Case& gated) {
  const std::vector<std::string>& argv = gated.command.argv;
  const std::string why = gated.ruling.reason.empty()
                              ? ""
                              : absl::StrCat("\n(", gated.ruling.reason, ")");
  if (gated.types) {
    return absl::StrCat("May the agent type into ", argv.front(),
                        " in the sandbox? It can then run any command there.",
                        why);
  }
  const std::string line = ShellLine(argv).value_or(absl::StrJoin(argv, " "));
  return absl::StrCat("May the agent run this in the sandbox?\n\n", line, why);
}

}  // namespace

void McpServer::Ask(const Call& call, const OrderedJson& params) {
  const Request& request = call.request;
  const bool stateless = request.meta.era == Era::kStateless;
  bool known = false;
  {
    MutexLock lock(&mutex_);
    known = remembered_.count(call.gated->command.argv) > 0;
  }
  if (known) {
    Settle(call, true, "user, for the session", "");
    return;
  }
  if (!(stateless ? request.meta.can_ask : can_ask_)) {
    Settle(call, false, "no way to ask",
           "the user wants to be asked, and this MCP client cannot ask (it has "
           "no elicitation)");
    return;
  }
  const std::string text = QuestionOf(*call.gated);
  if (!stateless) {
    AskInSession(call, text);
    return;
  }
  const std::string key =
      absl::StrCat(call.tool, " ", SerializeOrdered(call.arguments));
  const std::optional<Approvals::Answer> answer =
      approvals_.Redeem(params, key);
  if (answer.has_value()) {
    OnAnswer(call, *answer);
  } else {
    Reply(request.id, request.meta, request.channel.get(),
          approvals_.Demand(text, key), "input_required");
  }
}

void McpServer::AskInSession(const Call& call, const std::string& text) {
  const auto answer =
      std::make_shared<Approvals::Answer>(Approvals::Answer::kNone);
  Waits::Callbacks callbacks =
      CallbacksOf(call.request.channel, call.request.meta.progress_token);
  callbacks.done = [this, call, answer](const ToolResult&) {
    OnAnswer(call, *answer);
  };
  callbacks.cancelled = [this, call] {
    gate_->Record(*call.gated, false, AuditLog::kNoAnswer);
  };
  const Waiting wait = [this, text, channel = call.request.channel,
                        answer](const std::function<bool()>& is_cancelled) {
    *answer = approvals_.Ask(text, channel.get(), is_cancelled);
    return ToolResult();
  };
  if (!waits_.Start(CanonicalId(call.request.id), wait, std::move(callbacks))) {
    Settle(call, false, AuditLog::kNoAnswer, "too many calls wait already");
  }
}

void McpServer::OnAnswer(const Call& call, Approvals::Answer answer) {
  switch (answer) {
    case Approvals::Answer::kNone:
      Settle(call, false, AuditLog::kNoAnswer, "the user did not answer");
      return;
    case Approvals::Answer::kRejected:
      Settle(call, false, "user", "the user does not allow it");
      return;
    case Approvals::Answer::kAllowed:
    case Approvals::Answer::kAllowedForSession:
      break;
  }
  // A client that may type one character into a shell may type more.
  if (answer == Approvals::Answer::kAllowedForSession ||
      (call.gated->types && call.request.meta.era == Era::kSession)) {
    MutexLock lock(&mutex_);
    remembered_.insert(call.gated->command.argv);
  }
  Settle(call, true, "user", "");
}

void McpServer::Settle(const Call& call, bool allowed, const std::string& by,
                       const std::string& reason) {
  const bool written = gate_->Record(*call.gated, allowed, by);
  if (allowed && written) {
    Enqueue(call);
    return;
  }
  Reply(call.request.id, call.request.meta, call.request.channel.get(),
        ToJson(ToolResult::Failure(absl::StrCat(
            "Error: not run: ",
            allowed ? "the audit log cannot be written" : reason))));
}

void McpServer::Enqueue(const Call& call) {
  MutexLock lock(&mutex_);
  calls_.push_back(call);
  mutex_.Signal();
}

}  // namespace bridge

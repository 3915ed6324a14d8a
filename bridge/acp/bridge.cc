#include "bridge/acp/bridge.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/acp/initialize.h"
#include "bridge/acp/mcp_server.h"
#include "bridge/client/error_details.h"
#include "bridge/client/request_id.h"
#include "bridge/jsonrpc/members.h"
#include "bridge/jsonrpc/request.h"
#include "bridge/jsonrpc/response.h"
#include "sandbox/base/log.h"

namespace bridge {
namespace {

std::string TooLong() {
  return ErrorLine("null",
                   {ErrorCode::kInvalidRequest,
                    absl::StrCat("The message has more than ", kMaxLineBytes,
                                 " bytes, the limit of one line"),
                    nullptr});
}

std::string BatchRefused() {
  return ErrorLine("null", {ErrorCode::kInvalidRequest,
                            "JSON-RPC batches are not supported", nullptr});
}

// A notice to the user. It looks like a message of the agent, since ACP has no
// messages of a bridge.
std::string MessageOfAgent(const std::string& session_id, std::string text) {
  return NotificationLine(
      "session/update",
      {{"sessionId", session_id},
       {"update",
        {{"sessionUpdate", "agent_message_chunk"},
         {"content", {{"type", "text"}, {"text", std::move(text)}}}}}});
}

std::string CannotRun(const std::string& session_id,
                      const absl::Status& status) {
  return MessageOfAgent(
      session_id,
      absl::StrCat(
          "corral-acp: no command can run in this session: ",
          static_cast<std::string>(status.message()),
          absl::StartsWith(client::GetField(status), "sandbox.workspace")
              ? "; if the server has the files elsewhere, give corral-acp "
                "--map LOCAL=REMOTE or --workspace"
              : ""));
}

std::string NotSeen(const std::string& session_id,
                    const std::string& directory) {
  return MessageOfAgent(
      session_id,
      absl::StrCat("corral-acp: commands do not see the additional directory ",
                   directory));
}

// Random, so that no other sandbox of the server has it.
std::string NewSandboxId() {
  return absl::StrCat("acp-", client::NewRequestId());
}

std::string AmbiguousMethod() {
  return ErrorLine("null", {ErrorCode::kInvalidRequest,
                            "The message has more than one method", nullptr});
}

std::string NotJson(absl::string_view id) {
  return ErrorLine(id, {ErrorCode::kParseError, "Parse error", nullptr});
}

// Returns the text of a member of an object, empty if there is none.
absl::string_view MemberText(absl::string_view object, absl::string_view name) {
  const std::optional<std::vector<Member>> members = ScanObject(object);
  if (!members.has_value()) {
    return "";
  }
  return FindMember(*members, name).value_or("");
}

}  // namespace

Bridge::Bridge(PollLoop* loop, BridgeOptions options, Send to_client,
               Send to_agent, absl::AnyInvocable<bool()> client_has_room)
    : loop_(loop),
      preparation_(options.preparation),
      cancel_grace_(options.cancel_grace),
      mcp_server_(std::move(options.mcp_server)),
      to_client_(std::move(to_client)),
      to_agent_(std::move(to_agent)),
      audit_(std::move(options.audit)),
      calls_(loop, options.server),
      deletions_(&calls_),
      sessions_([this] { return mcp_server_.empty() ? "" : NewSandboxId(); }),
      workplaces_(&calls_, &deletions_, &sessions_, options.workplace,
                  [this](const std::string& session, const std::string& name) {
                    if (hosts_.has_value()) {
                      hosts_->Follow(session, name);
                    }
                  }),
      requests_([this](std::string line) { to_client_(std::move(line)); }),
      gate_(std::move(options.gate), &requests_, &audit_,
            [this](std::string line) { to_client_(std::move(line)); }),
      display_(
          loop, &requests_, std::move(options.display),
          [this](std::string line) { to_client_(std::move(line)); },
          std::move(client_has_room),
          [this](const std::string& id) { terminals_.Stop(id); }),
      starter_(&calls_, &deletions_, &workplaces_, &gate_, options.limits),
      terminals_(loop, &calls_, &deletions_, &starter_, &display_, &audit_,
                 options.signal_codes, options.terminal_idle_limit,
                 [this](std::string line) { to_agent_(std::move(line)); }) {
  if (!options.ask_hosts) {
    return;
  }
  hosts_.emplace(
      CallsOfHosts(), &requests_, &audit_,
      [this](std::string line) { to_client_(std::move(line)); },
      [this] { return CurrentSession(); });
  if (!options.workplace.agent_sandbox.empty()) {
    hosts_->Follow("", options.workplace.agent_sandbox);
  }
}

HostCalls Bridge::CallsOfHosts() {
  HostCalls calls;
  calls.list = [this](const auto& request, auto done) {
    calls_.ListNetworkEvents(request, std::move(done));
  };
  calls.allow = [this](const auto& request, auto done) {
    calls_.AllowHosts(request, std::move(done));
  };
  calls.after = [this](absl::Duration delay, auto action) {
    calls_.After(delay, std::move(action));
  };
  return calls;
}

std::string Bridge::CurrentSession() const {
  const std::string current = turns_.Current();
  return has_terminals_ && sessions_.Find(current) != nullptr ? current : "";
}

void Bridge::OnClientLine(std::string line) {
  const Message message = Message::Classify(line);
  switch (message.kind()) {
    case Message::Kind::kBatch:
      if (has_terminals_) {
        to_client_(BatchRefused());
        return;
      }
      break;
    case Message::Kind::kRequest:
      line = OnClientRequest(message, line);
      break;
    case Message::Kind::kResponse:
      if (requests_.OnResponse(message)) {
        return;
      }
      break;
    case Message::Kind::kNotification:
      if (message.method() == "session/cancel") {
        OnCancelledSession(
            StringMember(message.params(), "sessionId").value_or(""));
      }
      break;
    case Message::Kind::kBroken:
    case Message::Kind::kOther:
      break;
  }
  to_agent_(std::move(line));
}

std::string Bridge::OnClientRequest(const Message& request, std::string line) {
  if (const auto changed = sessions_.OnRequest(request)) {
    CloseSession(*changed);
  }
  turns_.OnClientRequest(request);
  if (request.method() != "initialize") {
    if (!mcp_server_.empty() && has_terminals_) {
      return OfferMcp(request, line);
    }
    return line;
  }
  initialize_id_ = CanonicalId(request.id());
  display_.OnInitialize(request.params());
  return EditInitialize(line);
}

std::string Bridge::OfferMcp(const Message& request, const std::string& line) {
  if (request.method() == "session/prompt") {
    // The turn may need the sandbox before any terminal/create, through
    // corral-mcp.
    workplaces_.Revive(
        StringMember(request.params(), "sessionId").value_or(""));
  }
  const std::string sandbox_id = sessions_.SandboxIdFor(request);
  return sandbox_id.empty() ? line
                            : AddMcpServer(line, mcp_server_, sandbox_id);
}

void Bridge::OnCancelledSession(const std::string& session_id) {
  if (hosts_.has_value()) {
    hosts_->CancelTurn(session_id);
  }
  loop_->After(cancel_grace_, [this, session_id,
                               prompts = turns_.Open(session_id),
                               alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired() && turns_.IsAnyOpen(prompts)) {
      LOG(WARNING) << "the agent did not answer session/cancel: the commands "
                      "of the session are ended";
      terminals_.StopSession(session_id);
    }
  });
}

void Bridge::OnAgentLine(std::string line) {
  if (!HandleAgentMessage(Message::Classify(line), line)) {
    to_client_(std::move(line));
  }
  PrepareOpenedSessions();
}

void Bridge::PrepareOpenedSessions() {
  for (const std::string& session_id : sessions_.TakeOpened()) {
    if (preparation_ != Preparation::kWithSession || !has_terminals_) {
      continue;
    }
    workplaces_.Prepare(
        session_id,
        [this, session_id](const absl::Status& status,
                           const std::vector<std::string>& missing) {
          for (const std::string& directory : missing) {
            to_client_(NotSeen(session_id, directory));
          }
          // A session that was closed meanwhile reports Cancelled.
          if (!status.ok() && !absl::IsCancelled(status)) {
            to_client_(CannotRun(session_id, status));
          }
        });
  }
}

bool Bridge::HandleAgentMessage(const Message& message,
                                const std::string& line) {
  if (has_terminals_ && message.MayMeanMethod("terminal/")) {
    to_agent_(AmbiguousMethod());
    return true;
  }
  const bool is_terminal =
      has_terminals_ && absl::StartsWith(message.method(), "terminal/");
  switch (message.kind()) {
    case Message::Kind::kRequest:
      if (is_terminal) {
        OnTerminalRequest(message, line);
      } else if (message.method() == "session/request_permission") {
        display_.OnPermissionRequest(message.params());
      }
      return is_terminal;
    case Message::Kind::kNotification:
      if (is_terminal) {
        LOG(WARNING) << "the agent sent " << message.method()
                     << " without an id; it was ignored";
        return true;
      }
      return HandleAgentNotification(message, line);
    case Message::Kind::kResponse:
      OnAgentResponse(message);
      return false;
    // A client that reads batches, or parses leniently, would run the
    // terminal/create of such a line on its own machine.
    case Message::Kind::kBatch:
      if (has_terminals_) {
        to_agent_(BatchRefused());
      }
      return has_terminals_;
    case Message::Kind::kBroken:
      if (has_terminals_) {
        to_agent_(NotJson("null"));
      }
      return has_terminals_;
    case Message::Kind::kOther:
      return false;
  }
  return false;
}

bool Bridge::HandleAgentNotification(const Message& message,
                                     const std::string& line) {
  if (message.method() == "$/cancel_request") {
    return terminals_.OnCancel(MemberText(message.params(), "requestId"));
  }
  return has_terminals_ && message.method() == "session/update" &&
         display_.OnUpdate(line, message.params());
}

void Bridge::OnTerminalRequest(const Message& request,
                               const std::string& line) {
  if (IsJson(line)) {
    terminals_.OnRequest(request);
  } else {
    // The id itself may be what is not JSON.
    to_agent_(NotJson(IsJson(request.id()) ? request.id() : "null"));
  }
}

void Bridge::OnAgentResponse(const Message& response) {
  if (initialize_id_.has_value() &&
      CanonicalId(response.id()) == initialize_id_) {
    initialize_id_.reset();
    const std::optional<Json> version =
        ParseJson(MemberText(response.result(), "protocolVersion"));
    has_terminals_ = !(version.has_value() && version->is_number() &&
                       version->get<double>() > 1);
  }
  if (const auto session_id = turns_.OnAgentResponse(response)) {
    display_.OnTurnEnd(*session_id);
  }
  if (const auto closed = sessions_.OnResponse(response)) {
    CloseSession(*closed);
  }
}

void Bridge::CloseSession(const std::string& session_id) {
  terminals_.CloseSession(session_id);
  display_.CloseSession(session_id);
  gate_.CloseSession(session_id);
  if (hosts_.has_value()) {
    hosts_->CloseSession(session_id);
  }
  workplaces_.Close(session_id);
}

void Bridge::OnLongClientLine() { to_client_(TooLong()); }

void Bridge::OnLongAgentLine() { to_agent_(TooLong()); }

void Bridge::Close() {
  if (hosts_.has_value()) {
    hosts_->Stop();
  }
  workplaces_.CloseAll();
  deletions_.Stop();
}

void Bridge::OnAgentEnd() {
  Close();
  workplaces_.CloseAgent();
}

}  // namespace bridge

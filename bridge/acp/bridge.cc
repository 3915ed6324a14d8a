#include "bridge/acp/bridge.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/initialize.h"
#include "bridge/jsonrpc/members.h"
#include "bridge/jsonrpc/response.h"

namespace bridge {
namespace {

std::string TooLong() {
  return ErrorLine("null",
                   {ErrorCode::kInvalidRequest,
                    absl::StrCat("The message has more than ", kMaxLineBytes,
                                 " bytes, the limit of one line"),
                    nullptr});
}

// The text of a member of an object; empty if there is none.
absl::string_view MemberText(absl::string_view object, absl::string_view name) {
  const std::optional<std::vector<Member>> members = ScanObject(object);
  if (!members.has_value()) {
    return "";
  }
  return FindMember(*members, name).value_or("");
}

}  // namespace

Bridge::Bridge(PollLoop* loop, BridgeOptions options, Send to_client,
               Send to_agent)
    : to_client_(std::move(to_client)),
      to_agent_(std::move(to_agent)),
      calls_(loop, std::move(options.server)),
      workplaces_(&calls_, &sessions_, std::move(options.workplace)),
      starter_(&calls_, &workplaces_, options.command_timeout),
      terminals_(loop, &calls_, &starter_,
                 [this](std::string line) { to_agent_(std::move(line)); }) {}

void Bridge::OnClientLine(std::string line) {
  const Message message = Message::Classify(line);
  if (message.kind() == Message::Kind::kRequest) {
    if (const auto changed = sessions_.OnRequest(message)) {
      CloseSession(*changed);
    }
    if (message.method() == "initialize") {
      initialize_id_ = CanonicalId(message.id());
      line = EditInitialize(line);
    }
  }
  to_agent_(std::move(line));
}

void Bridge::OnAgentLine(std::string line) {
  if (!TakeAgentMessage(Message::Classify(line), line)) {
    to_client_(std::move(line));
  }
}

bool Bridge::TakeAgentMessage(const Message& message, const std::string& line) {
  switch (message.kind()) {
    case Message::Kind::kRequest:
      if (!has_terminals_ || !absl::StartsWith(message.method(), "terminal/")) {
        return false;
      }
      OnTerminalRequest(message, line);
      return true;
    case Message::Kind::kNotification:
      return message.method() == "$/cancel_request" &&
             terminals_.OnCancel(MemberText(message.params(), "requestId"));
    case Message::Kind::kResponse:
      OnAgentResponse(message);
      return false;
    case Message::Kind::kOther:
      return false;
  }
  return false;
}

void Bridge::OnTerminalRequest(const Message& request,
                               const std::string& line) {
  if (!CanonicalId(request.id()).has_value()) {
    to_agent_(ErrorLine(
        "null", {ErrorCode::kInvalidRequest,
                 "The id must be a string, a number or null", nullptr}));
  } else if (!IsJson(line)) {
    // Never passed on: a client with a more lenient parser would run it.
    to_agent_(ErrorLine(request.id(),
                        {ErrorCode::kParseError, "Parse error", nullptr}));
  } else {
    terminals_.OnRequest(request);
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
  if (const auto closed = sessions_.OnResponse(response)) {
    CloseSession(*closed);
  }
}

void Bridge::CloseSession(const std::string& session_id) {
  terminals_.CloseSession(session_id);
  workplaces_.Close(session_id);
}

void Bridge::OnLongClientLine() { to_client_(TooLong()); }

void Bridge::OnLongAgentLine() { to_agent_(TooLong()); }

void Bridge::Close() { workplaces_.CloseAll(); }

}  // namespace bridge

#include "bridge/acp/bridge.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/acp/initialize.h"
#include "bridge/jsonrpc/members.h"
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
               Send to_agent)
    : to_client_(std::move(to_client)),
      to_agent_(std::move(to_agent)),
      calls_(loop, options.server),
      deletions_(&calls_),
      workplaces_(&calls_, &deletions_, &sessions_,
                  std::move(options.workplace)),
      starter_(&calls_, &deletions_, &workplaces_, options.command_timeout),
      terminals_(loop, &calls_, &deletions_, &starter_,
                 [this](std::string line) { to_agent_(std::move(line)); }) {}

void Bridge::OnClientLine(std::string line) {
  const Message message = Message::Classify(line);
  if (message.kind() == Message::Kind::kBatch && has_terminals_) {
    to_client_(BatchRefused());
    return;
  }
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
  if (!HandleAgentMessage(Message::Classify(line), line)) {
    to_client_(std::move(line));
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
      }
      return is_terminal;
    case Message::Kind::kNotification:
      if (is_terminal) {
        LOG(WARNING) << "the agent sent " << message.method()
                     << " without an id; it was ignored";
        return true;
      }
      return message.method() == "$/cancel_request" &&
             terminals_.OnCancel(MemberText(message.params(), "requestId"));
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

void Bridge::OnTerminalRequest(const Message& request,
                               const std::string& line) {
  if (IsJson(line)) {
    terminals_.OnRequest(request);
  } else {
    // The id itself may be broken.
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

void Bridge::Close() {
  workplaces_.CloseAll();
  deletions_.Stop();
}

}  // namespace bridge

#include "bridge/acp/sessions/sessions.h"

#include "absl/strings/match.h"

namespace bridge {

std::optional<std::string> Sessions::OnRequest(const Message& request) {
  const std::string& method = request.method();
  const std::optional<std::string> id = CanonicalId(request.id());
  if (!id.has_value() || !absl::StartsWith(method, "session/")) {
    return std::nullopt;
  }
  const std::string session_id =
      StringMember(request.params(), "sessionId").value_or("");
  const std::string cwd = StringMember(request.params(), "cwd").value_or("");
  if (method == "session/new" || method == "session/fork") {
    pending_[*id] = {Pending::Kind::kOpen, cwd, ""};
  } else if (method == "session/close" || method == "session/delete") {
    pending_[*id] = {Pending::Kind::kClose, "", session_id};
  } else if (method == "session/load" || method == "session/resume") {
    return Reopen(session_id, cwd);
  }
  return std::nullopt;
}

std::optional<std::string> Sessions::Reopen(const std::string& session_id,
                                            const std::string& cwd) {
  if (session_id.empty() || cwd.empty()) {
    return std::nullopt;
  }
  const std::optional<std::string> before = Cwd(session_id);
  Open(session_id, cwd);
  if (before.has_value() && before != cwd) {
    return session_id;
  }
  return std::nullopt;
}

std::optional<std::string> Sessions::OnResponse(const Message& response) {
  const std::optional<std::string> id = CanonicalId(response.id());
  if (!id.has_value()) {
    return std::nullopt;
  }
  const auto node = pending_.extract(*id);
  if (node.empty() || response.result().empty()) {
    return std::nullopt;
  }
  const Pending& pending = node.mapped();
  switch (pending.kind) {
    case Pending::Kind::kOpen:
      if (const auto session_id = StringMember(response.result(), "sessionId");
          session_id.has_value() && !pending.cwd.empty()) {
        Open(*session_id, pending.cwd);
      }
      return std::nullopt;
    case Pending::Kind::kClose:
      cwds_.erase(pending.session_id);
      return pending.session_id;
  }
  return std::nullopt;
}

std::optional<std::string> Sessions::Cwd(const std::string& session_id) const {
  const auto session = cwds_.find(session_id);
  if (session == cwds_.end()) {
    return std::nullopt;
  }
  return session->second;
}

}  // namespace bridge

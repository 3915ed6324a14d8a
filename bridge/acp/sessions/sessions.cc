#include "bridge/acp/sessions/sessions.h"

#include "absl/strings/match.h"

namespace bridge {

std::optional<std::string> Sessions::OnRequest(const Message& request) {
  const std::string& method = request.method();
  if (!absl::StartsWith(method, "session/")) {
    return std::nullopt;
  }
  const std::string id = CanonicalId(request.id());
  const std::string session_id =
      StringMember(request.params(), "sessionId").value_or("");
  const std::string cwd = StringMember(request.params(), "cwd").value_or("");
  if (method == "session/new" || method == "session/fork") {
    pending_[id] = {Pending::Kind::kOpen, cwd, ""};
  } else if (method == "session/close" || method == "session/delete") {
    pending_[id] = {Pending::Kind::kClose, "", session_id};
  } else if (method == "session/load" || method == "session/resume") {
    return Load(id, session_id, cwd);
  }
  return std::nullopt;
}

std::optional<std::string> Sessions::Load(const std::string& request_id,
                                          const std::string& session_id,
                                          const std::string& cwd) {
  if (session_id.empty()) {
    return std::nullopt;
  }
  const std::optional<std::string> before = Cwd(session_id);
  if (!before.has_value()) {
    pending_[request_id] = {Pending::Kind::kLoad, "", session_id};
  }
  if (before.has_value() && cwd.empty()) {
    return std::nullopt;
  }
  Open(session_id, cwd);
  if (before.has_value() && before != cwd) {
    return session_id;
  }
  return std::nullopt;
}

std::optional<std::string> Sessions::OnResponse(const Message& response) {
  const auto node = pending_.extract(CanonicalId(response.id()));
  if (node.empty()) {
    return std::nullopt;
  }
  const Pending& pending = node.mapped();
  const bool succeeded = !response.result().empty();
  switch (pending.kind) {
    case Pending::Kind::kOpen:
      if (const auto session_id = StringMember(response.result(), "sessionId");
          succeeded && session_id.has_value()) {
        Open(*session_id, pending.cwd);
        opened_.push_back(*session_id);
      }
      return std::nullopt;
    case Pending::Kind::kLoad:
      if (succeeded) {
        opened_.push_back(pending.session_id);
        return std::nullopt;
      }
      break;
    case Pending::Kind::kClose:
      if (!succeeded) {
        return std::nullopt;
      }
      break;
  }
  cwds_.erase(pending.session_id);
  return pending.session_id;
}

std::optional<std::string> Sessions::Cwd(const std::string& session_id) const {
  const auto session = cwds_.find(session_id);
  if (session == cwds_.end()) {
    return std::nullopt;
  }
  return session->second;
}

}  // namespace bridge

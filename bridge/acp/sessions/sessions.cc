#include "bridge/acp/sessions/sessions.h"

#include "absl/strings/string_view.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/members.h"

namespace bridge {
namespace {

Sessions::Session ParseSession(absl::string_view params) {
  Sessions::Session session;
  session.cwd = StringMember(params, "cwd").value_or("");
  const std::optional<std::vector<Member>> members = ScanObject(params);
  const auto directories =
      ScanArray(members.has_value()
                    ? FindMember(*members, "additionalDirectories").value_or("")
                    : "");
  if (directories.has_value()) {
    for (const absl::string_view text : *directories) {
      if (const std::optional<Json> path = ParseJson(text);
          path.has_value() && path->is_string()) {
        session.additional_directories.push_back(path->get<std::string>());
      }
    }
  }
  return session;
}

bool HasSameDirectories(const Sessions::Session& a,
                        const Sessions::Session& b) {
  return a.cwd == b.cwd && a.additional_directories == b.additional_directories;
}

}  // namespace

std::optional<std::string> Sessions::OnRequest(const Message& request) {
  const std::string& method = request.method();
  const std::string id = CanonicalId(request.id());
  const std::string session_id =
      StringMember(request.params(), "sessionId").value_or("");
  if (method == "session/new" || method == "session/fork") {
    Session session = ParseSession(request.params());
    session.sandbox_id = make_sandbox_id_();
    pending_[id] = {Pending::Kind::kOpen, std::move(session), ""};
  } else if (method == "session/close" || method == "session/delete") {
    pending_[id] = {Pending::Kind::kClose, {}, session_id};
  } else if (method == "session/load" || method == "session/resume") {
    return Load(id, session_id, ParseSession(request.params()));
  }
  return std::nullopt;
}

std::optional<std::string> Sessions::Load(const std::string& request_id,
                                          const std::string& session_id,
                                          Session session) {
  if (session_id.empty()) {
    return std::nullopt;
  }
  const Session* const before = Find(session_id);
  if (before == nullptr) {
    pending_[request_id] = {Pending::Kind::kLoad, {}, session_id};
  }
  if (before != nullptr &&
      (session.cwd.empty() || HasSameDirectories(*before, session))) {
    return std::nullopt;
  }
  const bool existed = before != nullptr;
  session.sandbox_id = make_sandbox_id_();
  Open(session_id, std::move(session));
  return existed ? std::optional(session_id) : std::nullopt;
}

std::string Sessions::SandboxIdFor(const Message& request) const {
  const std::string& method = request.method();
  if (method == "session/new" || method == "session/fork") {
    const auto pending = pending_.find(CanonicalId(request.id()));
    return pending == pending_.end() ? "" : pending->second.session.sandbox_id;
  }
  if (method == "session/load" || method == "session/resume") {
    const Session* const session =
        Find(StringMember(request.params(), "sessionId").value_or(""));
    return session == nullptr ? "" : session->sandbox_id;
  }
  return "";
}

std::optional<std::string> Sessions::OnResponse(const Message& response) {
  auto node = pending_.extract(CanonicalId(response.id()));
  if (node.empty()) {
    return std::nullopt;
  }
  Pending& pending = node.mapped();
  const bool succeeded = !response.result().empty();
  switch (pending.kind) {
    case Pending::Kind::kOpen:
      if (const auto session_id = StringMember(response.result(), "sessionId");
          session_id.has_value()) {
        Open(*session_id, std::move(pending.session));
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
  sessions_.erase(pending.session_id);
  return pending.session_id;
}

const Sessions::Session* Sessions::Find(const std::string& session_id) const {
  const auto session = sessions_.find(session_id);
  return session == sessions_.end() ? nullptr : &session->second;
}

}  // namespace bridge

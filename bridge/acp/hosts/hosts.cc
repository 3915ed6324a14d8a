#include "bridge/acp/hosts/hosts.h"

#include <utility>

namespace bridge {

Hosts::Hosts(HostCalls calls, OwnRequests* requests, AuditLog* audit,
             HostQuestions::Send to_client, CurrentSession current_session)
    : calls_(std::move(calls)),
      current_session_(std::move(current_session)),
      questions_(&calls_, requests, audit, std::move(to_client)) {}

void Hosts::Follow(const std::string& session_id, const std::string& sandbox) {
  followers_[session_id] = std::make_unique<NameFollower>(
      &calls_, sandbox, [this, session_id, sandbox](const std::string& name) {
        const std::string asked =
            session_id.empty() ? current_session_() : session_id;
        if (!asked.empty()) {
          questions_.OnRefused(asked, sandbox, name);
        }
      });
}

void Hosts::CancelTurn(const std::string& session_id) {
  questions_.Cancel(session_id);
}

void Hosts::CloseSession(const std::string& session_id) {
  followers_.erase(session_id);
  questions_.CloseSession(session_id);
}

}  // namespace bridge

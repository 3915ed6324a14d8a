#include "bridge/acp/sessions/turns.h"

#include <algorithm>

namespace bridge {

void Turns::OnClientRequest(const Message& request) {
  if (request.method() == "session/prompt") {
    prompts_[CanonicalId(request.id())] =
        StringMember(request.params(), "sessionId").value_or("");
  }
}

std::optional<std::string> Turns::OnAgentResponse(const Message& response) {
  const auto prompt = prompts_.extract(CanonicalId(response.id()));
  if (prompt.empty()) {
    return std::nullopt;
  }
  return prompt.mapped();
}

std::vector<std::string> Turns::Open(const std::string& session_id) const {
  std::vector<std::string> open;
  for (const auto& [id, session] : prompts_) {
    if (session == session_id) {
      open.push_back(id);
    }
  }
  return open;
}

bool Turns::IsAnyOpen(const std::vector<std::string>& prompts) const {
  return std::any_of(
      prompts.begin(), prompts.end(),
      [this](const std::string& id) { return prompts_.count(id) > 0; });
}

}  // namespace bridge

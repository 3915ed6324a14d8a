#include "bridge/acp/sessions/turns.h"

#include <algorithm>

namespace bridge {

void Turns::OnClientRequest(const Message& request) {
  if (request.method() == "session/prompt") {
    last_session_ = StringMember(request.params(), "sessionId").value_or("");
    prompts_[CanonicalId(request.id())] = {next_number_++, last_session_};
  }
}

std::optional<std::string> Turns::OnAgentResponse(const Message& response) {
  const auto prompt = prompts_.extract(CanonicalId(response.id()));
  if (prompt.empty()) {
    return std::nullopt;
  }
  return prompt.mapped().session_id;
}

std::vector<std::string> Turns::Open(const std::string& session_id) const {
  std::vector<std::string> open;
  for (const auto& [id, prompt] : prompts_) {
    if (prompt.session_id == session_id) {
      open.push_back(id);
    }
  }
  return open;
}

std::string Turns::Current() const {
  const auto latest = std::max_element(
      prompts_.begin(), prompts_.end(), [](const auto& a, const auto& b) {
        return a.second.number < b.second.number;
      });
  return latest == prompts_.end() ? last_session_ : latest->second.session_id;
}

bool Turns::IsAnyOpen(const std::vector<std::string>& prompts) const {
  return std::any_of(
      prompts.begin(), prompts.end(),
      [this](const std::string& id) { return prompts_.count(id) > 0; });
}

}  // namespace bridge

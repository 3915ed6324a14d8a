#include "bridge/acp/display/tool_calls.h"

#include <algorithm>

namespace bridge {

ToolCall& ToolCalls::Touch(const std::string& session_id,
                           const std::string& call_id) {
  std::map<std::string, Entry>& calls = sessions_[session_id];
  if (calls.size() >= kMaxPerSession && calls.count(call_id) == 0) {
    calls.erase(std::min_element(calls.begin(), calls.end(),
                                 [](const auto& a, const auto& b) {
                                   return a.second.age < b.second.age;
                                 }));
  }
  Entry& entry = calls[call_id];
  entry.age = ++next_age_;
  return entry.call;
}

ToolCall* ToolCalls::Find(const std::string& session_id,
                          const std::string& call_id) {
  const auto session = sessions_.find(session_id);
  if (session == sessions_.end()) {
    return nullptr;
  }
  const auto entry = session->second.find(call_id);
  return entry == session->second.end() ? nullptr : &entry->second.call;
}

std::optional<std::string> ToolCalls::OnlyRunningCommand(
    const std::string& session_id) const {
  std::optional<std::string> only;
  const auto session = sessions_.find(session_id);
  if (session == sessions_.end()) {
    return only;
  }
  for (const auto& [id, entry] : session->second) {
    if (!entry.call.IsRunningCommand()) {
      continue;
    }
    if (only.has_value()) {
      return std::nullopt;
    }
    only = id;
  }
  return only;
}

}  // namespace bridge

#include "bridge/acp/display/tool_call_update.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/jsonrpc/request.h"

namespace bridge {
namespace {

void AddExit(const ExitStatus& exit, const char* code, Json& json) {
  json[code] = nullptr;
  json["signal"] = nullptr;
  if (exit.code.has_value()) {
    json[code] = *exit.code;
  }
  if (exit.signal.has_value()) {
    json["signal"] = *exit.signal;
  }
}

std::string Meta(const std::string& name, Json value) {
  return absl::StrCat(R"("_meta":)", Serialize(Json{{name, std::move(value)}}));
}

}  // namespace

std::optional<ToolCallUpdate> FindToolCall(absl::string_view params,
                                           absl::string_view name) {
  const auto members = ScanObject(params);
  if (!members.has_value()) {
    return std::nullopt;
  }
  ToolCallUpdate update;
  update.session_id = StringMember(params, "sessionId").value_or("");
  update.text = FindMember(*members, name).value_or("");
  update.call_id = StringMember(update.text, "toolCallId").value_or("");
  if (update.session_id.empty() || update.call_id.empty()) {
    return std::nullopt;
  }
  update.members = *ScanObject(update.text);
  return update;
}

std::string SessionUpdateLine(const std::string& session_id,
                              absl::string_view update) {
  return absl::StrCat(
      R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":)",
      Quote(session_id), R"(,"update":)", update, "}}\n");
}

std::string MembersUpdate(const std::string& call_id,
                          absl::string_view members) {
  return absl::StrCat(R"({"sessionUpdate":"tool_call_update","toolCallId":)",
                      Quote(call_id), ",", members, "}");
}

std::string InfoMember(const std::string& terminal_id, const std::string& cwd) {
  return absl::StrCat(
      R"("terminal_info":)",
      Serialize(Json{{"terminal_id", terminal_id}, {"cwd", cwd}}));
}

std::string OutputMeta(const std::string& name, const std::string& terminal_id,
                       const std::string& data) {
  return Meta(name, {{"terminal_id", terminal_id}, {"data", data}});
}

std::string ExitMeta(const std::string& terminal_id, const ExitStatus& exit) {
  Json members = {{"terminal_id", terminal_id}};
  AddExit(exit, "exit_code", members);
  return Meta("terminal_exit", std::move(members));
}

std::string RawOutput(const std::string& output, const ExitStatus& exit) {
  Json members = {{"output", output}};
  AddExit(exit, "exitCode", members);
  return absl::StrCat(R"("rawOutput":)", Serialize(members));
}

}  // namespace bridge

#include "bridge/acp/mcp_server.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/members.h"
#include "bridge/jsonrpc/message.h"

namespace bridge {
namespace {

constexpr char kName[] = "corral";
constexpr char kList[] = "mcpServers";

// Only servers without a type run over standard input and output; the schema
// requires all four members.
std::string Entry(const std::vector<std::string>& command,
                  const std::string& sandbox_id) {
  std::vector<std::string> arguments(command.begin() + 1, command.end());
  arguments.emplace_back("--sandbox");
  arguments.push_back(sandbox_id);
  return SerializeOrdered(OrderedJson{{"name", kName},
                                      {"command", command.front()},
                                      {"args", arguments},
                                      {"env", OrderedJson::array()}});
}

// Appends to the list of servers; nothing if it must stay as it is.
std::optional<std::string> Append(absl::string_view list,
                                  const std::string& entry) {
  if (list == "null") {
    return absl::StrCat("[", entry, "]");
  }
  const auto elements = ScanArray(list);
  if (!elements.has_value() ||
      std::any_of(elements->begin(), elements->end(),
                  [](absl::string_view server) {
                    return StringMember(server, "name") == kName;
                  })) {
    return std::nullopt;
  }
  return ReplacePart(list, list.substr(list.size() - 1, 0),
                     absl::StrCat(elements->empty() ? "" : ",", entry));
}

}  // namespace

std::string AddMcpServer(absl::string_view line,
                         const std::vector<std::string>& command,
                         const std::string& sandbox_id) {
  const absl::string_view params = Message::Classify(line).params();
  const std::optional<std::vector<Member>> members = ScanObject(params);
  if (!members.has_value() || !IsJson(line)) {
    return static_cast<std::string>(line);
  }
  const std::string entry = Entry(command, sandbox_id);
  const std::optional<absl::string_view> list = FindMember(*members, kList);
  if (!list.has_value()) {
    return ReplacePart(line, params.substr(1, 0),
                       absl::StrCat("\"", kList, "\":[", entry, "]",
                                    members->empty() ? "" : ","));
  }
  const std::optional<std::string> longer = Append(*list, entry);
  return longer.has_value() ? ReplacePart(line, *list, *longer)
                            : static_cast<std::string>(line);
}

}  // namespace bridge

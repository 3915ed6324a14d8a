#include "bridge/acp/display/terminal_content.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bridge/jsonrpc/members.h"
#include "bridge/jsonrpc/message.h"
#include "bridge/jsonrpc/request.h"

namespace bridge {
namespace {

constexpr size_t kShortestFence = 3;

// The id of an item that is a terminal.
std::optional<std::string> TerminalIdOf(absl::string_view item) {
  if (StringMember(item, "type") != "terminal") {
    return std::nullopt;
  }
  return StringMember(item, "terminalId");
}

std::vector<absl::string_view> ItemsOf(absl::string_view content) {
  return ScanArray(content).value_or(std::vector<absl::string_view>());
}

// Longer than every run of backticks in the text.
std::string Fence(absl::string_view text) {
  size_t longest = 0;
  size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max(kShortestFence, longest + 1), '`');
}

}  // namespace

std::vector<std::string> TerminalsIn(absl::string_view content) {
  std::vector<std::string> ids;
  for (const absl::string_view item : ItemsOf(content)) {
    if (std::optional<std::string> id = TerminalIdOf(item); id.has_value()) {
      ids.push_back(*std::move(id));
    }
  }
  return ids;
}

std::string ReplaceTerminals(
    absl::string_view content,
    absl::FunctionRef<std::string(const std::string& id)> replace) {
  std::vector<std::string> items;
  for (const absl::string_view item : ItemsOf(content)) {
    const std::optional<std::string> id = TerminalIdOf(item);
    std::string text =
        id.has_value() ? replace(*id) : static_cast<std::string>(item);
    if (!text.empty()) {
      items.push_back(std::move(text));
    }
  }
  return absl::StrCat("[", absl::StrJoin(items, ","), "]");
}

std::string WithItem(absl::string_view content, absl::string_view item) {
  std::vector<absl::string_view> items = ItemsOf(content);
  items.push_back(item);
  return absl::StrCat("[", absl::StrJoin(items, ","), "]");
}

std::string TerminalItem(absl::string_view id) {
  return absl::StrCat(R"({"type":"terminal","terminalId":)", Quote(id), "}");
}

std::string ConsoleItem(absl::string_view text) {
  const std::string fence = Fence(text);
  return PlainTextItem(absl::StrCat(
      fence, "console\n", text,
      text.empty() || absl::EndsWith(text, "\n") ? "" : "\n", fence));
}

std::string PlainTextItem(absl::string_view text) {
  return absl::StrCat(R"({"type":"content","content":{"type":"text","text":)",
                      Quote(text), "}}");
}

}  // namespace bridge

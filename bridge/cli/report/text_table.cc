#include "bridge/cli/report/text_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace bridge {
namespace {

// Escapes control characters: they could do anything to the reader's terminal.
std::string Printable(const std::string& cell) {
  if (std::none_of(cell.begin(), cell.end(), absl::ascii_iscntrl)) {
    return cell;
  }
  std::string text;
  for (const char& c : cell) {
    const absl::string_view character(&c, 1);
    absl::StrAppend(&text, absl::ascii_iscntrl(c) ? absl::CHexEscape(character)
                                                  : std::string(character));
  }
  return text;
}

}  // namespace

std::string FormatTable(std::vector<std::vector<std::string>> rows,
                        size_t width) {
  std::vector<size_t> widths;
  for (std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Printable(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i + 1 < row.size()) {
        row[i].resize(widths[i] + 2, ' ');
      }
      line += row[i];
    }
    absl::StrAppend(&text, width == 0 ? line : line.substr(0, width), "\n");
  }
  return text;
}

}  // namespace bridge

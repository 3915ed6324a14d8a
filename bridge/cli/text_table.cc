#include "bridge/cli/text_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace bridge {
namespace {

// Control characters could do anything to the reader's terminal.
std::string Printable(const std::string& cell) {
  std::string text;
  for (const char c : cell) {
    absl::StrAppend(&text, absl::ascii_iscntrl(c)
                               ? absl::CHexEscape(std::string(1, c))
                               : std::string(1, c));
  }
  return text;
}

}  // namespace

std::string FormatTable(const std::vector<std::vector<std::string>>& rows,
                        size_t width) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Printable(row[i]).size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string cell = Printable(row[i]);
      if (i + 1 < row.size()) {
        cell.resize(widths[i] + 2, ' ');
      }
      absl::StrAppend(&line, cell);
    }
    absl::StrAppend(&text, width == 0 ? line : line.substr(0, width), "\n");
  }
  return text;
}

}  // namespace bridge

#include "bridge/cli/report/text_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bridge/cli/report/escaped_text.h"

namespace bridge {

std::string FormatTable(std::vector<std::vector<std::string>> rows,
                        size_t width) {
  std::vector<size_t> widths;
  for (std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Printable(row[i]);
      widths[i] = std::max(widths[i], CountCharacters(row[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) {
        line.append(widths[i] + 2 - CountCharacters(row[i]), ' ');
      }
    }
    absl::StrAppend(&text, width == 0 ? line : FirstCharacters(line, width),
                    "\n");
  }
  return text;
}

}  // namespace bridge

// Columns of text for people.

#ifndef BRIDGE_CLI_TEXT_TABLE_H_
#define BRIDGE_CLI_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace bridge {

// One line a row, each column as wide as its widest cell; the last one is not
// padded. Control characters are shown as escapes.
// `width`: lines are cut off there; 0: never.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows,
                        size_t width);

}  // namespace bridge

#endif  // BRIDGE_CLI_TEXT_TABLE_H_

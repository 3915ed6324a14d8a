// Columns of text for people.

#ifndef BRIDGE_CLI_REPORT_TEXT_TABLE_H_
#define BRIDGE_CLI_REPORT_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace bridge {

// Writes each row as one line, and pads each column but the last to its widest
// cell. Shows control characters as escapes. Cuts lines off after `width`
// characters; 0: never.
std::string FormatTable(std::vector<std::vector<std::string>> rows,
                        size_t width);

}  // namespace bridge

#endif  // BRIDGE_CLI_REPORT_TEXT_TABLE_H_

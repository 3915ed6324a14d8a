// Bytes that others chose, as text. Both forms can be read back without doubt.

#ifndef BRIDGE_CLI_REPORT_ESCAPED_TEXT_H_
#define BRIDGE_CLI_REPORT_ESCAPED_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace bridge {

// Returns text for JSON: valid UTF-8 as it is, a backslash as \\, and each
// other byte as \xHH.
std::string EscapeBytes(absl::string_view bytes);

// Returns text for a terminal: as above, and control characters and characters
// that change the order of the text or are not visible as \xHH for each byte,
// but
// , \r and \t in short.
std::string Printable(absl::string_view bytes);

// The number of characters in valid UTF-8, and its first `count` characters.
size_t CountCharacters(absl::string_view text);
absl::string_view FirstCharacters(absl::string_view text, size_t count);

}  // namespace bridge

#endif  // BRIDGE_CLI_REPORT_ESCAPED_TEXT_H_

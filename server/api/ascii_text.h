// Bytes of any kind as text for a string field of a message, which must be
// UTF-8: paths and errors of the operating system that name one.

#ifndef SERVER_API_ASCII_TEXT_H_
#define SERVER_API_ASCII_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace server {

// Returns `bytes` with those that are not printable ASCII as "\xff".
std::string AsciiText(absl::string_view bytes);

}  // namespace server

#endif  // SERVER_API_ASCII_TEXT_H_

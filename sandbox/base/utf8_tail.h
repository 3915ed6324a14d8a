// The end of a text that was cut inside of a UTF-8 character.

#ifndef SANDBOX_BASE_UTF8_TAIL_H_
#define SANDBOX_BASE_UTF8_TAIL_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace sandbox {

// Returns the number of bytes at the end of `text` that begin a UTF-8 character
// without completing it: 0 to 3. Bytes that are not UTF-8 do not count.
size_t IncompleteUtf8Tail(absl::string_view text);

}  // namespace sandbox

#endif  // SANDBOX_BASE_UTF8_TAIL_H_

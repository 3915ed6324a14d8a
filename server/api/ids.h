// Ids that the server chooses: the last part of a name.

#ifndef SERVER_API_IDS_H_
#define SERVER_API_IDS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace server {

// Returns ten characters of a-z and 2-7, a letter first: almost 50 bits of the
// kernel's randomness.
std::string MakeId();

// Returns the id that belongs to a request: the same one for the same request.
// `digest` has at least 10 bytes that look random.
std::string IdOf(absl::string_view digest);

}  // namespace server

#endif  // SERVER_API_IDS_H_

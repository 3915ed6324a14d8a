// Ids that the server chooses: the last part of a name.

#ifndef SERVER_API_IDS_H_
#define SERVER_API_IDS_H_

#include <string>

namespace server {

// Returns ten characters of a-z and 2-7, a letter first: almost 50 bits of the
// kernel's randomness.
std::string MakeId();

}  // namespace server

#endif  // SERVER_API_IDS_H_

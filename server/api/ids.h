// Ids that the server makes up: the last part of a name.

#ifndef SERVER_API_IDS_H_
#define SERVER_API_IDS_H_

#include <string>

namespace server {

// Ten characters of a-z and 2-7, a letter first: 50 bits of the kernel's
// randomness.
std::string MakeId();

}  // namespace server

#endif  // SERVER_API_IDS_H_

#ifndef BRIDGE_ACP_SESSIONS_NORMAL_PATH_H_
#define BRIDGE_ACP_SESSIONS_NORMAL_PATH_H_

#include <string>

namespace bridge {

// Returns an absolute path without ".", "..", doubled and trailing slashes.
std::string NormalizePath(const std::string& path);

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_NORMAL_PATH_H_

#ifndef SERVER_RUNTIME_VERSION_H_
#define SERVER_RUNTIME_VERSION_H_

namespace server {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace server

#endif  // SERVER_RUNTIME_VERSION_H_

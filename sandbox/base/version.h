// The version of Corral: of the server, of the bridges and of the command line.

#ifndef SANDBOX_BASE_VERSION_H_
#define SANDBOX_BASE_VERSION_H_

namespace sandbox {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace sandbox

#endif  // SANDBOX_BASE_VERSION_H_

// Addresses of Unix sockets below directories of any depth.

#ifndef SANDBOX_BASE_UNIX_ADDRESS_H_
#define SANDBOX_BASE_UNIX_ADDRESS_H_

#include <sys/un.h>

#include "absl/strings/string_view.h"

namespace sandbox {

// The address of `name`, at most 64 bytes, in the open `directory`. It leads
// through /proc/self/fd, since sun_path holds 107 bytes and a directory may lie
// deeper: it is valid in this process and while `directory` is open.
sockaddr_un UnixAddress(int directory, absl::string_view name);

}  // namespace sandbox

#endif  // SANDBOX_BASE_UNIX_ADDRESS_H_

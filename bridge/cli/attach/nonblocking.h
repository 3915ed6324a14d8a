// Input and output of this process without waiting in read(2) or write(2).

#ifndef BRIDGE_CLI_ATTACH_NONBLOCKING_H_
#define BRIDGE_CLI_ATTACH_NONBLOCKING_H_

#include "sandbox/base/unique_fd.h"

namespace bridge {

// The pipe or terminal behind `fd`, opened once more with O_NONBLOCK: that flag
// belongs to all processes that share a descriptor, so `fd` itself must not
// have it, and without it read(2) and write(2) may wait even after poll(2).
// `access`: O_RDONLY or O_WRONLY. Empty: it is neither, is not open for that,
// or cannot be opened again.
sandbox::UniqueFd ReopenNonblocking(int fd, int access);

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_NONBLOCKING_H_

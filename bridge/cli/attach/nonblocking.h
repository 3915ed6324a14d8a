// Standard input and output that do not block in read(2) and write(2).

#ifndef BRIDGE_CLI_ATTACH_NONBLOCKING_H_
#define BRIDGE_CLI_ATTACH_NONBLOCKING_H_

#include "sandbox/base/unique_fd.h"

namespace bridge {

// Opens the pipe or terminal behind `fd` again, with O_NONBLOCK. The flag
// cannot be set on `fd` itself, because all processes that share the descriptor
// would get it; without it read(2) and write(2) may block even after poll(2).
// `access` is O_RDONLY or O_WRONLY. Returns an empty descriptor if `fd` is
// neither pipe nor terminal, is not open for `access`, or cannot be opened
// again.
sandbox::UniqueFd ReopenNonblocking(int fd, int access);

}  // namespace bridge

#endif  // BRIDGE_CLI_ATTACH_NONBLOCKING_H_

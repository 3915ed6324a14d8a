// A command's standard input, output and error, and the supervisor's ends of
// them.

#ifndef SANDBOX_SUPERVISOR_COMMAND_STREAMS_H_
#define SANDBOX_SUPERVISOR_COMMAND_STREAMS_H_

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

struct CommandStreams {
  // The command's descriptors 0, 1 and 2, in blocking mode; without input only
  // the last two.
  std::vector<UniqueFd> command;
  // The supervisor's ends, as the channels want them: `input` and a terminal in
  // non-blocking mode. Without input, `input` is invalid.
  UniqueFd input;
  std::vector<std::pair<wire::Stream, UniqueFd>> outputs;
};

// An owner of streams that leaves them to this process.
constexpr uid_t kSameOwner = static_cast<uid_t>(-1);

// Pipes that belong to `owner`, a user and group of the host, so that a command
// which runs as that user, and no other one, can reopen them by way of
// /dev/stdout. Without `open_stdin` there is no input; with `merge_stderr`
// there is one output.
absl::StatusOr<CommandStreams> OpenPipes(bool open_stdin, bool merge_stderr,
                                         uid_t owner);

// A terminal of the devpts whose directory is `devpts`, which belongs to
// `owner`.
absl::StatusOr<CommandStreams> OpenTerminal(int devpts, uint32_t rows,
                                            uint32_t columns, uid_t owner);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_STREAMS_H_

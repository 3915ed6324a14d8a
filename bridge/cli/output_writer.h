// Output of a command to this process's standard output and error.

#ifndef BRIDGE_CLI_OUTPUT_WRITER_H_
#define BRIDGE_CLI_OUTPUT_WRITER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

// Writes all of it, for however long that takes, also to a descriptor that is
// not blocking. Aborted: nobody reads it any more (EPIPE).
absl::Status WriteAll(int fd, absl::string_view data);

// STDERR to standard error, all else to standard output.
absl::Status WriteChunk(const corral::v1::Chunk& chunk);

// What the gap left out, to standard error.
absl::Status WriteGap(const corral::v1::Gap& gap);

}  // namespace bridge

#endif  // BRIDGE_CLI_OUTPUT_WRITER_H_

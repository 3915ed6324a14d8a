// Finds the begin of the last lines of a stream of output.

#ifndef BRIDGE_CLI_COMMANDS_LOG_TAIL_H_
#define BRIDGE_CLI_COMMANDS_LOG_TAIL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

// Counts lines from the end of a text that is given in pieces, last piece
// first. A newline at the very end does not begin another line. Pure.
class LineCounter {
 public:
  // `lines` is the number of lines that are wanted.
  explicit LineCounter(uint64_t lines) : wanted_(lines) {}

  // Takes the piece that precedes all pieces taken so far. Returns true if the
  // wanted lines begin in it, at begin() bytes from its start.
  bool Take(absl::string_view piece);
  size_t begin() const { return begin_; }

 private:
  const uint64_t wanted_;
  uint64_t newlines_ = 0;
  bool at_end_ = true;
  size_t begin_ = 0;
};

// Returns the offset at which the last `lines` lines of the stream begin, as
// far as they are kept. `state` is the stream of the execution `name`.
absl::StatusOr<uint64_t> FindTail(client::Connection& connection,
                                  const std::string& name,
                                  const corral::v1::StreamState& state,
                                  uint64_t lines);

}  // namespace bridge

#endif  // BRIDGE_CLI_COMMANDS_LOG_TAIL_H_

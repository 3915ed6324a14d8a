// The position of a reader in each of the streams of an execution's output.
//
// Pure bookkeeping; not thread-safe.

#ifndef BRIDGE_CLIENT_OUTPUT_POSITION_H_
#define BRIDGE_CLIENT_OUTPUT_POSITION_H_

#include <cstdint>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"

namespace client {

class OutputPosition {
 public:
  using Cursors = google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>;

  // Set the position to where the server begins to send: at `requested`;
  // without cursors, at byte 0 of each stream of a command that this reader
  // started, and at the oldest byte that is kept of a command that existed
  // before.
  void OpenStarted(const corral::v1::Execution& opened);
  void OpenExisting(const corral::v1::Execution& opened,
                    const Cursors& requested);

  // Fails with DataLoss if the chunk does not continue its stream.
  absl::Status Accept(const corral::v1::Chunk& chunk);
  void Skip(const corral::v1::Gap& gap);

  // The offset of the next byte of each stream.
  const std::map<corral::v1::Stream, uint64_t>& offsets() const {
    return offsets_;
  }

  // The same as cursors of a request, each `behind` bytes lower, but not below
  // 0. Replaces what is there.
  void WriteTo(Cursors& cursors, uint64_t behind = 0) const;

 private:
  std::map<corral::v1::Stream, uint64_t> offsets_;
  // Streams without a requested offset. Their first chunk decides where they
  // begin, because old output may expire between `opened` and that chunk.
  std::set<corral::v1::Stream> undecided_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_OUTPUT_POSITION_H_

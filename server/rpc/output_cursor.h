// Follows the output of one execution from given offsets. Makes the events of
// StreamOutput in their order, one at a time and only on request, so a reader
// that does not read costs no more than one.
//
// Not thread-safe. Never waits for a disk: it hands out a read that may have to
// wait as a LogRead.

#ifndef SERVER_RPC_OUTPUT_CURSOR_H_
#define SERVER_RPC_OUTPUT_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/storage/output_log.h"
#include "server/core/execution.h"
#include "server/rpc/log_read.h"

namespace server {

class OutputCursor {
 public:
  enum class Next {
    kEvent,  // send the event
    kLast,   // send the event, which is the last
    kIdle,   // nothing to send until the execution changes or a read is done
    kRead,   // nothing to send until the result of TakeRead() is passed to Put
    kEnd,    // nothing more will come
  };

  // Without cursors, sends all streams from the first byte kept. Unless
  // `follow`, ends after the output that is written by now. INVALID_FIELD,
  // NO_SUCH_STREAM: a cursor is wrong.
  static absl::StatusOr<OutputCursor> Create(
      std::shared_ptr<Execution> execution,
      const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>&
          cursors,
      bool follow);

  // Writes the next event to `event`, whose memory is used again if it holds a
  // chunk. OFFSET_OUT_OF_RANGE, OUTPUT_EXPIRED; SANDBOX_NOT_READY or
  // SERVER_FAULT if a log cannot be read.
  absl::StatusOr<Next> Advance(corral::v1::OutputEvent* event);

  // After kRead, TakeRead() returns the read, which the caller runs on a thread
  // that may wait for the disk and then passes to Put(). Advance() returns
  // kIdle in between.
  LogRead TakeRead();
  void Put(LogRead done);

  corral::v1::Heartbeat Heartbeat() const;
  // True once the event `opened` was made, which comes before all others.
  bool opened() const { return opened_; }

  const std::shared_ptr<Execution>& execution() const { return execution_; }

 private:
  enum class Reading {
    kNot,
    kWanted,   // until TakeRead
    kRunning,  // until Put
    kDone,     // until the result is used
  };

  // The progress of one stream.
  struct Position {
    corral::v1::Stream stream;
    // The next byte to send. Absent until begun_: from the first byte kept.
    std::optional<uint64_t> offset;
    Execution::LogReader log;
    // The offset at which to stop, once it is known.
    uint64_t limit = UINT64_MAX;
    // True if there is no log, because the start failed early or the log was
    // deleted. The bytes that it held are reported as a gap.
    bool missing = false;
  };

  OutputCursor(std::shared_ptr<Execution> execution,
               std::vector<Position> positions, bool follow)
      : execution_(std::move(execution)),
        positions_(std::move(positions)),
        follow_(follow) {}

  // Uses the last read and makes the event that opens the stream. Returns kIdle
  // when nothing of this is left to do.
  absl::StatusOr<Next> Open(corral::v1::OutputEvent* event);
  // Makes an event from the result of a read. Returns kEvent or kIdle.
  absl::StatusOr<Next> Use(LogRead read, corral::v1::OutputEvent* event);
  // Finds out where each stream begins. Returns kIdle when that is done.
  absl::StatusOr<Next> Begin();
  void SetLimits();
  // Returns kEvent, kRead, or kIdle if the stream has nothing now.
  Next Read(Position* position, corral::v1::OutputEvent* event);
  Next Want(LogRead read);

  std::shared_ptr<Execution> execution_;
  std::vector<Position> positions_;
  bool follow_;
  // A read of the disk that was requested, and its progress.
  Reading reading_ = Reading::kNot;
  std::optional<LogRead> read_;
  bool begun_ = false;
  bool opened_ = false;
  bool limited_ = false;
  bool finished_ = false;
  // The stream to look at first; it changes, so that all streams advance.
  size_t turn_ = 0;
};

// Returns the first offset not before `offset` whose byte is kept.
uint64_t SkipDropped(const sandbox::OutputLogState& state, uint64_t offset);

// Fails with NO_SUCH_STREAM if the execution has no such stream.
absl::Status CheckHasStream(const Execution& execution,
                            corral::v1::Stream stream);

// Checks the streams of a request's cursors, each of which may be named once.
// Fails with INVALID_FIELD or NO_SUCH_STREAM.
absl::Status CheckCursors(
    const Execution& execution,
    const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>&
        cursors);

}  // namespace server

#endif  // SERVER_RPC_OUTPUT_CURSOR_H_

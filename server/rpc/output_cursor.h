// Follows the output of one execution from given offsets: makes the events of
// StreamOutput, in their order, one at a time and only when asked, so that a
// reader that does not read costs nothing.
//
// Not thread-safe. Never waits for a disk: what may have to is handed out as a
// LogRead.

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

  // Checks the cursors of a request: INVALID_FIELD, NO_SUCH_STREAM. No cursors:
  // all streams, from the first byte kept. `follow` false: ends with what is
  // written by now.
  static absl::StatusOr<OutputCursor> Create(
      std::shared_ptr<Execution> execution,
      const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>&
          cursors,
      bool follow);

  // Makes the next event in `event`, whose memory is used again if it holds a
  // chunk. OFFSET_OUT_OF_RANGE, OUTPUT_EXPIRED; SANDBOX_NOT_READY or
  // SERVER_FAULT if a log cannot be read.
  absl::StatusOr<Next> Advance(corral::v1::OutputEvent* event);

  // After kRead: the read to run where it may wait, and, once it has run, the
  // way back. Advance returns kIdle in between.
  LogRead TakeRead();
  void Put(LogRead done);

  corral::v1::Heartbeat Heartbeat() const;
  // The event `opened` was made: no other event comes before it.
  bool opened() const { return opened_; }

  const std::shared_ptr<Execution>& execution() const { return execution_; }

 private:
  enum class Reading {
    kNot,
    kWanted,   // until TakeRead
    kRunning,  // until Put
    kDone,     // until the result is used
  };

  // How far one stream was sent.
  struct Position {
    corral::v1::Stream stream;
    // The next byte to send. Absent until begun_: from the first byte kept.
    std::optional<uint64_t> offset;
    Execution::LogReader log;
    // Where to stop, once that is known.
    uint64_t limit = UINT64_MAX;
    // There is no log, because the start failed early or it was deleted.
    bool missing = false;
  };

  OutputCursor(std::shared_ptr<Execution> execution,
               std::vector<Position> positions, bool follow)
      : execution_(std::move(execution)),
        positions_(std::move(positions)),
        follow_(follow) {}

  // Takes the result of a read. kEvent or kIdle.
  absl::StatusOr<Next> Use(LogRead read, corral::v1::OutputEvent* event);
  // Finds out where each stream begins. kIdle: that is done.
  absl::StatusOr<Next> Begin();
  void SetLimits();
  // kEvent, kRead, or kIdle: the stream has nothing now.
  Next Read(Position* position, corral::v1::OutputEvent* event);
  Next Want(LogRead read);

  std::shared_ptr<Execution> execution_;
  std::vector<Position> positions_;
  bool follow_;
  // A read of the disk that was asked for, and how far it has come.
  Reading reading_ = Reading::kNot;
  std::optional<LogRead> read_;
  bool begun_ = false;
  bool opened_ = false;
  bool limited_ = false;
  bool finished_ = false;
  // The stream to look at first, so that no stream waits for another.
  size_t turn_ = 0;
};

// The first offset from `offset` on whose byte is kept.
uint64_t SkipDropped(const sandbox::OutputLogState& state, uint64_t offset);

// NO_SUCH_STREAM.
absl::Status CheckHasStream(const Execution& execution,
                            corral::v1::Stream stream);

// INVALID_FIELD or NO_SUCH_STREAM: checks the streams of a request's cursors,
// each of which may be named once.
absl::Status CheckCursors(
    const Execution& execution,
    const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>&
        cursors);

}  // namespace server

#endif  // SERVER_RPC_OUTPUT_CURSOR_H_

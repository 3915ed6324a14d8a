// Follows the output of one execution from given cursors: makes the events of
// StreamOutput, in their order, one at a time and only when asked, so that a
// reader that does not read costs nothing.
//
// Not thread-safe. Reads files that are in the page cache.

#ifndef SERVER_RPC_OUTPUT_CURSOR_H_
#define SERVER_RPC_OUTPUT_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/storage/output_log.h"
#include "server/core/execution.h"

namespace server {

class OutputFollower {
 public:
  enum class Next {
    kEvent,  // the event is to be sent
    kLast,   // the event is to be sent, and is the last
    kIdle,   // nothing to send until the execution changes
    kEnd,    // nothing more will come
  };

  // Checks the cursors of a request: INVALID_FIELD, NO_SUCH_STREAM,
  // OFFSET_OUT_OF_RANGE, OUTPUT_EXPIRED. No cursors: all streams, from what is
  // kept. `follow` false: ends with what is written by now.
  static absl::StatusOr<OutputFollower> Create(
      std::shared_ptr<Execution> execution,
      const google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>&
          cursors,
      bool follow);

  // Makes the next event in `event`, whose memory is reused if it holds a
  // chunk.
  absl::StatusOr<Next> Advance(corral::v1::OutputEvent* event);

  corral::v1::Heartbeat Heartbeat() const;
  // Advance has told of the execution: nothing comes before that.
  bool opened() const { return opened_; }

  const std::shared_ptr<Execution>& execution() const { return execution_; }

 private:
  struct Cursor {
    corral::v1::Stream stream;
    // Absent: from what is kept.
    std::optional<uint64_t> offset;
    // Null: there is no log, because the start failed early.
    Execution::LogReader log;
    // Where to stop, once that is known.
    uint64_t limit = UINT64_MAX;
  };

  OutputFollower(std::shared_ptr<Execution> execution,
                 std::vector<Cursor> cursors, bool follow)
      : execution_(std::move(execution)),
        cursors_(std::move(cursors)),
        follow_(follow) {}

  absl::Status OpenLogs();
  absl::Status SetLimits();
  // False: the stream has nothing now.
  absl::StatusOr<bool> Read(Cursor* cursor, corral::v1::OutputEvent* event);

  std::shared_ptr<Execution> execution_;
  std::vector<Cursor> cursors_;
  bool follow_;
  bool logs_open_ = false;
  // The event of that name was made.
  bool opened_ = false;
  bool limited_ = false;
  bool finished_ = false;
  // The stream to look at first, so that none waits for another.
  size_t turn_ = 0;
};

// The first offset from `offset` on whose byte is kept.
uint64_t SkipDropped(const sandbox::OutputLogState& state, uint64_t offset);

// Why a log of it cannot be opened, as a client is told: SANDBOX_NOT_READY
// (UNAVAILABLE) for want of descriptors, which does not last, or SERVER_FAULT.
absl::Status ToOpenError(const Execution& execution, const absl::Status& cause);

// OK, or NO_SUCH_STREAM.
absl::Status CheckHasStream(const Execution& execution,
                            corral::v1::Stream stream);

}  // namespace server

#endif  // SERVER_RPC_OUTPUT_CURSOR_H_

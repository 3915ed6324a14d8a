// The output of an execution as a sequence of events that survives the loss of
// the connection.
//
// When the server goes away, or the stream is silent for longer than
// Timing.stream_silence, a new stream continues at the offsets reached, until
// the server has been gone for Timing.patience.
//
//   OutputReader reader(connection, request);
//   while (...) {
//     absl::StatusOr<std::optional<OutputEvent>> event = reader.Next();
//
// Next() blocks; it and the accessors belong to one thread. Cancel() may be
// called from any.

#ifndef BRIDGE_CLIENT_OUTPUT_READER_H_
#define BRIDGE_CLIENT_OUTPUT_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/client/connection.h"
#include "bridge/client/output_call.h"
#include "bridge/client/output_position.h"
#include "bridge/client/retry.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "sandbox/base/mutex.h"

namespace client {

class OutputReader {
 public:
  // Starts a command with the first Next(). The command starts once, whatever
  // happens to the server. The connection must outlive the reader.
  OutputReader(Connection& connection,
               const corral::v1::RunExecutionRequest& request);
  // Follows a command that exists.
  OutputReader(Connection& connection,
               const corral::v1::StreamOutputRequest& request);
  ~OutputReader();

  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  // Returns `opened` first, once; then chunks, and gaps, that continue each
  // stream without a hole; `ended` last. Without a value: after `ended`, or
  // after an error, or when all output was sent that no_follow asked for.
  //
  // Fails with the errors of RunExecution and StreamOutput, with Unavailable if
  // the server was gone for Timing.patience, with Cancelled after Cancel(), and
  // with DataLoss if the server left out bytes.
  absl::StatusOr<std::optional<corral::v1::OutputEvent>> Next();

  // From now on acknowledges output, which the server then need not keep
  // (AcknowledgeOutput): each time that `bytes` were returned and Next() is
  // called again, because that call means that the caller has stored them.
  // Leaves the last `kept` bytes to later readers. For executions with overflow
  // BLOCK.
  void AcknowledgeEvery(uint64_t bytes, uint64_t kept = 0) {
    acknowledge_every_ = bytes;
    acknowledge_behind_ = kept;
  }

  // Makes a pending Next(), or the next one, fail with Cancelled.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

  // Offset of the next byte of each stream, once `opened` was returned.
  const std::map<corral::v1::Stream, uint64_t>& cursors() const {
    return position_.offsets();
  }

 private:
  enum class State { kUnopened, kOpen, kEnded };

  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Accept(const corral::v1::OutputEvent& event);
  void Open(const corral::v1::Execution& opened);
  void MaybeAcknowledge();
  bool cancelled() ABSL_LOCKS_EXCLUDED(mutex_);
  // The call is over: begins another one, or reports why not.
  absl::Status OnBreak();

  Connection& connection_;
  std::optional<corral::v1::RunExecutionRequest> run_;
  corral::v1::StreamOutputRequest follow_;
  Retry retry_;

  State state_ = State::kUnopened;
  OutputPosition position_;
  uint64_t acknowledge_every_ = 0;  // 0: never
  uint64_t acknowledge_behind_ = 0;
  uint64_t unacknowledged_ = 0;

  sandbox::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Replaced under the lock, because Cancel() uses it. Read by the thread of
  // Next() only.
  std::unique_ptr<OutputCall> call_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_OUTPUT_READER_H_

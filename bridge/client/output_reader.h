// Output of an execution as a sequence of events that survives the loss of the
// connection: when the server goes away, the stream is taken up again where it
// was, for up to kPatience.
//
//   OutputReader stream(connection, request);
//   while (...) {
//     absl::StatusOr<std::optional<OutputEvent>> event = stream.Next();
//
// Next() blocks; it and the accessors belong to one thread. Cancel() may be
// called from any.

#ifndef BRIDGE_CLIENT_OUTPUT_READER_H_
#define BRIDGE_CLIENT_OUTPUT_READER_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/client/connection.h"
#include "sandbox/base/mutex.h"

namespace client {

class OutputReader {
 public:
  // Starts a command, with the first Next(); once, whatever happens to the
  // server. The connection must outlive the stream.
  OutputReader(Connection& connection,
               const corral::v1::RunExecutionRequest& request);
  // Follows one that exists.
  OutputReader(Connection& connection,
               const corral::v1::StreamOutputRequest& request);
  ~OutputReader();

  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  // `opened` first and once, whatever reconnections there were; then chunks
  // and gaps of each stream without holes; `ended` last. Without a value: the
  // stream is over (after `ended`; or all was sent that no_follow asked for).
  //
  // Errors: those of RunExecution and StreamOutput; Unavailable: the server
  // was gone for kPatience; Cancelled; DataLoss: the server left out bytes.
  absl::StatusOr<std::optional<corral::v1::OutputEvent>> Next();

  // From now on the server is told again and again what need not be kept
  // (AcknowledgeOutput): whenever `bytes` were returned, and Next() is called
  // again, which says that they are safe. The last `kept` bytes
  // are left for later readers. For executions with overflow BLOCK.
  void AcknowledgeEvery(uint64_t bytes, uint64_t kept = 0) {
    acknowledge_every_ = bytes;
    acknowledge_behind_ = kept;
  }

  // Makes a pending and every later Next() fail with Cancelled.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

  // The server was gone for a while.
  bool resumed() const { return resumed_; }

  // Of the next byte wanted of each stream, since `opened`.
  const std::map<corral::v1::Stream, uint64_t>& cursors() const {
    return cursors_;
  }

 private:
  using Reader = grpc::ClientReaderInterface<corral::v1::OutputEvent>;

  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Resume();
  absl::Status Accept(const corral::v1::OutputEvent& event);
  void Open(const corral::v1::Execution& opened);
  absl::Status AcceptChunk(const corral::v1::Chunk& chunk);
  void MaybeAcknowledge();
  bool cancelled() ABSL_LOCKS_EXCLUDED(mutex_);
  bool ShouldResume(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  grpc::Status Finish();
  // The server sends no more: goes on with a new call, or ends.
  absl::Status OnBreak();

  Connection& connection_;
  std::optional<corral::v1::RunExecutionRequest> run_;
  corral::v1::StreamOutputRequest follow_;

  bool opened_ = false;
  bool ended_ = false;
  bool resumed_ = false;
  // Since when the server has been gone; infinite: it has not.
  absl::Time lost_since_ = absl::InfiniteFuture();
  std::map<corral::v1::Stream, uint64_t> cursors_;
  // Of these nobody said where to begin: at what is kept by the first chunk.
  std::set<corral::v1::Stream> unpositioned_;
  uint64_t acknowledge_every_ = 0;  // 0: never
  uint64_t acknowledge_behind_ = 0;
  uint64_t unacknowledged_ = 0;

  sandbox::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Replaced under the lock, since Cancel() uses it.
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Reader> reader_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_OUTPUT_READER_H_

// Writes the input of one command, in order and nothing twice, through any
// number of servers.

#ifndef BRIDGE_CLIENT_INPUT_WRITER_H_
#define BRIDGE_CLIENT_INPUT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bridge/client/connection.h"
#include "bridge/client/retry.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/mutex.h"

namespace client {

// Write() is called by one thread, Stop() by any.
class InputWriter {
 public:
  enum class Sharing {
    // Nobody else writes to the input: each write names its offset.
    kExclusive,
    // Others may write, too, for instance to a terminal: data is appended to
    // what the command has accepted. If the server goes away during a write,
    // the offset of the input shows how much of the data was accepted; what
    // others wrote since the write before is mistaken for this data.
    kShared,
  };

  // `accepted` is the offset of the input, in bytes; 0 for a new command. The
  // connection must outlive this object.
  InputWriter(Connection* connection, std::string execution_name,
              Sharing sharing, uint64_t accepted);
  InputWriter(const InputWriter&) = delete;
  InputWriter& operator=(const InputWriter&) = delete;

  // Blocks until the command has accepted `data`, at most 1 MiB, however long
  // that takes; then closes the input if `eof`. Fails with FailedPrecondition
  // if the input is closed, so that the command accepts no more, and with
  // Cancelled if Stop() was called. After these and all other errors, a part of
  // the data may have been accepted.
  absl::Status Write(std::string data, bool eof) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends a Write() at once, and all that follow.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Retry MakeRetry();
  // Makes one attempt.
  grpc::Status WriteOnce(const corral::v1::WriteInputRequest& request,
                         Retry& retry, corral::v1::InputState* state)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes from `data` what a shared input has accepted. Called after an
  // attempt without an answer.
  absl::Status SkipAccepted(std::string* data);
  // The error of an attempt that is not repeated.
  absl::Status Failure(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  bool stopped() ABSL_LOCKS_EXCLUDED(mutex_);

  Connection* const connection_;
  const std::string name_;
  const Sharing sharing_;
  // The offset of the input after the last write.
  uint64_t accepted_;

  sandbox::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // The attempt in progress.
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace client

#endif  // BRIDGE_CLIENT_INPUT_WRITER_H_

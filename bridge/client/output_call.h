// One call of RunExecution or StreamOutput, as a sequence of events.
//
// Belongs to one thread, which blocks in Read(); Cancel() may be called from
// any.

#ifndef BRIDGE_CLIENT_OUTPUT_CALL_H_
#define BRIDGE_CLIENT_OUTPUT_CALL_H_

#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace client {

class OutputCall {
 public:
  using Stub = corral::v1::ExecutionService::StubInterface;

  // Begins the call. The stub must outlive this object.
  OutputCall(Stub& executions, const corral::v1::RunExecutionRequest& request);
  OutputCall(Stub& executions, const corral::v1::StreamOutputRequest& request);
  ~OutputCall();  // cancels it

  OutputCall(const OutputCall&) = delete;
  OutputCall& operator=(const OutputCall&) = delete;

  // Waits for the next event. Returns none when the call is over, also because
  // it delivered nothing for `silence` and was cancelled; Finish() says why.
  std::optional<corral::v1::OutputEvent> Read(absl::Duration silence);

  // Call it once, after Read() returned none. Returns DEADLINE_EXCEEDED if the
  // call was silent.
  grpc::Status Finish();

  // Ends a Read() that waits, and every later one.
  void Cancel() { context_.TryCancel(); }

 private:
  enum class State { kStarting, kReading, kOver, kFinished };
  using Reader = grpc::ClientAsyncReaderInterface<corral::v1::OutputEvent>;

  // Waits for the operation that is in progress. True: it succeeded.
  bool Await(absl::Duration limit);

  State state_ = State::kStarting;
  absl::Duration silence_ = absl::ZeroDuration();  // zero: it was not silent
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_OUTPUT_CALL_H_

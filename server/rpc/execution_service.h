// corral.v1.ExecutionService.

#ifndef SERVER_RPC_EXECUTION_SERVICE_H_
#define SERVER_RPC_EXECUTION_SERVICE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "sandbox/base/instant.h"
#include "server/api/ceilings.h"
#include "server/core/disk_reads.h"
#include "server/core/execution.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/rpc/found_execution.h"
#include "server/rpc/output_stream.h"
#include "server/rpc/run_stream.h"
#include "server/runtime/activity.h"
#include "server/runtime/timer_queue.h"

namespace server {

// Thread-safe: gRPC calls the methods on its threads. None of them blocks.
class ExecutionService final
    : public corral::v1::ExecutionService::CallbackService {
 public:
  using Context = grpc::CallbackServerContext;
  using UnaryReactor = grpc::ServerUnaryReactor;
  using OutputReactor = grpc::ServerWriteReactor<corral::v1::OutputEvent>;
  using RunReactor = grpc::ServerBidiReactor<corral::v1::RunExecutionsRequest,
                                             corral::v1::RunExecutionsResponse>;

  // All pointers must outlive the service.
  ExecutionService(Sandboxes* sandboxes, TimerQueue* timers, DiskReads* reads,
                   Activity* activity, Ceilings ceilings)
      : sandboxes_(sandboxes),
        timers_(timers),
        reads_(reads),
        activity_(activity),
        ceilings_(std::move(ceilings)) {}

  UnaryReactor* StartExecution(Context* context,
                               const corral::v1::StartExecutionRequest* request,
                               corral::v1::Execution* response) override;
  OutputReactor* RunExecution(
      Context* context,
      const corral::v1::RunExecutionRequest* request) override;
  RunReactor* RunExecutions(Context* context) override;
  UnaryReactor* GetExecution(Context* context,
                             const corral::v1::GetExecutionRequest* request,
                             corral::v1::Execution* response) override;
  UnaryReactor* ListExecutions(
      Context* context, const corral::v1::ListExecutionsRequest* request,
      corral::v1::ListExecutionsResponse* response) override;
  UnaryReactor* WaitExecution(Context* context,
                              const corral::v1::WaitExecutionRequest* request,
                              corral::v1::Execution* response) override;
  UnaryReactor* DeleteExecution(
      Context* context, const corral::v1::DeleteExecutionRequest* request,
      google::protobuf::Empty* response) override;
  UnaryReactor* ReadOutput(Context* context,
                           const corral::v1::ReadOutputRequest* request,
                           corral::v1::ReadOutputResponse* response) override;
  OutputReactor* StreamOutput(
      Context* context,
      const corral::v1::StreamOutputRequest* request) override;
  UnaryReactor* AcknowledgeOutput(
      Context* context, const corral::v1::AcknowledgeOutputRequest* request,
      google::protobuf::Empty* response) override;

  UnaryReactor* WriteInput(Context* context,
                           const corral::v1::WriteInputRequest* request,
                           corral::v1::InputState* response) override;
  UnaryReactor* SignalExecution(
      Context* context, const corral::v1::SignalExecutionRequest* request,
      google::protobuf::Empty* response) override;
  UnaryReactor* ResizeTerminal(Context* context,
                               const corral::v1::ResizeTerminalRequest* request,
                               google::protobuf::Empty* response) override;

 private:
  using Answer = absl::AnyInvocable<void(absl::Status)>;

  // Fails with INVALID_FIELD for the field "name", or EXECUTION_NOT_FOUND.
  absl::StatusOr<FoundExecution> Find(const std::string& name);

  // Finds the execution and passes it to `begin`, together with the function
  // that answers the call. `begin` must have that function called once, on any
  // thread. If Find() fails, answers the call with the error.
  UnaryReactor* AnswerLater(
      Context* context, const std::string& name,
      absl::FunctionRef<void(const FoundExecution&, Answer)> begin);

  // Fails with INVALID_FIELD for the field "parent", or SANDBOX_NOT_FOUND.
  absl::StatusOr<std::shared_ptr<Sandbox>> FindParent(
      const std::string& parent);

  // Checks the command against the ranges of the API and this server's
  // ceilings. Fails with INVALID_FIELD.
  absl::Status CheckRequestedCommand(
      const corral::v1::Command& command,
      const std::vector<absl::string_view>& workspaces) const;
  // Fills the absent fields for which there is a ceiling.
  corral::v1::Command Complete(corral::v1::Command command) const;

  // Checks a request for a command in a sandbox, and that the server takes new
  // work. Returns the sandbox.
  absl::StatusOr<std::shared_ptr<Sandbox>> Admit(
      const corral::v1::StartExecutionRequest& request);
  // Returns what the sandbox needs for an admitted request, which was received
  // at this moment.
  Sandbox::NewExecution ToNewExecution(
      const corral::v1::StartExecutionRequest& request,
      const sandbox::Instant& received) const;

  // Returns the present moment for a command with a trace; for others, which
  // need none, nothing.
  static sandbox::Instant ReceivedNow(const corral::v1::Command& command) {
    return command.trace() ? sandbox::Instant::Now() : sandbox::Instant();
  }

  // execution_service_streams.cc: one start of RunExecutions.
  void StartOne(const corral::v1::StartExecutionRequest& request,
                RunStream::Started started);
  // The two ways of RunExecution, which the server received at this moment.
  absl::Status RunInNew(const corral::v1::RunExecutionRequest& request,
                        const sandbox::Instant& received,
                        const std::shared_ptr<OutputStream>& stream);
  absl::Status RunInExisting(const corral::v1::RunExecutionRequest& request,
                             const sandbox::Instant& received,
                             const std::shared_ptr<OutputStream>& stream);

  Sandboxes* const sandboxes_;
  TimerQueue* const timers_;
  DiskReads* const reads_;
  Activity* const activity_;
  const Ceilings ceilings_;
};

}  // namespace server

#endif  // SERVER_RPC_EXECUTION_SERVICE_H_

// For tests: the services on fake supervisors, with a fake clock and an
// in-process channel.

#ifndef SERVER_RPC_SERVER_FIXTURE_H_
#define SERVER_RPC_SERVER_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/server.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "server/api/ceilings.h"
#include "server/core/lanes.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/core/storage_health.h"
#include "server/core/workspace_checks.h"
#include "server/core/workspace_policy.h"
#include "server/rpc/execution_service.h"
#include "server/rpc/sandbox_service.h"
#include "server/runtime/activity.h"
#include "server/runtime/heap_trim.h"
#include "tests/fakes/fake_supervisor_launcher.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {

class ServerFixture : public ::testing::Test {
 protected:
  using Events = std::vector<corral::v1::OutputEvent>;

  // One call of StreamOutput or RunExecution.
  struct OutputCall {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<corral::v1::OutputEvent>> reader;

    // Returns the next event; an empty one at the end of the stream.
    corral::v1::OutputEvent Next();
    // Reads the rest of the stream. `status` gets the status of the call, which
    // must be OK if `status` is null.
    Events Rest(grpc::Status* status = nullptr);
  };

  // Sets the limits of sandboxes, of executions that run in each, of waiting
  // calls, and of bytes of input that wait.
  explicit ServerFixture(uint32_t max_sandboxes = kMaxSandboxes,
                         uint32_t max_executions = kMaxExecutions,
                         size_t max_waiting_calls = kMaxWaitingCalls,
                         uint64_t max_waiting_input = UINT64_MAX);
  ~ServerFixture() override;

  // Blocks until the lanes have no work left.
  void AwaitLanes();

  // Replaces the server by another one on the same state directory, as after
  // kill -9. Supervisors live on. Returns when the new server has read and
  // removed what it can; see Sandboxes::Recover().
  void Restart();

  // Make a sandbox, and an execution in it. Return the name.
  std::string CreateSandbox(const std::string& id = "");
  std::string StartExecution(const std::string& sandbox_name,
                             const corral::v1::Command& command);
  // Makes both, with a command that has stdout and stderr. Returns the name of
  // the execution.
  std::string StartOne();

  corral::v1::Execution Get(const std::string& name);
  corral::v1::Execution Wait(const std::string& name);
  // Blocks until no sandbox is left.
  void AwaitNoSandbox();

  std::unique_ptr<OutputCall> Stream(
      const corral::v1::StreamOutputRequest& request);
  std::unique_ptr<OutputCall> Stream(const std::string& name);
  std::unique_ptr<OutputCall> Run(
      const corral::v1::RunExecutionRequest& request);

  static corral::v1::Command Command(
      const std::vector<std::string>& arguments = {"true"});
  // Returns the bytes of one stream in these events, which must have no gap.
  static std::string BytesOf(const Events& events, corral::v1::Stream stream);
  // Returns the reason in the ErrorInfo of a status.
  static std::string Reason(const grpc::Status& status);
  // Returns the field in the BadRequest of a status; empty if there is none.
  static std::string Field(const grpc::Status& status);

  // Calls `method` of a stub.
  template <typename Stub, typename Request, typename Response>
  static grpc::Status Call(Stub* stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                        const Request&,
                                                        Response*),
                           const Request& request, Response* response) {
    grpc::ClientContext context;
    return (stub->*method)(&context, request, response);
  }

  using SandboxStub = corral::v1::SandboxService::Stub;
  using ExecutionStub = corral::v1::ExecutionService::Stub;

  tests::FakeSupervisorLauncher factory_;
  tests::FakeTimerQueue timers_;
  const std::string path_;
  // Allows every directory but the state directory.
  const WorkspacePolicy policy_;
  Ceilings ceilings_;
  std::unique_ptr<StateDirectory> state_;
  StorageHealth storage_;
  std::unique_ptr<Activity> activity_;
  std::unique_ptr<Lanes> lanes_;
  // Asks the policy. A test may replace it before it creates a sandbox.
  WorkspaceChecks::Check check_workspace_;
  std::unique_ptr<WorkspaceChecks> workspaces_;
  std::unique_ptr<WorkspaceChecks> mounts_;
  std::unique_ptr<HeapTrim> heap_;
  std::unique_ptr<Sandboxes> sandboxes_;
  std::unique_ptr<SandboxService> sandbox_service_;
  std::unique_ptr<ExecutionService> execution_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<SandboxStub> sandbox_stub_;
  std::unique_ptr<ExecutionStub> execution_stub_;

  // The configuration.
  static constexpr int kMaxPids = 100'000;
  static constexpr int kMaxKillGraceSeconds = 1800;
  static constexpr int kMaxWallSeconds = 86'400;
  static constexpr int kMaxWaitingCalls = 128;
  static constexpr int kMaxSandboxes = 8;
  static constexpr int kMaxExecutions = 8;
  static constexpr uint64_t kOutputBytes = 1 << 30;
  static constexpr uint64_t kMaxOutputBytes = 1ULL << 40;

 private:
  const uint32_t max_sandboxes_;
  const uint32_t max_executions_;
  const size_t max_waiting_calls_;
  const uint64_t max_waiting_input_;

  void Begin();
  void End();
};

}  // namespace server

#endif  // SERVER_RPC_SERVER_FIXTURE_H_

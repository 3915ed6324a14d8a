// A gRPC client of corrald with the calls that the benchmarks need.
//
// May be called from any thread. Returns an error if a call fails or a command
// does not exit with 0.

#ifndef TESTS_BENCHMARKS_CORRAL_H_
#define TESTS_BENCHMARKS_CORRAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace tests {

class Corral {
 public:
  // `channel` leads to the server.
  explicit Corral(const std::shared_ptr<grpc::Channel>& channel);

  // Creates a sandbox and returns its name. `workspace` may be empty. With
  // `max_ended` 0 it keeps as many ended executions as is usual.
  absl::StatusOr<std::string> CreateSandbox(const std::string& workspace,
                                            uint32_t max_ended = 0);
  absl::StatusOr<corral::v1::Sandbox> GetSandbox(const std::string& name);
  absl::Status DeleteSandbox(const std::string& name);

  // Returns when no sandbox is left.
  absl::Status AwaitNoSandbox();

  // Starts a command whose input stays open, and returns the name of the
  // execution.
  absl::StatusOr<std::string> Start(const std::string& sandbox,
                                    const std::vector<std::string>& argv);
  absl::Status Wait(const std::string& execution);
  absl::Status DeleteExecution(const std::string& name);

  // Runs a command and returns the time to the end of the stream. The record is
  // kept.
  absl::StatusOr<absl::Duration> RunCommand(
      const std::string& sandbox, const std::vector<std::string>& argv);

  // Runs a command and returns the time to the end of the stream. In a sandbox,
  // the record is deleted afterwards; the deletion is not part of the time.
  // With kTenant as parent, the command gets a sandbox of its own.
  // `supervised`, if not null, gets the time that the supervisor measured, from
  // the request to the moment when it reaped the command.
  absl::StatusOr<absl::Duration> TimeCommand(
      const std::string& parent, const std::vector<std::string>& argv,
      absl::Duration* supervised = nullptr);

  // Reads the output of a command, which must write exactly `bytes` bytes and
  // wait for its reader. Calls `on_first_byte` once.
  absl::Status ReadOutput(const std::string& parent,
                          const std::vector<std::string>& argv, uint64_t bytes,
                          absl::FunctionRef<void()> on_first_byte);

  corral::v1::ExecutionService::Stub& executions() { return *executions_; }
  corral::v1::SandboxService::Stub& sandboxes() { return *sandboxes_; }

  static constexpr char kTenant[] = "tenants/default";

 private:
  struct Ran {
    absl::Duration elapsed;
    // The execution's.
    std::string name;
    absl::Duration supervised;
  };

  // The output of one command so far.
  struct Received {
    std::string execution;
    uint64_t bytes = 0;
    uint64_t acknowledged = 0;
  };

  absl::StatusOr<Ran> Run(const std::string& parent,
                          const std::vector<std::string>& argv);
  absl::Status Receive(const corral::v1::OutputEvent& event,
                       Received& received);
  absl::Status Acknowledge(const std::string& name, uint64_t offset);

  std::unique_ptr<corral::v1::SandboxService::Stub> sandboxes_;
  std::unique_ptr<corral::v1::ExecutionService::Stub> executions_;
};

// A request for a command with pipes and without input.
corral::v1::RunExecutionRequest MakeRequest(
    const std::string& parent, const std::vector<std::string>& argv);

// OK if the event is the end of a command that exited with 0.
absl::Status CheckEnd(const corral::v1::OutputEvent& event);
// OK if the command exited with 0.
absl::Status CheckEnd(const corral::v1::Execution& execution);

absl::Status FromGrpc(const grpc::Status& status);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_CORRAL_H_

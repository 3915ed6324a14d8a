// A test with its own corrald and a client on generated stubs.

#ifndef TESTS_INTEGRATION_INTEGRATION_TEST_H_
#define TESTS_INTEGRATION_INTEGRATION_TEST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/integration/corrald.h"

namespace tests {

inline constexpr char kTenant[] = "tenants/default";

// One call of StreamOutput or RunExecution.
struct OutputCall {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<corral::v1::OutputEvent>> reader;
  // The bytes received so far, by stream, and the gaps.
  std::map<corral::v1::Stream, std::string> bytes;
  std::vector<corral::v1::Gap> gaps;
  corral::v1::Execution opened;
  // Has no name until the event has come.
  corral::v1::Execution ended;

  // Reads one event. Returns false if there are no more.
  bool Next();
  // Reads until the output of `stream` holds `text`.
  void ReadUntil(corral::v1::Stream stream, const std::string& text);
  // Reads to the end of the stream.
  grpc::Status Finish();
};

class Client {
 public:
  using SandboxStub = corral::v1::SandboxService::Stub;
  using ExecutionStub = corral::v1::ExecutionService::Stub;

  explicit Client(const std::shared_ptr<grpc::Channel>& channel);

  // These calls expect success.
  std::string CreateSandbox(const corral::v1::CreateSandboxRequest& request);
  corral::v1::Execution Start(const std::string& sandbox,
                              const corral::v1::Command& command);
  corral::v1::Execution Get(const std::string& execution);
  corral::v1::Execution Wait(const std::string& execution);
  void WriteInput(const std::string& execution, uint64_t offset,
                  const std::string& data, bool eof = false);
  void Delete(const std::string& execution);
  void DeleteSandbox(const std::string& sandbox);
  // Starts a command and reads its output to the end.
  std::unique_ptr<OutputCall> Run(const std::string& parent,
                                  const corral::v1::Command& command);
  corral::v1::ServerInfo GetInfo();

  grpc::Status Signal(const std::string& execution, int signal,
                      corral::v1::SignalExecutionRequest::Scope scope =
                          corral::v1::SignalExecutionRequest::TREE);

  std::unique_ptr<OutputCall> Stream(
      const corral::v1::StreamOutputRequest& request);
  std::unique_ptr<OutputCall> Stream(const std::string& execution);
  std::unique_ptr<OutputCall> BeginRun(
      const corral::v1::RunExecutionRequest& request);

  // Makes any other call: Call(&ExecutionStub::GetExecution, request,
  // &response).
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (SandboxStub::*method)(grpc::ClientContext*,
                                                        const Request&,
                                                        Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return (sandboxes_.get()->*method)(&context, request, response);
  }
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (ExecutionStub::*method)(grpc::ClientContext*,
                                                          const Request&,
                                                          Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return (executions_.get()->*method)(&context, request, response);
  }

  ExecutionStub& executions() { return *executions_; }

 private:
  std::unique_ptr<SandboxStub> sandboxes_;
  std::unique_ptr<ExecutionStub> executions_;
  std::unique_ptr<corral::v1::AdminService::Stub> admin_;
};

class IntegrationTest : public ::testing::Test {
 protected:
  void SetUp() override;
  // Expects that the server still answers, ends well and leaves nothing.
  void TearDown() override;

  // Creates a sandbox with the workspace, or one with limits and no workspace.
  std::string CreateSandbox();
  std::string CreateSandbox(const corral::v1::Limits& limits);

  Corrald server_;
  std::unique_ptr<Client> client_;
};

corral::v1::Command MakeCommand(const std::vector<std::string>& arguments);
// A command with standard input.
corral::v1::Command Shell(const std::string& script);

// The reason of the ErrorInfo; the first field of the BadRequest.
std::string Reason(const grpc::Status& status);
std::string Field(const grpc::Status& status);
// Returns true if the error has a RetryInfo.
bool SaysWhenToRetry(const grpc::Status& status);

}  // namespace tests

#endif  // TESTS_INTEGRATION_INTEGRATION_TEST_H_

// Ended executions go by themselves, so that starts never fail because of them.

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ExecutionStub = Client::ExecutionStub;

constexpr int kKept = 100;
constexpr int kCallers = 4;
// More than may run in a sandbox and more than may be kept, several times.
constexpr int kExecutions = 600;

class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest()
      : server_(absl::StrCat("drain_seconds: 0 max_executions_per_sandbox: 50 ",
                             "default_max_ended_executions: ", kKept)) {}

  void SetUp() override { ASSERT_NO_FATAL_FAILURE(server_.Start()); }

  // Runs commands one after another and expects that all start.
  void RunCommands(const std::string& sandbox) {
    Client client(server_.Connect());
    int number = 0;
    while ((number = started_++) < kExecutions) {
      corral::v1::RunExecutionRequest request;
      request.set_parent(sandbox);
      request.set_execution_id(absl::StrCat("e", number));
      *request.mutable_command() = MakeCommand({"true"});
      const auto call = client.BeginRun(request);
      const grpc::Status status = call->Finish();
      EXPECT_TRUE(status.ok()) << number << ": " << status.error_message();
      EXPECT_EQ(call->ended.state(), Execution::EXITED) << number;
    }
  }

  static int Count(Client& client, const std::string& sandbox) {
    corral::v1::ListExecutionsRequest request;
    request.set_parent(sandbox);
    request.set_page_size(1000);
    corral::v1::ListExecutionsResponse response;
    EXPECT_TRUE(
        client.Call(&ExecutionStub::ListExecutions, request, &response).ok());
    return response.executions_size();
  }

  Corrald server_;
  std::atomic<int> started_ = 0;
};

TEST_F(RetentionTest, OldExecutionsGoAndStartsNeverFail) {
  Client client(server_.Connect());
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  const std::string sandbox = client.CreateSandbox(create);
  std::vector<std::thread> callers;
  callers.reserve(kCallers);
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] { RunCommands(sandbox); });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  while (Count(client, sandbox) > kKept) {
  }
  EXPECT_EQ(Count(client, sandbox), kKept);
  corral::v1::GetExecutionRequest get;
  Execution execution;
  get.set_name(sandbox + "/executions/e0");
  EXPECT_EQ(Reason(client.Call(&ExecutionStub::GetExecution, get, &execution)),
            "EXECUTION_NOT_FOUND");
  get.set_name(absl::StrCat(sandbox, "/executions/e", kExecutions - 1));
  EXPECT_TRUE(client.Call(&ExecutionStub::GetExecution, get, &execution).ok());
  client.DeleteSandbox(sandbox);
  server_.End();
}

}  // namespace
}  // namespace tests

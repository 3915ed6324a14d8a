// Repeated requests while the server is killed.

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::RunExecutionRequest;
using ::corral::v1::Sandbox;
using ::corral::v1::StartExecutionRequest;
using ::testing::SizeIs;
using SandboxStub = Client::SandboxStub;

constexpr int kCallers = 100;

StartExecutionRequest Request(const std::string& sandbox,
                              const corral::v1::Command& command) {
  StartExecutionRequest request;
  request.set_parent(sandbox);
  request.set_request_id("6f2c1b54-start");
  *request.mutable_command() = command;
  return request;
}

class IdempotencyTest : public IntegrationTest {
 protected:
  // Repeats the call until the server answers, which may not be running.
  Execution Start(const StartExecutionRequest& request) {
    Client client(server_.Connect());
    for (;;) {
      Execution execution;
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      const grpc::Status status =
          client.executions().StartExecution(&context, request, &execution);
      if (status.ok()) {
        return execution;
      }
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE)
          << status.error_message();
    }
  }

  // Sends the request from many callers at once while `disturb` runs. Returns
  // the names of the executions that they got.
  template <typename Disturb>
  std::set<std::string> StartFromMany(const StartExecutionRequest& request,
                                      Disturb disturb) {
    sandbox::Mutex mutex;
    std::set<std::string> names;
    std::vector<std::thread> callers;
    callers.reserve(kCallers);
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        const std::string name = Start(request).name();
        sandbox::MutexLock lock(&mutex);
        names.insert(name);
      });
    }
    disturb();
    for (std::thread& caller : callers) {
      caller.join();
    }
    return names;
  }

  // Returns how many times the command of AppendALetter() ran.
  size_t Runs() const { return ReadFile(server_.workspace() + "/runs").size(); }
  static corral::v1::Command AppendALetter() {
    return MakeCommand({"/bin/sh", "-c", "printf x >> runs"});
  }
};

TEST_F(IdempotencyTest, AHundredCallersStartOneCommand) {
  const auto request = Request(CreateSandbox(), AppendALetter());
  const auto names = StartFromMany(request, [] {});
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_EQ(client_->Wait(*names.begin()).exit().code(), 0);
  EXPECT_EQ(Runs(), 1);
}

TEST_F(IdempotencyTest, AHundredCallersStartOneCommandWhileTheServerIsKilled) {
  const auto request = Request(CreateSandbox(), AppendALetter());
  const auto names = StartFromMany(request, [this] {
    server_.Kill();
    server_.Start();
  });
  ASSERT_THAT(names, SizeIs(1));
  client_ = std::make_unique<Client>(server_.Connect());
  EXPECT_EQ(client_->Wait(*names.begin()).exit().code(), 0);
  EXPECT_EQ(Runs(), 1);
}

TEST_F(IdempotencyTest, KilledCreationIsCompleteOrNeverBegan) {
  for (int round = 0; round < 8; ++round) {
    corral::v1::CreateSandboxRequest request;
    request.set_parent(kTenant);
    request.set_request_id(absl::StrCat("create-", round));
    constexpr int kCallers = 4;
    std::vector<std::thread> callers;
    callers.reserve(kCallers);
    std::atomic<int> calls = 0;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        Client client(server_.Connect());
        Sandbox sandbox;
        ++calls;
        client.Call(&SandboxStub::CreateSandbox, request, &sandbox);
      });
    }
    while (calls < kCallers) {
      std::this_thread::yield();
    }
    server_.Kill();
    for (std::thread& caller : callers) {
      caller.join();
    }
    server_.Start();
    client_ = std::make_unique<Client>(server_.Connect());
    Sandbox sandbox;
    ASSERT_TRUE(
        client_->Call(&SandboxStub::CreateSandbox, request, &sandbox).ok());
    EXPECT_EQ(sandbox.state(), Sandbox::READY)
        << sandbox.DebugString() << server_.log();
    EXPECT_EQ(client_->GetInfo().sandboxes(), round + 1);
  }
}

TEST_F(IdempotencyTest, RepeatedRunAfterAKillStreamsTheSameExecution) {
  RunExecutionRequest request;
  request.set_parent(kTenant);
  request.set_request_id("run");
  *request.mutable_command() = Shell("echo begin; read line; echo $line");
  auto first = client_->BeginRun(request);
  first->ReadUntil(corral::v1::STDOUT, "begin\n");
  server_.Kill();
  first->Finish();
  server_.Start();
  client_ = std::make_unique<Client>(server_.Connect());
  auto second = client_->BeginRun(request);
  second->ReadUntil(corral::v1::STDOUT, "begin\n");
  EXPECT_EQ(second->opened.name(), first->opened.name());
  client_->WriteInput(second->opened.name(), 0, "end\n");
  EXPECT_TRUE(second->Finish().ok());
  EXPECT_EQ(second->bytes[corral::v1::STDOUT], "begin\nend\n");
  EXPECT_EQ(second->ended.exit().code(), 0);
}

}  // namespace
}  // namespace tests

// The state of one sandbox lies on a disk that hangs: only calls that need this
// disk wait.

#include <signal.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gtest/gtest.h"
#include "tests/hanging_filesystem/hanging_directory.h"
#include "tests/integration/corrald.h"
#include "tests/integration/integration_test.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::STDOUT;

constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

class HungFilesystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(server_.state_directory());
    disk_.emplace(server_.state_directory());
    if (!disk_->is_mounted()) {
      GTEST_SKIP() << "no file system can be mounted with FUSE here";
    }
    ASSERT_NO_FATAL_FAILURE(server_.Start());
    client_ = std::make_unique<Client>(server_.Connect());
  }

  void TearDown() override {
    client_.reset();
    if (server_.IsRunning()) {
      disk_->Release();
      server_.Signal(SIGTERM);
      EXPECT_EQ(server_.Wait(), 0) << server_.log();
      disk_.reset();
      server_.ExpectNothingLeft();
    }
  }

  std::string CreateSandbox() {
    corral::v1::CreateSandboxRequest request;
    request.set_parent(kTenant);
    return client_->CreateSandbox(request);
  }

  // Starts a command and returns when it has written. Reads nothing, so that
  // the server has no file of it open.
  std::string StartOutput(const std::string& sandbox) {
    std::string name = client_->Start(sandbox, Shell("echo text; cat")).name();
    while (client_->Get(name).streams(0).end_offset() < 5) {
      absl::SleepFor(kPollInterval);
    }
    return name;
  }

  void HangDiskOf(const std::string& sandbox) {
    disk_->Hang(
        absl::StrCat("/sandboxes/", sandbox.substr(sandbox.rfind('/') + 1)));
  }

  std::string Read(const std::string& execution) {
    corral::v1::ReadOutputRequest request;
    request.set_name(execution);
    request.set_stream(STDOUT);
    corral::v1::ReadOutputResponse response;
    const grpc::Status status =
        client_->Call(&Client::ExecutionStub::ReadOutput, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.data();
  }

  int CountAllExecutions() {
    corral::v1::ListExecutionsRequest request;
    request.set_parent(absl::StrCat(kTenant, "/sandboxes/-"));
    corral::v1::ListExecutionsResponse response;
    const grpc::Status status = client_->Call(
        &Client::ExecutionStub::ListExecutions, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.executions_size();
  }

  // Makes a call and prints how long it took.
  template <typename Call>
  void Time(const char* name, Call call) {
    const absl::Time begin = absl::Now();
    call();
    std::cout << "  " << name << ": "
              << absl::FormatDuration(
                     absl::Trunc(absl::Now() - begin, absl::Microseconds(1)))
              << "\n";
  }

  // Every kind of call, to a sandbox whose disk works and in which `running`
  // runs.
  void UseAll(const std::string& sandbox, const std::string& running) {
    Time("GetExecution",
         [&] { EXPECT_EQ(client_->Get(running).state(), Execution::RUNNING); });
    // One runs in each sandbox, and one is being started.
    Time("ListExecutions", [&] { EXPECT_EQ(CountAllExecutions(), 3); });
    Time("ReadOutput", [&] { EXPECT_EQ(Read(running), "text\n"); });
    std::string started;
    Time("StartExecution", [&] {
      started = client_->Start(sandbox, Shell("echo $((6*7)); exit 3")).name();
    });
    Time("WaitExecution",
         [&] { EXPECT_EQ(client_->Wait(started).exit().code(), 3); });
    Time("StreamOutput", [&] {
      const auto stream = client_->Stream(started);
      EXPECT_TRUE(stream->Finish().ok());
      EXPECT_EQ(stream->bytes[STDOUT], "42\n");
    });
    Time("DeleteExecution", [&] { client_->Delete(started); });
    std::string created;
    Time("CreateSandbox", [&] { created = CreateSandbox(); });
    Time("DeleteSandbox", [&] { client_->DeleteSandbox(created); });
    Time("SignalExecution",
         [&] { EXPECT_TRUE(client_->Signal(running, SIGKILL).ok()); });
    Time("WaitExecution",
         [&] { EXPECT_EQ(client_->Wait(running).exit().signal(), SIGKILL); });
  }

  Corrald server_;
  std::optional<HangingDirectory> disk_;
  std::unique_ptr<Client> client_;
};

TEST_F(HungFilesystemTest, DelaysOnlyTheSandboxThatNeedsIt) {
  const std::string hung = CreateSandbox();
  const std::string other = CreateSandbox();
  const std::string waiting = StartOutput(hung);
  const std::string running = StartOutput(other);

  HangDiskOf(hung);
  std::atomic<int> answered = 0;
  std::vector<std::thread> calls;
  // More than the threads that serve gRPC.
  for (int i = 0; i < 8; ++i) {
    calls.emplace_back([&] {
      EXPECT_EQ(Read(waiting), "text\n");
      ++answered;
    });
  }
  calls.emplace_back([&] {
    client_->Start(hung, Shell("true"));
    ++answered;
  });
  // One reads output, one starts a command.
  disk_->AwaitWaiting(2);
  UseAll(other, running);
  EXPECT_EQ(answered, 0);
  EXPECT_GE(disk_->CountWaiting(), 2);

  disk_->Release();
  for (std::thread& call : calls) {
    call.join();
  }
  client_->WriteInput(waiting, 0, "more\n", /*eof=*/true);
  EXPECT_EQ(client_->Wait(waiting).exit().code(), 0);
  EXPECT_EQ(Read(waiting), "text\nmore\n");
}

TEST_F(HungFilesystemTest, EndsThoughTheCheckOfAWorkspaceHangs) {
  HangingDirectory workspace(server_.workspace());
  workspace.Hang("/");
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.mutable_sandbox()->mutable_workspace()->set_path(server_.workspace());
  std::thread creation([&] {
    corral::v1::Sandbox sandbox;
    EXPECT_FALSE(
        client_->Call(&Client::SandboxStub::CreateSandbox, request, &sandbox)
            .ok());
  });
  workspace.AwaitWaiting(1);
  server_.Signal(SIGTERM);
  // The kernel keeps the process until FUSE answers its last thread.
  while (!absl::StrContains(server_.log(), "the server ends without it")) {
    absl::SleepFor(kPollInterval);
  }
  creation.join();
  workspace.Release();
  EXPECT_EQ(server_.Wait(), 0) << server_.log();
}

TEST_F(HungFilesystemTest, StartsThoughTheDirectoryOfASandboxHangs) {
  const std::string hung = CreateSandbox();
  const std::string other = CreateSandbox();
  const std::string waiting = StartOutput(hung);
  const std::string running = StartOutput(other);
  server_.Kill();
  HangDiskOf(hung);
  ASSERT_NO_FATAL_FAILURE(server_.Start());
  client_ = std::make_unique<Client>(server_.Connect());

  EXPECT_EQ(Read(running), "text\n");
  corral::v1::GetExecutionRequest get;
  get.set_name(waiting);
  Execution execution;
  grpc::Status refused =
      client_->Call(&Client::ExecutionStub::GetExecution, get, &execution);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(refused), "SANDBOX_NOT_READY");
  EXPECT_TRUE(SaysWhenToRetry(refused));
  // Nobody else gets its name.
  corral::v1::CreateSandboxRequest creation;
  creation.set_parent(kTenant);
  creation.set_sandbox_id(hung.substr(hung.rfind('/') + 1));
  corral::v1::Sandbox sandbox;
  refused =
      client_->Call(&Client::SandboxStub::CreateSandbox, creation, &sandbox);
  EXPECT_EQ(Reason(refused), "SANDBOX_NOT_READY");
  corral::v1::ListSandboxesRequest list;
  list.set_parent(kTenant);
  corral::v1::ListSandboxesResponse listed;
  EXPECT_TRUE(
      client_->Call(&Client::SandboxStub::ListSandboxes, list, &listed).ok());
  ASSERT_EQ(listed.sandboxes_size(), 1);
  EXPECT_EQ(listed.sandboxes(0).name(), other);
  ASSERT_EQ(listed.unreachable_size(), 1);
  EXPECT_EQ(listed.unreachable(0), hung);

  disk_->Release();
  // Its record may say that it starts, until the server has asked its
  // supervisor.
  while (!client_->Call(&Client::ExecutionStub::GetExecution, get, &execution)
              .ok() ||
         execution.state() == Execution::STARTING) {
    absl::SleepFor(kPollInterval);
  }
  EXPECT_EQ(execution.state(), Execution::RUNNING);
  client_->WriteInput(waiting, 0, "more\n", /*eof=*/true);
  EXPECT_EQ(client_->Wait(waiting).exit().code(), 0);
  EXPECT_EQ(Read(waiting), "text\nmore\n");
}

TEST_F(HungFilesystemTest, ServesOthersThoughTheRecordsOfManySandboxesHang) {
  std::vector<std::string> hung;
  // More than the server has threads for records.
  for (int i = 0; i < 8; ++i) {
    hung.push_back(CreateSandbox());
    StartOutput(hung.back());
  }
  const std::string other = CreateSandbox();
  const std::string running = StartOutput(other);
  server_.Kill();
  for (const std::string& sandbox : hung) {
    disk_->Hang(absl::StrCat(
        "/sandboxes/", sandbox.substr(sandbox.rfind('/') + 1), "/executions"));
  }
  ASSERT_NO_FATAL_FAILURE(server_.Start());
  client_ = std::make_unique<Client>(server_.Connect());

  // The server may be about to ask its supervisor.
  corral::v1::GetExecutionRequest get;
  get.set_name(running);
  Execution execution;
  while (!client_->Call(&Client::ExecutionStub::GetExecution, get, &execution)
              .ok()) {
    absl::SleepFor(kPollInterval);
  }
  EXPECT_EQ(Read(running), "text\n");
  const std::string started = client_->Start(other, Shell("exit 3")).name();
  EXPECT_EQ(client_->Wait(started).exit().code(), 3);
  client_->DeleteSandbox(CreateSandbox());
}

}  // namespace
}  // namespace tests

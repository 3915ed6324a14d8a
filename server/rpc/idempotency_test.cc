// Repeated requests, from a client's side.

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;
using ::testing::SizeIs;
using ::tests::FakeSupervisor;

class IdempotencyTest : public ServerFixture {
 protected:
  static constexpr int kCallers = 100;

  grpc::Status Start(const corral::v1::StartExecutionRequest& request,
                     corral::v1::Execution* response) {
    return Call(execution_stub_.get(), &ExecutionStub::StartExecution, request,
                response);
  }

  std::string StartOk(const corral::v1::StartExecutionRequest& request) {
    corral::v1::Execution response;
    const grpc::Status status = Start(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.name();
  }

  grpc::Status Create(const corral::v1::CreateSandboxRequest& request,
                      corral::v1::Sandbox* response) {
    return Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, request,
                response);
  }

  corral::v1::StartExecutionRequest Request(const std::string& sandbox) {
    corral::v1::StartExecutionRequest request;
    request.set_parent(sandbox);
    request.set_request_id("r-1");
    *request.mutable_command() = Command({"make"});
    return request;
  }

  static corral::v1::RunExecutionRequest RunRequest() {
    corral::v1::RunExecutionRequest request;
    request.set_parent("tenants/default");
    request.set_request_id("run-1");
    *request.mutable_command() = Command({"make"});
    return request;
  }

  int Starts(const std::string& sandbox) {
    int starts = 0;
    factory_.With(sandbox, [&](FakeSupervisor& supervisor) {
      starts = supervisor.starts();
    });
    return starts;
  }

  static std::string SandboxOf(const std::string& execution) {
    const std::string rest =
        execution.substr(std::string("tenants/default/sandboxes/").size());
    return rest.substr(0, rest.find('/'));
  }

  // Calls `ask` from many threads. Returns the names that it returned.
  template <typename Ask>
  static std::set<std::string> FromManyThreads(Ask ask) {
    sandbox::Mutex mutex;
    std::set<std::string> names;
    std::vector<std::thread> callers;
    callers.reserve(kCallers);
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        const std::string name = ask();
        sandbox::MutexLock lock(&mutex);
        names.insert(name);
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
    return names;
  }
};

TEST_F(IdempotencyTest, AHundredCallersStartOneCommand) {
  const auto request = Request(CreateSandbox("box"));
  EXPECT_THAT(FromManyThreads([&] { return StartOk(request); }), SizeIs(1));
  EXPECT_EQ(Starts("box"), 1);
}

TEST_F(IdempotencyTest, AHundredCallersMakeOneSandbox) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent("tenants/default");
  request.set_request_id("r-1");
  EXPECT_THAT(FromManyThreads([&] {
                corral::v1::Sandbox sandbox;
                EXPECT_TRUE(Create(request, &sandbox).ok());
                EXPECT_EQ(sandbox.state(), corral::v1::Sandbox::READY);
                return sandbox.name();
              }),
              SizeIs(1));
  EXPECT_EQ(sandboxes_->registry().size(), 1);
}

TEST_F(IdempotencyTest, AHundredCallersRunOneCommand) {
  const auto names = FromManyThreads([&] {
    const auto call = Run(RunRequest());
    std::string name = call->Next().opened().name();
    call->context.TryCancel();
    grpc::Status status;
    call->Rest(&status);
    return name;
  });
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_EQ(Starts(SandboxOf(*names.begin())), 1);
}

TEST_F(IdempotencyTest, ASandboxRequestIsKnownAfterARestart) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent("tenants/default");
  request.set_request_id("r-1");
  corral::v1::Sandbox first;
  ASSERT_TRUE(Create(request, &first).ok());
  Restart();
  corral::v1::Sandbox again;
  ASSERT_TRUE(Create(request, &again).ok());
  EXPECT_EQ(again.name(), first.name());
  request.mutable_sandbox()->mutable_limits()->set_pids(50);
  EXPECT_EQ(Reason(Create(request, &again)), "REQUEST_MISMATCH");
  request.set_request_id("\n");
  EXPECT_EQ(Field(Create(request, &again)), "request_id");
}

TEST_F(IdempotencyTest, AStartIsKnownAfterARestart) {
  auto request = Request(CreateSandbox("box"));
  const std::string name = StartOk(request);
  factory_.Exit(name, 3);
  Wait(name);
  Restart();
  corral::v1::Execution again;
  ASSERT_TRUE(Start(request, &again).ok());
  EXPECT_EQ(again.name(), name);
  EXPECT_EQ(again.exit().code(), 3);
  EXPECT_EQ(Starts("box"), 1);
  request.mutable_command()->add_argv("all");
  EXPECT_EQ(Reason(Start(request, &again)), "REQUEST_MISMATCH");
  request.set_request_id("r-2");
  EXPECT_NE(StartOk(request), name);
}

TEST_F(IdempotencyTest, RecognisesARepeatedRequestByItsChosenId) {
  auto request = Request(CreateSandbox("box"));
  request.clear_request_id();
  request.set_execution_id("job");
  const std::string name = StartOk(request);
  EXPECT_EQ(StartOk(request), name);
  Restart();
  EXPECT_EQ(StartOk(request), name);
  EXPECT_EQ(Starts("box"), 1);
}

TEST_F(IdempotencyTest, StartsAnotherCommandForARepeatedRequestWithoutAnId) {
  auto request = Request(CreateSandbox("box"));
  request.clear_request_id();
  EXPECT_NE(StartOk(request), StartOk(request));
}

TEST_F(IdempotencyTest, ARepeatedRunStreamsFromTheBeginning) {
  const auto first = Run(RunRequest());
  const std::string name = first->Next().opened().name();
  factory_.Write(name, wire::STDOUT, "begin ");
  const auto second = Run(RunRequest());
  EXPECT_EQ(second->Next().opened().name(), name);
  EXPECT_EQ(second->Next().chunk().data(), "begin ");
  first->context.TryCancel();
  second->context.TryCancel();
  grpc::Status status;
  first->Rest(&status);
  second->Rest(&status);
  Restart();
  const auto third = Run(RunRequest());
  EXPECT_EQ(third->Next().opened().name(), name);
  factory_.Write(name, wire::STDOUT, "end");
  factory_.Exit(name, 0);
  EXPECT_EQ(BytesOf(third->Rest(), corral::v1::STDOUT), "begin end");
  // The same after the end of the command.
  EXPECT_EQ(BytesOf(Run(RunRequest())->Rest(), corral::v1::STDOUT),
            "begin end");
  EXPECT_EQ(Starts(SandboxOf(name)), 1);
}

TEST_F(IdempotencyTest, AfterARefusedStartTheIdsAreFree) {
  auto request = Request(CreateSandbox("box"));
  request.set_execution_id("job");
  const auto refuse = [this](const absl::Status& error) {
    factory_.With("box", [&](FakeSupervisor& supervisor) {
      supervisor.RefuseStarts(error);
    });
  };
  corral::v1::Execution response;
  refuse(sandbox::MakeFailure(sandbox::wire::Reply::FAULT, "no pipes"));
  EXPECT_EQ(Reason(Start(request, &response)), "SERVER_FAULT");
  refuse(sandbox::MakeFailure(sandbox::wire::Reply::STORAGE,
                              "write(start.pb): no space"));
  const grpc::Status full = Start(request, &response);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(full), "STORAGE_FAILED");
  refuse(absl::OkStatus());
  request.mutable_command()->add_argv("all");
  EXPECT_TRUE(Start(request, &response).ok());
}

TEST_F(IdempotencyTest, AfterADeletionTheIdsAreFree) {
  const auto request = Request(CreateSandbox("box"));
  corral::v1::DeleteExecutionRequest deletion;
  deletion.set_name(StartOk(request));
  google::protobuf::Empty response;
  ASSERT_TRUE(Call(execution_stub_.get(), &ExecutionStub::DeleteExecution,
                   deletion, &response)
                  .ok());
  EXPECT_NE(StartOk(request), deletion.name());
  EXPECT_EQ(Starts("box"), 2);
}

TEST_F(IdempotencyTest, ReportsAStartThatMayHaveBegunAsLost) {
  const auto request = Request(CreateSandbox("box"));
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.DieOfStart(FakeSupervisor::Death::kAfterRecord);
  });
  corral::v1::Execution first;
  ASSERT_TRUE(Start(request, &first).ok());
  EXPECT_EQ(first.state(), corral::v1::Execution::LOST);
  EXPECT_EQ(first.loss().cause(), corral::v1::Loss::SUPERVISOR_DIED);
  EXPECT_FALSE(first.has_start_time());
  Restart();
  corral::v1::Execution again;
  ASSERT_TRUE(Start(request, &again).ok());
  EXPECT_EQ(again.name(), first.name());
  EXPECT_EQ(again.state(), corral::v1::Execution::LOST);
}

TEST_F(IdempotencyTest, ReportsThatAStartNeverBegan) {
  const auto request = Request(CreateSandbox("box"));
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.DieOfStart(FakeSupervisor::Death::kBeforeRecord);
  });
  corral::v1::Execution response;
  EXPECT_EQ(Reason(Start(request, &response)), "SANDBOX_NOT_READY");
  EXPECT_EQ(sandboxes_->registry().Find("box")->execution_count(), 0);
}

}  // namespace
}  // namespace server

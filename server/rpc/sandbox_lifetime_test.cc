// Deletion of sandboxes by age and by idle time, from a client's side.

#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gtest/gtest.h"
#include "sandbox/storage/record_file.h"
#include "server/rpc/server_fixture.h"

namespace server {
namespace {

namespace wire = ::corral::supervisor::v1;

class SandboxLifetimeTest : public ServerFixture {
 protected:
  // Creates the sandbox "box". A time of 0 sets no limit.
  std::string Create(int max_age_s, int idle_timeout_s,
                     int lease_timeout_s = 0) {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    request.set_sandbox_id("box");
    corral::v1::Lifetime* lifetime =
        request.mutable_sandbox()->mutable_lifetime();
    if (max_age_s != 0) {
      lifetime->mutable_max_age()->set_seconds(max_age_s);
    }
    if (idle_timeout_s != 0) {
      lifetime->mutable_idle_timeout()->set_seconds(idle_timeout_s);
    }
    if (lease_timeout_s != 0) {
      lifetime->mutable_lease_timeout()->set_seconds(lease_timeout_s);
    }
    corral::v1::Sandbox sandbox;
    EXPECT_TRUE(Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, request,
                     &sandbox)
                    .ok());
    EXPECT_EQ(sandbox.lifetime().lease_timeout().seconds(), lease_timeout_s);
    EXPECT_EQ(sandbox.has_expire_time(), max_age_s != 0);
    return sandbox.name();
  }

  void MakeOlder(absl::Duration by) {
    wire::SandboxSpec spec = *state_->ReadSpec("box");
    spec.set_create_time_ns(spec.create_time_ns() -
                            absl::ToInt64Nanoseconds(by));
    std::ofstream(absl::StrCat(path_, "/sandboxes/box/spec.pb"))
        << sandbox::SealRecord(spec);
  }

  // Returns true if "box" exists and its deletion has not begun.
  bool Exists() {
    const auto sandbox = sandboxes_->registry().Find("box");
    return sandbox != nullptr &&
           sandbox->Describe().state() == corral::v1::Sandbox::READY;
  }
};

TEST_F(SandboxLifetimeTest, EndsAtTheMaximumAgeAlongWithWhatRuns) {
  const std::string name = StartExecution(Create(3600, 0), Command());
  auto call = Stream(name);
  EXPECT_TRUE(call->Next().has_opened());
  timers_.Advance(absl::Seconds(3590));
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  timers_.Advance(absl::Seconds(10));
  const Events rest = call->Rest();
  EXPECT_EQ(rest.back().ended().exit().cause(),
            corral::v1::ExitStatus::SANDBOX_EXPIRED);
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, CountsTheAgeAcrossARestart) {
  Create(3600, 0);
  MakeOlder(absl::Seconds(1800));
  Restart();
  timers_.Advance(absl::Seconds(1700));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(100));
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, EndsAtOnceIfItsLifetimeWasOverBeforeARestart) {
  Create(3600, 0);
  MakeOlder(absl::Seconds(7200));
  Restart();
  timers_.Advance(absl::ZeroDuration());
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, EndsWhenItHasIdledForLongEnough) {
  Create(0, 60);
  timers_.Advance(absl::Seconds(59));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(1));
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, IsHeldOffByACommandThatRuns) {
  const std::string name = StartExecution(Create(0, 60), Command());
  timers_.Advance(absl::Seconds(600));
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  factory_.Exit(name, 0);
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::EXITED);
  timers_.Advance(absl::Seconds(59));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(1));
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, IsHeldOffByEachCallThatNamesIt) {
  const std::string sandbox = Create(0, 60);
  const std::string name = StartExecution(sandbox, Command());
  factory_.Exit(name, 0);
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::EXITED);
  timers_.Advance(absl::Seconds(59));
  EXPECT_EQ(Get(name).exit().code(), 0);
  timers_.Advance(absl::Seconds(59));
  corral::v1::GetSandboxRequest request;
  request.set_name(sandbox);
  corral::v1::Sandbox described;
  EXPECT_TRUE(
      Call(sandbox_stub_.get(), &SandboxStub::GetSandbox, request, &described)
          .ok());
  timers_.Advance(absl::Seconds(59));
  corral::v1::ListExecutionsRequest list;
  list.set_parent(sandbox);
  corral::v1::ListExecutionsResponse listed;
  EXPECT_TRUE(
      Call(execution_stub_.get(), &ExecutionStub::ListExecutions, list, &listed)
          .ok());
  timers_.Advance(absl::Seconds(59));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(1));
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, IdlesAnewAfterARestartUnlessACommandRuns) {
  const std::string name = StartExecution(Create(0, 60), Command());
  Restart();
  timers_.Advance(absl::Seconds(600));
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  factory_.Exit(name, 0);
  EXPECT_EQ(Wait(name).state(), corral::v1::Execution::EXITED);
  timers_.Advance(absl::Seconds(30));
  Restart();
  timers_.Advance(absl::Seconds(59));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(1));
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, EndsWithItsCommandWhenNobodyRenewsItsLease) {
  const std::string name = StartExecution(Create(0, 0, 60), Command());
  timers_.Advance(absl::Seconds(59));
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  timers_.Advance(absl::Seconds(59));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(1));
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, KeepsItsLeaseWhileACallIsOpen) {
  const std::string name = StartExecution(Create(0, 0, 60), Command());
  {
    auto call = Stream(name);
    EXPECT_TRUE(call->Next().has_opened());
    timers_.Advance(absl::Seconds(600));
    EXPECT_TRUE(Exists());
  }
  // The server notices the end of the stream a moment later.
  while (Exists()) {
    timers_.Advance(absl::Seconds(1));
  }
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, KeepsItsLeaseWhileAClientWaits) {
  const std::string name = StartExecution(Create(0, 0, 60), Command());
  corral::v1::WaitExecutionRequest request;
  request.set_name(name);
  request.mutable_timeout()->set_seconds(600);
  corral::v1::Execution execution;
  std::thread waiter([&] {
    EXPECT_TRUE(Call(execution_stub_.get(), &ExecutionStub::WaitExecution,
                     request, &execution)
                    .ok());
  });
  const auto held = sandboxes_->registry().Find("box")->FindExecution(
      name.substr(name.rfind('/') + 1));
  while (!held->watched()) {
    std::this_thread::yield();
  }
  timers_.Advance(absl::Seconds(599));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(1));
  waiter.join();
  EXPECT_EQ(execution.state(), corral::v1::Execution::RUNNING);
}

TEST_F(SandboxLifetimeTest, BeginsItsLeaseAnewAfterARestart) {
  StartExecution(Create(0, 0, 60), Command());
  timers_.Advance(absl::Seconds(50));
  Restart();
  timers_.Advance(absl::Seconds(59));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(1));
  AwaitNoSandbox();
}

TEST_F(SandboxLifetimeTest, IsHeldOffByAStartThatIsRefused) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(Create(0, 60));
  timers_.Advance(absl::Seconds(59));
  corral::v1::Execution response;
  EXPECT_EQ(Field(Call(execution_stub_.get(), &ExecutionStub::StartExecution,
                       request, &response)),
            "command.argv");
  timers_.Advance(absl::Seconds(59));
  EXPECT_TRUE(Exists());
  timers_.Advance(absl::Seconds(1));
  AwaitNoSandbox();
}

}  // namespace
}  // namespace server

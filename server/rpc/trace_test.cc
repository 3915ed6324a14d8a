// The trace of an execution, from a client's side and over restarts.

#include <string>

#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "google/protobuf/util/time_util.h"
#include "gtest/gtest.h"
#include "server/rpc/recovery_fixture.h"

namespace server {
namespace {

using corral::v1::ExecutionTrace;
using google::protobuf::util::TimeUtil;

class TraceTest : public RecoveryFixture {
 protected:
  static corral::v1::Command Traced() {
    corral::v1::Command command = Command();
    command.set_trace(true);
    return command;
  }
  // The moments before the supervisor's in their order.
  static void ExpectBegin(const ExecutionTrace& trace) {
    EXPECT_GT(trace.receive_time().seconds(), 0);
    EXPECT_GT(trace.admitted(), TimeUtil::NanosecondsToDuration(0));
    EXPECT_LE(trace.admitted(), trace.sent());
    EXPECT_LT(trace.sent(), trace.accepted());
  }
};

TEST_F(TraceTest, ARunShowsWhenItReachedItsStages) {
  corral::v1::RunExecutionRequest request;
  request.set_parent("tenants/default");
  *request.mutable_command() = Traced();
  const auto call = Run(request);
  const corral::v1::Execution opened = call->Next().opened();
  ExpectBegin(opened.trace());
  EXPECT_TRUE(opened.trace().has_answered());
  EXPECT_FALSE(opened.trace().has_exited());
  EXPECT_FALSE(opened.trace().has_reported());
  EXPECT_TRUE(opened.command().trace());
  factory_.Exit(opened.name(), 0);
  const ExecutionTrace trace = call->Rest().back().ended().trace();
  ExpectBegin(trace);
  EXPECT_LT(trace.accepted(), trace.exited());
  EXPECT_GT(trace.reported(), opened.trace().answered());
  EXPECT_GE(trace.answered(), trace.reported());
}

TEST_F(TraceTest, EachAnswerIsTimedForItself) {
  const std::string name = StartExecution(CreateSandbox("box"), Traced());
  const ExecutionTrace running = Get(name).trace();
  ExpectBegin(running);
  EXPECT_GT(running.answered(), running.sent());
  factory_.Exit(name, 0);
  const ExecutionTrace first = Wait(name).trace();
  const ExecutionTrace second = Get(name).trace();
  EXPECT_GE(first.reported(), running.answered());
  EXPECT_EQ(second.reported(), first.reported());
  EXPECT_GT(second.answered(), first.answered());
}

TEST_F(TraceTest, AnExecutionHasNoneUnlessItIsAskedFor) {
  const std::string name = StartOne();
  EXPECT_FALSE(Get(name).has_trace());
  factory_.Exit(name, 0);
  EXPECT_FALSE(Wait(name).has_trace());
}

TEST_F(TraceTest, ARestartForgetsOnlyWhatTheServerItselfHasTimed) {
  const std::string sandbox = CreateSandbox("box");
  const std::string ended = StartExecution(sandbox, Traced());
  const std::string running = StartExecution(sandbox, Traced());
  factory_.Exit(ended, 0);
  const ExecutionTrace before = Wait(ended).trace();
  Restart();
  const ExecutionTrace after = Get(ended).trace();
  ExpectBegin(after);
  EXPECT_EQ(after.receive_time(), before.receive_time());
  EXPECT_EQ(after.exited(), before.exited());
  EXPECT_FALSE(after.has_reported());
  EXPECT_FALSE(after.has_answered());
  factory_.Exit(running, 0);
  const ExecutionTrace late = Wait(running).trace();
  ExpectBegin(late);
  EXPECT_TRUE(late.has_exited());
  EXPECT_FALSE(late.has_reported());
  EXPECT_FALSE(late.has_answered());
}

TEST_F(TraceTest, ASandboxShowsWhereTheTimeOfItsCreationWent) {
  CreateSandbox("box");
  const corral::v1::SandboxTrace trace = GetBox("box").trace();
  EXPECT_TRUE(trace.has_admission());
  EXPECT_TRUE(trace.has_record());
  EXPECT_TRUE(trace.has_supervisor());
  EXPECT_EQ(trace.mounts(), TimeUtil::MicrosecondsToDuration(5));
  EXPECT_FALSE(trace.has_way_out());
}

TEST_F(TraceTest, ARestartForgetsTheServersPartOfACreation) {
  CreateSandbox("box");
  Restart();
  AwaitBox();
  const corral::v1::SandboxTrace trace = GetBox("box").trace();
  EXPECT_EQ(trace.mounts(), TimeUtil::MicrosecondsToDuration(5));
  EXPECT_FALSE(trace.has_admission());
  EXPECT_FALSE(trace.has_supervisor());
}

TEST_F(TraceTest, ALostExecutionShowsHowFarItCame) {
  const std::string name = StartExecution(CreateSandbox("box"), Traced());
  KillSupervisor();
  Restart();
  const corral::v1::Execution lost = Wait(name);
  EXPECT_EQ(lost.state(), corral::v1::Execution::LOST);
  ExpectBegin(lost.trace());
  EXPECT_FALSE(lost.trace().has_exited());
}

}  // namespace
}  // namespace server

#include "bridge/client/call.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/client/connection_fixture.h"
#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
#include "bridge/client/retry_schedule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using corral::v1::Execution;
using corral::v1::Sandbox;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StrEq;
using ::tests::FakeExecution;
using ::tests::FakeServer;
using ::tests::IsOk;
using ::tests::StatusIs;
using Executions = corral::v1::ExecutionService::StubInterface;
using Sandboxes = corral::v1::SandboxService::StubInterface;

constexpr char kSandbox[] = "tenants/default/sandboxes/s1";

absl::StatusOr<Sandbox> CreateSandbox(Connection& connection) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.set_request_id(NewRequestId());
  return Call(connection, &Sandboxes::CreateSandbox, request);
}

absl::StatusOr<Execution> StartExecution(Connection& connection,
                                         const std::string& sandbox) {
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  request.set_request_id(NewRequestId());
  request.mutable_command()->add_argv("cmd");
  request.mutable_command()->set_stdin(true);
  return Call(connection, &Executions::StartExecution, request);
}

TEST(CallTest, CreatesOneSandboxAndCommandWhenAnswersAreLost) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  server.LoseAnswers(2);
  const absl::StatusOr<Sandbox> sandbox = CreateSandbox(*connection);
  ASSERT_THAT(sandbox.status(), IsOk());
  EXPECT_EQ(sandbox->name(), "tenants/default/sandboxes/s1");
  server.LoseAnswers(1);
  const absl::StatusOr<Execution> execution =
      StartExecution(*connection, sandbox->name());
  ASSERT_THAT(execution.status(), IsOk());
  EXPECT_EQ(execution->name(), "tenants/default/sandboxes/s1/executions/e1");
  EXPECT_EQ(server.creations().size(), 3);
  EXPECT_EQ(server.starts().size(), 2);
}

TEST(CallTest, DoesNotRepeatARequestThatIsTooLarge) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  corral::v1::StartExecutionRequest request;
  request.mutable_command()->add_argv(std::string(5 << 20, 'x'));
  grpc::ClientContext context;
  Execution execution;
  const grpc::Status status =
      connection->executions().StartExecution(&context, request, &execution);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Classify(status), CallResult::kAnswered) << status.error_message();
}

TEST(CallTest, GoesOnWaitingWhenTheServerIsRestarted) {
  FakeServer server([](FakeExecution& command) {
    command.WaitForSignal();
    command.SetExit(5);
  });
  const auto connection = Connect(server);
  const absl::StatusOr<Sandbox> sandbox = CreateSandbox(*connection);
  ASSERT_THAT(sandbox.status(), IsOk());
  const auto execution = StartExecution(*connection, sandbox->name());
  ASSERT_THAT(execution.status(), IsOk());
  std::thread restart([&] {
    for (size_t i = 1; i <= 3; ++i) {
      server.WaitForWaits(i);
      server.Stop();
      server.Start();
    }
    server.WaitForWaits(4);
    server.FindExecution(execution->name())->Signal(15);
  });
  const auto ended = WaitForEnd(*connection, execution->name());
  restart.join();
  ASSERT_THAT(ended.status(), IsOk());
  EXPECT_EQ(ended->exit().code(), 5);
}

TEST(CallTest, RenewsAWaitUntilTheCommandHasEnded) {
  FakeServer server([](FakeExecution& command) {
    command.WaitForSignal();
    command.SetExit(5);
  });
  Timing timing;
  timing.wait_renewal = absl::Milliseconds(61500);
  const auto connection = Connect(server, timing);
  const absl::StatusOr<Sandbox> sandbox = CreateSandbox(*connection);
  const auto execution = StartExecution(*connection, sandbox->name());
  server.ExpireWaits(3);
  std::thread end([&] {
    server.WaitForWaits(4);
    server.FindExecution(execution->name())->Signal(15);
  });
  const auto ended = WaitForEnd(*connection, execution->name());
  end.join();
  ASSERT_THAT(ended.status(), IsOk());
  EXPECT_EQ(ended->exit().code(), 5);
  ASSERT_EQ(server.waits().size(), 4);
  EXPECT_EQ(server.waits()[0].timeout().ShortDebugString(),
            "seconds: 61 nanos: 500000000");
}

absl::StatusOr<Sandbox> GetSandbox(Connection& connection,
                                   const CallOptions& options = {}) {
  corral::v1::GetSandboxRequest request;
  request.set_name(kSandbox);
  return Call(connection, &Sandboxes::GetSandbox, request, options);
}

TEST(CallTest, RepeatsACallThatIsNotAnswered) {
  FakeServer server([](FakeExecution&) {});
  Timing timing;
  timing.call_timeout = absl::Milliseconds(50);
  // On a slow machine more attempts may time out than those that are stalled.
  timing.patience = absl::InfiniteDuration();
  const auto connection = Connect(server, timing);
  ASSERT_THAT(CreateSandbox(*connection).status(), IsOk());
  server.StallGets(2);
  EXPECT_THAT(GetSandbox(*connection).status(), IsOk());
}

TEST(CallTest, SaysThatAServerDoesNotAnswer) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  server.StallGets(1000);
  CallOptions options;
  options.timeout = absl::Milliseconds(20);
  options.patience = absl::Milliseconds(50);
  EXPECT_THAT(GetSandbox(*connection, options).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("has not answered for 50ms")));
}

TEST(CallTest, GivesUpWhenNoServerComesBack) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  server.Stop();
  CallOptions options;
  options.patience = absl::Milliseconds(200);
  EXPECT_THAT(GetSandbox(*connection, options).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("has been gone for 200ms")));
}

TEST(CallTest, DoesNotRepeatACallThatTheServerRefuses) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  EXPECT_THAT(
      StartExecution(*connection, "tenants/default/sandboxes/s9").status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("s9")));
  EXPECT_EQ(server.starts().size(), 1);
}

TEST(CallTest, GivesAWaitTheTimeOfItsRenewal) {
  FakeServer server([](FakeExecution& command) { command.SetExit(5); });
  ASSERT_THAT(CreateSandbox(*Connect(server)).status(), IsOk());
  const auto execution = StartExecution(*Connect(server), kSandbox);
  ASSERT_THAT(execution.status(), IsOk());
  Timing timing;
  timing.call_timeout = absl::ZeroDuration();
  timing.wait_renewal = absl::Hours(1);
  timing.patience = absl::ZeroDuration();
  const auto connection = Connect(server, timing);
  const auto ended = WaitForEnd(*connection, execution->name());
  ASSERT_THAT(ended.status(), IsOk());
  EXPECT_EQ(ended->exit().code(), 5);
}

absl::Status DeleteSandbox(Connection& connection, const std::string& name) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  return Delete(connection, &Sandboxes::DeleteSandbox, request);
}

TEST(CallTest, CountsNotFoundAsDeletedWhenAnAnswerWasLost) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  const absl::StatusOr<Sandbox> sandbox = CreateSandbox(*connection);
  ASSERT_THAT(sandbox.status(), IsOk());
  server.LoseAnswers(1);
  EXPECT_THAT(DeleteSandbox(*connection, sandbox->name()), IsOk());
  EXPECT_THAT(server.deletions(),
              ElementsAre(sandbox->name(), sandbox->name()));
  EXPECT_THAT(DeleteSandbox(*connection, sandbox->name()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("s1")));
}

TEST(CallTest, GivesADeletionTheTimeThatItTakes) {
  FakeServer server([](FakeExecution&) {});
  ASSERT_THAT(CreateSandbox(*Connect(server)).status(), IsOk());
  Timing timing;
  timing.call_timeout = absl::ZeroDuration();
  timing.wait_renewal = absl::Hours(1);
  timing.patience = absl::ZeroDuration();
  const auto connection = Connect(server, timing);
  EXPECT_THAT(DeleteSandbox(*connection, kSandbox), IsOk());
  EXPECT_THAT(server.deletions(), ElementsAre(kSandbox));
}

TEST(CallTest, EndsACallThatIsAttemptedOnceAndNotAnswered) {
  FakeServer server([](FakeExecution&) {});
  Timing timing;
  timing.call_timeout = absl::Milliseconds(20);
  const auto connection = Connect(server, timing);
  server.StallGets(1);
  corral::v1::GetSandboxRequest request;
  request.set_name(kSandbox);
  EXPECT_THAT(CallOnce(*connection, &Sandboxes::GetSandbox, request).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("was lost during the call")));
}

TEST(CallTest, WaitsForAServerBeforeACallThatIsAttemptedOnce) {
  FakeServer server([](FakeExecution&) {});
  Timing timing;
  timing.patience = absl::Milliseconds(20);
  const auto connection = Connect(server, timing);
  server.Stop();
  corral::v1::GetSandboxRequest request;
  request.set_name(kSandbox);
  EXPECT_THAT(CallOnce(*connection, &Sandboxes::GetSandbox, request).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("has been gone for 20ms")));
}

TEST(CallTest, AttemptsACallOnceThatMustNotBeMadeTwice) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  const absl::StatusOr<Sandbox> sandbox = CreateSandbox(*connection);
  ASSERT_THAT(sandbox.status(), IsOk());
  server.LoseAnswers(1);
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox->name());
  request.mutable_command()->add_argv("cmd");
  EXPECT_THAT(
      CallOnce(*connection, &Executions::StartExecution, request).status(),
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("whether the call had effect is not known")));
  EXPECT_EQ(server.starts().size(), 1);
}

TEST(CallTest, ReportsARefusalOfACallThatIsAttemptedOnce) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  ASSERT_THAT(CreateSandbox(*connection).status(), IsOk());
  ASSERT_THAT(StartExecution(*connection, kSandbox).status(), IsOk());
  server.RefuseInputs(1);
  corral::v1::WriteInputRequest request;
  request.set_name(absl::StrCat(kSandbox, "/executions/e1"));
  EXPECT_THAT(
      CallOnce(*connection, &Executions::WriteInput, request).status(),
      StatusIs(
          absl::StatusCode::kUnavailable,
          StrEq("sandbox tenants/default/sandboxes/s1: too much input waits")));
  EXPECT_EQ(server.inputs().size(), 1);
}

TEST(CallTest, FindsAServerThatIsBeingRestarted) {
  FakeServer server([](FakeExecution&) {});
  server.Stop();
  ConnectOptions options;
  options.server = server.address();
  // The clock is read before the first attempt and after each that failed.
  int reads = 0;
  options.timing.now = [&] {
    if (++reads == 2) {
      server.Start();
    }
    return absl::Now();
  };
  EXPECT_THAT(Connection::Open(options).status(), IsOk());
  EXPECT_GE(reads, 2);
}

TEST(CallTest, GivesUpOnAServerThatIsNotRestarted) {
  FakeServer server([](FakeExecution&) {});
  server.Stop();
  ConnectOptions options;
  options.server = server.address();
  int reads = 0;
  options.timing.now = [&reads] {
    return absl::UnixEpoch() + reads++ * absl::Seconds(3);
  };
  EXPECT_THAT(Connection::Open(options).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("no server listens at unix:")));
  EXPECT_EQ(reads, 3);
}

}  // namespace
}  // namespace client

#include "bridge/client/call.h"

#include <memory>
#include <thread>
#include <utility>

#include "bridge/client/request_id.h"
#include "bridge/client/resource_name.h"
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
using ::tests::FakeExecution;
using ::tests::FakeServer;
using ::tests::IsOk;
using ::tests::StatusIs;
using Executions = corral::v1::ExecutionService::StubInterface;
using Sandboxes = corral::v1::SandboxService::StubInterface;

std::unique_ptr<Connection> Connect(const FakeServer& server) {
  auto connection = Connection::Open({server.address()});
  EXPECT_THAT(connection.status(), IsOk());
  return *std::move(connection);
}

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
    for (int i = 0; i < 3; ++i) {
      server.Stop();
      server.Start();
    }
    server.FindExecution(execution->name())->Signal(15);
  });
  corral::v1::WaitExecutionRequest wait;
  wait.set_name(execution->name());
  const auto ended = Call(*connection, &Executions::WaitExecution, wait);
  restart.join();
  ASSERT_THAT(ended.status(), IsOk());
  EXPECT_EQ(ended->exit().code(), 5);
}

TEST(CallTest, GivesUpWhenNoServerComesBack) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  server.Stop();
  EXPECT_THAT(Call(*connection, &Sandboxes::ListSandboxes,
                   corral::v1::ListSandboxesRequest(), absl::Milliseconds(200))
                  .status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("has been gone for 200ms")));
}

TEST(CallTest, DoesNotRepeatWhatTheServerRefuses) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  EXPECT_THAT(
      StartExecution(*connection, "tenants/default/sandboxes/s9").status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("s9")));
  EXPECT_EQ(server.starts().size(), 1);
}

absl::Status DeleteSandbox(Connection& connection, const std::string& name) {
  corral::v1::DeleteSandboxRequest request;
  request.set_name(name);
  return Delete(connection, &Sandboxes::DeleteSandbox, request);
}

TEST(CallTest, TakesForDeletedWhatIsGoneWhenAnAnswerWasLost) {
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

TEST(CallTest, MakesACallOnceThatMustNotBeMadeTwice) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  const absl::StatusOr<Sandbox> sandbox = CreateSandbox(*connection);
  ASSERT_THAT(sandbox.status(), IsOk());
  server.LoseAnswers(1);
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox->name());
  EXPECT_THAT(
      CallOnce(*connection, &Executions::StartExecution, request).status(),
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("whether it had effect is not known")));
  EXPECT_EQ(server.starts().size(), 1);
}

TEST(CallTest, FindsAServerThatIsBeingRestarted) {
  FakeServer server([](FakeExecution&) {});
  server.Stop();
  std::thread restart([&server] { server.Start(); });
  EXPECT_THAT(Connection::Open({server.address()}).status(), IsOk());
  restart.join();
}

}  // namespace
}  // namespace client

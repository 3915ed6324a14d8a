#include "bridge/acp/remote/server_calls.h"

#include <csignal>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::tests::StatusIs;

// With less patience than a call waits before its third attempt.
class ServerCallsTest : public ::testing::Test {
 protected:
  ServerCallsTest() : calls_(&loop_, Options()) {}

  client::ConnectOptions Options() {
    client::ConnectOptions options;
    options.server = server_.address();
    options.timing.patience = absl::Milliseconds(150);
    return options;
  }

  void Await(const ServerCalls& calls) {
    std::vector<pollfd> none;
    while (!calls.idle()) {
      loop_.RunOnce(none);
    }
  }

  void RunUntilIdle() { Await(calls_); }

  void Connect() {
    absl::Status answer = absl::UnavailableError("");
    while (absl::IsUnavailable(answer)) {
      calls_.GetSandbox("tenants/default/sandboxes/none",
                        [&](const auto& got) { answer = got.status(); });
      RunUntilIdle();
    }
    EXPECT_TRUE(absl::IsNotFound(answer)) << answer;
  }

  absl::Status Create() {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    request.set_request_id("8ae7fbfe-9dd0-4d0e-8d51-fb1b5ed0c9b4");
    absl::Status answer;
    calls_.CreateSandbox(request,
                         [&](const auto& made) { answer = made.status(); });
    RunUntilIdle();
    return answer;
  }

  tests::FakeServer server_{[](tests::FakeExecution&) {}};
  PollLoop loop_;
  ServerCalls calls_;
};

TEST_F(ServerCallsTest, WaitBeforeTheirThirdAttempt) {
  Connect();
  server_.LoseAnswers(2);
  EXPECT_TRUE(absl::IsUnavailable(Create()));
}

TEST_F(ServerCallsTest, EndWhenTheServerDoesNotAnswer) {
  Connect();
  server_.StallGets(1);
  absl::Status answer;
  calls_.GetSandbox("tenants/default/sandboxes/none",
                    [&](const auto& got) { answer = got.status(); });
  RunUntilIdle();
  EXPECT_THAT(
      answer,
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr(server_.address()),
                     HasSubstr("did not answer GetSandbox within 150ms"),
                     HasSubstr("check that corrald runs there"))));
}

TEST_F(ServerCallsTest, SayWhatIsWrongWithTheAddressOfTheServer) {
  client::ConnectOptions options;
  options.server = "nonsense";
  ServerCalls calls(&loop_, options);
  absl::Status answer;
  calls.GetSandbox("tenants/default/sandboxes/none",
                   [&](const auto& got) { answer = got.status(); });
  Await(calls);
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("nonsense"),
                                     Not(HasSubstr("corrald runs there")))));
}

TEST_F(ServerCallsTest, TryOnceToReachAServerThatWasNeverThere) {
  server_.Stop();
  client::ConnectOptions options = Options();
  int looks = 0;
  absl::Time time = absl::UnixEpoch();
  options.timing.now = [&] {
    ++looks;
    return time += absl::Seconds(10);
  };
  ServerCalls calls(&loop_, options);
  absl::Status answer;
  calls.GetSandbox("tenants/default/sandboxes/none",
                   [&](const auto& got) { answer = got.status(); });
  Await(calls);
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kUnavailable,
                               AllOf(HasSubstr("no server listens at"),
                                     HasSubstr("corrald runs there"))));
  // Another attempt would look at the clock again.
  EXPECT_EQ(looks, 2);
}

TEST_F(ServerCallsTest, CarryWhatConcernsASandbox) {
  ServerCalls calls(&loop_, {server_.address()});
  corral::v1::CreateSandboxRequest creation;
  creation.set_parent("tenants/default");
  std::string name;
  calls.CreateSandbox(creation, [&](const auto& made) { name = made->name(); });
  Await(calls);
  EXPECT_EQ(name, "tenants/default/sandboxes/s1");
  server_.RefuseHost(name, "a.example");
  corral::v1::ListNetworkEventsRequest list;
  list.set_name(name);
  int events = 0;
  calls.ListNetworkEvents(
      list, [&](const auto& listed) { events = listed->events_size(); });
  corral::v1::AllowHostsRequest allowance;
  allowance.set_name(name);
  calls.AllowHosts(allowance, [](const auto&) {});
  calls.GetSandbox(name, [](const auto&) {});
  Await(calls);
  EXPECT_EQ(events, 1);
  ASSERT_THAT(server_.allowances(), SizeIs(1));
  EXPECT_EQ(server_.allowances()[0].name(), name);
  EXPECT_THAT(server_.gets(), ElementsAre(name));
  calls.DeleteSandbox(name, [](const auto&) {});
  Await(calls);
  EXPECT_THAT(server_.deletions(), ElementsAre(name));
}

TEST_F(ServerCallsTest, CarryWhatConcernsAnExecution) {
  ServerCalls calls(&loop_, {server_.address()});
  corral::v1::CreateSandboxRequest creation;
  creation.set_parent("tenants/default");
  corral::v1::RunExecutionRequest run;
  run.mutable_command()->add_argv("hello");
  calls.CreateSandbox(creation,
                      [&](const auto& made) { run.set_parent(made->name()); });
  Await(calls);
  std::string name;
  calls.RunExecution(
      run, [&](const auto& stream) { name = (*stream)->started().name(); });
  Await(calls);
  EXPECT_EQ(name, "tenants/default/sandboxes/s1/executions/e1");
  corral::v1::SignalExecutionRequest signal;
  signal.set_name(name);
  signal.set_signal(SIGTERM);
  calls.SignalExecution(signal, [](const auto&) {});
  Await(calls);
  ASSERT_THAT(server_.signals(), SizeIs(1));
  EXPECT_EQ(server_.signals()[0].name(), name);
  calls.DeleteExecution(name, [](const auto&) {});
  Await(calls);
  EXPECT_THAT(server_.deletions(), ElementsAre(name));
}

}  // namespace
}  // namespace bridge

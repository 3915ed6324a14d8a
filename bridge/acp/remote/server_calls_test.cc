#include "bridge/acp/remote/server_calls.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
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

  void RunUntilIdle() {
    std::vector<pollfd> none;
    while (!calls_.idle()) {
      loop_.RunOnce(none);
    }
  }

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
  std::vector<pollfd> none;
  while (!calls.idle()) {
    loop_.RunOnce(none);
  }
  EXPECT_THAT(answer, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("nonsense"),
                                     Not(HasSubstr("corrald runs there")))));
}

}  // namespace
}  // namespace bridge

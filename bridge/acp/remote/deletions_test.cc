#include "bridge/acp/remote/deletions.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

client::ConnectOptions Impatient(const std::string& server) {
  client::ConnectOptions options;
  options.server = server;
  options.timing.patience = absl::Seconds(3);
  return options;
}

class DeletionsTest : public ::testing::Test {
 protected:
  DeletionsTest() {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    calls_.CreateSandbox(request,
                         [this](const auto& made) { name_ = made->name(); });
    RunUntil([this] { return !name_.empty(); });
  }

  ~DeletionsTest() override {
    deletions_.Stop();
    RunUntil([this] { return calls_.idle(); });
  }

  void RunUntil(const std::function<bool()>& condition) {
    std::vector<pollfd> none;
    while (!condition()) {
      loop_.RunOnce(none);
    }
  }

  // Returns the name of the execution.
  std::string Start() {
    corral::v1::RunExecutionRequest request;
    request.set_parent(name_);
    request.mutable_command()->add_argv("hello");
    std::string execution;
    calls_.RunExecution(request, [&](const auto& stream) {
      execution = (*stream)->started().name();
    });
    RunUntil([this] { return calls_.idle(); });
    return execution;
  }

  tests::FakeServer server_{[](tests::FakeExecution&) {}};
  PollLoop loop_;
  ServerCalls calls_{&loop_, Impatient(server_.address())};
  Deletions deletions_{&calls_, absl::Milliseconds(1)};
  std::string name_;
};

TEST_F(DeletionsTest, RepeatsADeletionUntilTheServerAnswers) {
  server_.Stop();
  deletions_.DeleteSandbox(name_);
  // The first attempt fails before the server comes back.
  RunUntil([this] { return calls_.idle(); });
  server_.Start();
  RunUntil([this] { return !server_.deletions().empty(); });
  EXPECT_THAT(server_.deletions(), ElementsAre(name_));
}

TEST_F(DeletionsTest, DoesNotRepeatADeletionAfterStop) {
  server_.Stop();
  deletions_.DeleteSandbox(name_);
  deletions_.Stop();
  RunUntil([this] { return calls_.idle(); });
  server_.Start();
  // A repetition would run before this timer, which is later.
  bool later = false;
  loop_.After(absl::Milliseconds(50), [&later] { later = true; });
  RunUntil([this, &later] { return later && calls_.idle(); });
  EXPECT_THAT(server_.deletions(), IsEmpty());
}

TEST_F(DeletionsTest, DoesNotRepeatADeletionIfStopComesInThePause) {
  server_.Stop();
  deletions_.DeleteSandbox(name_);
  RunUntil([this] { return calls_.idle(); });
  deletions_.Stop();
  server_.Start();
  // A repetition would run before this timer, which is later.
  bool later = false;
  loop_.After(absl::Milliseconds(50), [&later] { later = true; });
  RunUntil([this, &later] { return later && calls_.idle(); });
  EXPECT_THAT(server_.deletions(), IsEmpty());
}

TEST_F(DeletionsTest, DeletesAnExecution) {
  const std::string execution = Start();
  deletions_.DeleteExecution(execution);
  RunUntil([this] { return calls_.idle(); });
  EXPECT_THAT(server_.deletions(), ElementsAre(execution));
}

TEST_F(DeletionsTest, DeletesAnExecutionSoon) {
  const std::string execution = Start();
  deletions_.DeleteExecutionSoon(execution);
  EXPECT_TRUE(calls_.idle());
  EXPECT_FALSE(deletions_.idle());
  RunUntil([this] { return calls_.idle() && deletions_.idle(); });
  EXPECT_THAT(server_.deletions(), ElementsAre(execution));
}

TEST_F(DeletionsTest, LeavesOutWhatHasNotBegunWhenStopComes) {
  deletions_.DeleteExecutionSoon(Start());
  deletions_.Stop();
  EXPECT_TRUE(deletions_.idle());
  const std::string later = Start();
  deletions_.DeleteExecutionSoon(later);
  // The first deletion would begin before this timer, which is later.
  bool over = false;
  loop_.After(absl::Milliseconds(50), [&over] { over = true; });
  RunUntil([this, &over] { return over && calls_.idle(); });
  EXPECT_THAT(server_.deletions(), ElementsAre(later));
}

TEST_F(DeletionsTest, SaysNothingAboutWhatIsGone) {
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    deletions_.DeleteSandbox(name_);
    RunUntil([this] { return calls_.idle(); });
  }
  EXPECT_THAT(server_.deletions(), ElementsAre(name_, name_));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              Not(HasSubstr("was not deleted")));
}

TEST_F(DeletionsTest, DoesNotRepeatADeletionThatTheServerRefused) {
  for (const char* wrong : {"tenants/default/sandboxes/none", "no name"}) {
    deletions_.DeleteSandbox(wrong);
    RunUntil([this] { return calls_.idle(); });
    // A repetition would run before this timer, which is later.
    bool later = false;
    loop_.After(absl::Milliseconds(50), [&later] { later = true; });
    RunUntil([this, &later] {
      EXPECT_TRUE(calls_.idle());
      return later;
    });
  }
}

TEST(IsUncertainTest, IsFalseOnlyIfTheServerRefused) {
  for (const auto code :
       {absl::StatusCode::kCancelled, absl::StatusCode::kUnknown,
        absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kAborted,
        absl::StatusCode::kInternal, absl::StatusCode::kUnavailable,
        absl::StatusCode::kDataLoss}) {
    EXPECT_TRUE(IsUncertain(absl::Status(code, ""))) << code;
  }
  for (const auto code :
       {absl::StatusCode::kInvalidArgument, absl::StatusCode::kNotFound,
        absl::StatusCode::kAlreadyExists, absl::StatusCode::kPermissionDenied,
        absl::StatusCode::kResourceExhausted,
        absl::StatusCode::kFailedPrecondition, absl::StatusCode::kOutOfRange,
        absl::StatusCode::kUnimplemented, absl::StatusCode::kUnauthenticated}) {
    EXPECT_FALSE(IsUncertain(absl::Status(code, ""))) << code;
  }
}

}  // namespace
}  // namespace bridge

#include "bridge/acp/remote/connector.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
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

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class ConnectorTest : public ::testing::Test {
 protected:
  client::ConnectOptions Options() {
    client::ConnectOptions options;
    options.server = server_.address();
    options.timing.now = [this] {
      return is_patient_ ? absl::UnixEpoch() : absl::InfiniteFuture();
    };
    return options;
  }

  void RunUntil(const std::function<bool()>& condition) {
    std::vector<pollfd> none;
    while (!condition()) {
      loop_.RunOnce(none);
    }
  }

  absl::Status Connect() {
    std::optional<absl::Status> result;
    connector_->Connect(
        [&result](const absl::Status& status) { result = status; });
    RunUntil([&result] { return result.has_value(); });
    return *result;
  }

  tests::FakeServer server_{[](tests::FakeExecution&) {}};
  // False: a server that is gone is given up at once; otherwise, never.
  std::atomic<bool> is_patient_ = true;
  PollLoop loop_;
  std::unique_ptr<Connector> connector_ =
      std::make_unique<Connector>(&loop_, Options());
};

TEST_F(ConnectorTest, OpensOneConnectionForAllWhoWait) {
  int answers = 0;
  for (int i = 0; i < 2; ++i) {
    connector_->Connect([&answers](const absl::Status& status) {
      EXPECT_THAT(status, IsOk());
      ++answers;
    });
  }
  EXPECT_EQ(connector_->connection(), nullptr);
  RunUntil([&answers] { return answers == 2; });
  ASSERT_NE(connector_->connection(), nullptr);
  EXPECT_EQ(connector_->connection()->address(), server_.address());
}

TEST_F(ConnectorTest, RestoresItsConnectionAlsoAfterAnAttemptThatFailed) {
  EXPECT_THAT(Connect(), IsOk());
  const client::Connection* const connection = connector_->connection();
  server_.Stop();
  is_patient_ = false;
  EXPECT_THAT(Connect(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr(absl::StrCat("no server answers at ",
                                              server_.address()))));
  server_.Start();
  is_patient_ = true;
  EXPECT_THAT(Connect(), IsOk());
  EXPECT_EQ(connector_->connection(), connection);
}

TEST_F(ConnectorTest, IsDestroyedWhileItLooksForTheServer) {
  EXPECT_THAT(Connect(), IsOk());
  server_.Stop();
  connector_->Connect([](const absl::Status&) { ADD_FAILURE(); });
  connector_.reset();
}

}  // namespace
}  // namespace bridge

#include "bridge/acp/display/mirrors.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bridge/acp/display/shown_terminal.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/requests/own_requests.h"
#include "bridge/acp/terminals/exit_status.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::SizeIs;

// Mirrors for which a deletion waits no longer than one round of the loop.
class MirrorsTest : public ::testing::Test {
 protected:
  MirrorsTest() {
    terminal_->id = "T";
    terminal_->session_id = "s";
    terminal_->execution_name = "tenants/t/sandboxes/x/executions/T";
    mirrors_.Open(terminal_);
  }

  // Answers the request that the client got last.
  void Answer(const Json& result) {
    const Json request = ParseJson(sent_.back()).value_or(nullptr);
    const std::string line =
        Serialize(Json{{"id", request["id"]}, {"result", result}});
    EXPECT_TRUE(requests_.OnResponse(Message::Classify(line)));
  }

  void RunUntil(const std::function<bool()>& condition) {
    std::vector<pollfd> none;
    while (!condition()) {
      loop_.RunOnce(none);
    }
  }

  PollLoop loop_;
  std::vector<std::string> sent_;
  int stops_ = 0;
  OwnRequests requests_{[this](std::string line) { sent_.push_back(line); }};
  const std::shared_ptr<ShownTerminal> terminal_ =
      std::make_shared<ShownTerminal>();
  Mirrors mirrors_{&loop_,
                   &requests_,
                   {"corral", "attach"},
                   {[](const auto&) {}, [this](const auto&) { ++stops_; },
                    [](const auto&) {}},
                   absl::ZeroDuration()};
};

TEST_F(MirrorsTest, HoldADeletionUpForALimitedTimeOnly) {
  int deletions = 0;
  mirrors_.WhenShown(terminal_, [&deletions] { ++deletions; });
  EXPECT_EQ(deletions, 0);
  RunUntil([&deletions] { return deletions > 0; });
  Answer({{"terminalId", "M"}});
  mirrors_.WhenShown(terminal_, [&deletions] { ++deletions; });
  EXPECT_EQ(deletions, 1);
  RunUntil([&deletions] { return deletions > 1; });
  // The end of the mirror lets nothing be deleted again.
  terminal_->exit = ExitStatus{0, {}};
  Answer({{"exitCode", 0}});
  EXPECT_EQ(deletions, 2);
  EXPECT_EQ(stops_, 0);
}

TEST_F(MirrorsTest, AreReleasedWhileTheyAreAskedFor) {
  mirrors_.Release(*terminal_);
  mirrors_.Release(*terminal_);
  EXPECT_THAT(sent_, SizeIs(1));
  Answer({{"terminalId", "M"}});
  ASSERT_THAT(sent_, SizeIs(2));
  const Json release = ParseJson(sent_.back()).value_or(nullptr);
  EXPECT_EQ(release["method"], "terminal/release");
  EXPECT_EQ(release["params"], (Json{{"sessionId", "s"}, {"terminalId", "M"}}));
}

}  // namespace
}  // namespace bridge

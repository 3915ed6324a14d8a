#include "bridge/acp/terminals/results.h"

#include <optional>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;

TEST(OutputResultTest, HasAnExitStatusOnceTheEndIsKnown) {
  Terminal terminal(100);
  terminal.Append(0, "a\n");
  EXPECT_EQ(OutputResult(terminal),
            (Json{{"output", "a\n"}, {"truncated", false}}));
  terminal.Exit({3, std::nullopt});
  EXPECT_EQ(OutputResult(terminal),
            (Json{{"output", "a\n"},
                  {"truncated", false},
                  {"exitStatus", {{"exitCode", 3}, {"signal", nullptr}}}}));
}

TEST(OutputResultTest, HasAnEmptyExitStatusIfTheEndIsLost) {
  Terminal terminal(100);
  terminal.Lose("gone");
  EXPECT_EQ(OutputResult(terminal)["exitStatus"],
            (Json{{"exitCode", nullptr}, {"signal", nullptr}}));
}

TEST(WaitAnswerTest, IsTheExitStatus) {
  Terminal terminal(100);
  terminal.Exit({std::nullopt, "SIGTERM"});
  EXPECT_EQ(WaitAnswer("7", terminal),
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"exitCode\":null,"
            "\"signal\":\"SIGTERM\"}}\n");
}

TEST(WaitAnswerTest, IsAnErrorIfTheEndIsNotKnown) {
  Terminal lost(100);
  lost.Lose("the supervisor died");
  EXPECT_THAT(WaitAnswer("7", lost),
              HasSubstr("\"details\":\"the supervisor died\""));
}

TEST(EndAfterLossTest, IsAKillOnlyIfAReleasedExecutionIsGone) {
  const absl::Status gone = absl::NotFoundError("");
  for (const TerminalPhase phase :
       {TerminalPhase::kReleasing, TerminalPhase::kClosing}) {
    EXPECT_EQ(EndAfterLoss(phase, gone)->signal, "SIGKILL");
    EXPECT_FALSE(EndAfterLoss(phase, absl::UnavailableError("")).has_value());
    EXPECT_FALSE(EndAfterLoss(phase, absl::DataLossError("")).has_value());
  }
  EXPECT_FALSE(EndAfterLoss(TerminalPhase::kRunning, gone).has_value());
}

}  // namespace
}  // namespace bridge

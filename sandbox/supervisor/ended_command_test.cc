// Reports, answers and expiry of a command that has ended.

#include "sandbox/supervisor/ended_command.h"

#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/command_fixture.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

class EndedCommandTest : public CommandFixture {
 protected:
  // Runs a command that prints `text`, and keeps what is left of it.
  void RunOne(const std::string& text) {
    Start();
    Print(text);
    Exit(3);
    RunLoop();
    ASSERT_TRUE(command_->ReleaseCgroup());
    ASSERT_TRUE(command_->spent());
    ended_.emplace(&host_, command_->report(), command_->disk_bytes(),
                   /*synced=*/false);
    command_.reset();
  }
  // All space is used up, so that the quota expires what it can.
  void FillDisk() {
    quota_.Charge(1 << 20);
    quota_.MakeRoom(nullptr);
  }
  bool Expired() const { return ended_->report().streams(0).expired(); }
  // Writes "x" to its input.
  absl::Status WriteInput(wire::InputState* state) const {
    absl::Status answer = absl::UnknownError("no answer");
    wire::WriteInput input;
    input.set_data("x");
    ended_->WriteInput(input,
                       [&](const absl::Status& status, wire::InputState now) {
                         answer = status;
                         *state = now;
                       });
    return answer;
  }

  std::optional<EndedCommand> ended_;
};

TEST_F(EndedCommandTest, ReportsWhatTheCommandReported) {
  spec().set_open_stdin(true);
  start_.set_report_answers(5);
  start_.mutable_request()->set_request_id("r1");
  RunOne("text");
  EXPECT_EQ(ended_->report().SerializeAsString(), end().SerializeAsString());
  EXPECT_EQ(ended_->report().exit().wait_status(), 3 << 8);
  EXPECT_EQ(ended_->report().streams(0).end(), 4u);
  EXPECT_EQ(ended_->report().answers(), 5u);
  EXPECT_EQ(ended_->report().request().request_id(), "r1");
}

TEST_F(EndedCommandTest, AnswersRequestsLikeACommandOfWhichNothingRuns) {
  RunOne("");
  for (const auto scope : {wire::Signal::TREE, wire::Signal::LEADER,
                           wire::Signal::FOREGROUND_GROUP}) {
    EXPECT_THAT(
        ended_->Signal(SignalOf(9, scope)),
        FailsWith(wire::Reply::EXECUTION_ENDED, HasSubstr("no process")));
  }
  EXPECT_THAT(ended_->Resize(1, 1),
              FailsWith(wire::Reply::NOT_A_TERMINAL, HasSubstr("no terminal")));
  wire::InputState state;
  EXPECT_THAT(WriteInput(&state),
              FailsWith(wire::Reply::NO_INPUT, HasSubstr("standard input")));
}

TEST_F(EndedCommandTest, ReportsThatItsInputIsClosed) {
  spec().set_open_stdin(true);
  RunOne("");
  wire::InputState state;
  EXPECT_THAT(WriteInput(&state), IsOk());
  EXPECT_TRUE(state.closed());
}

TEST_F(EndedCommandTest, GivesSpaceBackWhenTheSandboxNeedsIt) {
  quota_.SetLimit(1 << 20);
  spec().set_retain_bytes(1 << 20);
  RunOne(std::string(size_t{64} << 10, 'x'));
  EXPECT_EQ(quota_.MakeRoom(nullptr), (1u << 20) - (64u << 10));
  FillDisk();
  EXPECT_TRUE(Expired());
  EXPECT_EQ(ended_->report().streams(0).begin(), 64u << 10);
  EXPECT_EQ(output_.execution_id(), "e1");
  EXPECT_TRUE(output_.streams(0).expired());
  const OutputLogReader log =
      *OutputLogReader::Open(directory_ + "/e1", wire::STDOUT);
  EXPECT_TRUE(log.state()->expired);
  // Only what FillDisk() has charged is still in use.
  quota_.Charge(-(1 << 20));
  EXPECT_EQ(quota_.MakeRoom(nullptr), 1u << 20);
}

TEST_F(EndedCommandTest, ExpiresItsOutputOnceTheDiskLetsIt) {
  quota_.SetLimit(1 << 20);
  RunOne("text");
  ASSERT_TRUE(
      tests::WithFailingCalls({SYS_fallocate}, EIO, [this] { FillDisk(); }));
  EXPECT_FALSE(Expired());
  EXPECT_THAT(storage_.failure(), HasSubstr("expiry of output"));
  timers_.Advance(absl::Milliseconds(200));
  EXPECT_TRUE(Expired());
  EXPECT_EQ(storage_.failure(), "");
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(EndedCommandTest, IsForgottenByTheQuotaWhenItIsDestroyed) {
  quota_.SetLimit(1 << 20);
  RunOne("text");
  ended_.reset();
  EXPECT_EQ(quota_.MakeRoom(nullptr), 1u << 20);
  FillDisk();
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/e1"));
}

TEST_F(EndedCommandTest, RemovesItsFilesOnceTheDiskLetsIt) {
  RunOne(std::string(size_t{64} << 10, 'x'));
  ASSERT_TRUE(std::filesystem::exists(directory_ + "/e1.out"));
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_unlink}, EROFS, [this] { EXPECT_FALSE(ended_->RemoveFiles()); }));
  EXPECT_THAT(storage_.failure(), HasSubstr("removal of e1"));
  EXPECT_TRUE(ended_->RemoveFiles());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  ended_.reset();
  EXPECT_EQ(storage_.failure(), "");
}

}  // namespace
}  // namespace sandbox

#include "server/screen/live_screen.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/screen_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/program_image.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/terminal_times.h"
#include "server/api/errors.h"
#include "server/screen/emulator/frames.h"
#include "server/screen/live_screen_fixture.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;

class LiveScreenTest : public LiveScreenFixture {};

TEST_F(LiveScreenTest, FollowsTheOutput) {
  EXPECT_EQ(FirstLine(), "");
  Write(log_, "hello");
  EXPECT_EQ(FirstLine(), "hello");
  Write(log_, " world");
  const corral::v1::GetScreenResponse response = Get();
  EXPECT_EQ(response.screen().lines(0).text(), "hello world");
  EXPECT_EQ(response.screen().end_offset(), 11);
  EXPECT_EQ(response.execution().state(), corral::v1::Execution::RUNNING);
  EXPECT_FALSE(response.execution().has_command());
}

TEST_F(LiveScreenTest, ShowsTheScrollbackAndTheStylesThatAreWanted) {
  Write(log_, "1\r\n2\r\n\x1b[1m3\r\n4\r\n5\r\n6");
  corral::v1::GetScreenRequest request;
  request.set_scrollback_lines(1);
  corral::v1::GetScreenResponse response;
  ASSERT_THAT(screen_.Get(*execution_, request, &response), IsOk());
  ASSERT_EQ(response.screen().scrollback_size(), 1);
  EXPECT_EQ(response.screen().scrollback(0).text(), "2");
  EXPECT_EQ(response.screen().lines(0).runs_size(), 0);
  request.set_styles(true);
  ASSERT_THAT(screen_.Get(*execution_, request, &response), IsOk());
  EXPECT_EQ(response.screen().lines(0).runs_size(), 1);
}

TEST_F(LiveScreenTest, IsUnavailableWhenNoEmulatorStarts) {
  const sandbox::UniqueFd image =
      sandbox::MakeProgramImage("none", "no program").value();
  LiveScreen screen(&image);
  corral::v1::GetScreenResponse response;
  EXPECT_EQ(ReasonOf(screen.Get(*execution_, {}, &response)),
            corral::v1::SCREEN_UNAVAILABLE);
}

TEST_F(LiveScreenTest, IsMadeOfLessAndLessOutputWhenItsEmulatorsDie) {
  // Notes the offset at which its output begins, and ends.
  const std::string offsets = sandbox_directory_ + "/offsets";
  const sandbox::UniqueFd image =
      sandbox::MakeProgramImage(
          "dies",
          absl::StrCat("#!/bin/sh\n/usr/bin/head -c ", sizeof(screen::Request),
                       " <&3 | /usr/bin/od -An -tu8 -j",
                       offsetof(screen::Request, offset), " >>'", offsets,
                       "'\n"))
          .value();
  LiveScreen screen(&image);
  Write(log_, std::string(300 << 10, 'x'));
  corral::v1::GetScreenResponse response;
  ::testing::internal::CaptureStderr();
  const absl::Status status = screen.Get(*execution_, {}, &response);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("needs another emulator"));
  EXPECT_EQ(ReasonOf(status), corral::v1::SCREEN_UNAVAILABLE);
  std::ifstream file(offsets);
  EXPECT_EQ(std::vector<uint64_t>(std::istream_iterator<uint64_t>(file), {}),
            (std::vector<uint64_t>{0, 0, 44 << 10, 296 << 10, 300 << 10}));
}

TEST_F(LiveScreenTest, HasTheSizeThatAnEarlierServerGaveTheTerminal) {
  sandbox::TerminalTimesWriter times(file_path_ + sandbox::kTerminalTimes, 0);
  times.OnResize(2, 9, 0);
  // More records than are read at a time.
  uint64_t end = 0;
  for (uint64_t now = 0; now < 5000; ++now) {
    times.OnOutput(++end, now * 1000);
  }
  EXPECT_EQ(Get().screen().lines_size(), 2);
  times.OnResize(3, 9, 6'000'000);
  EXPECT_EQ(Get().screen().lines_size(), 3);
  // The size that this server gives it is later.
  execution_->SetTerminalSize(InTerminal(5, 9).terminal());
  EXPECT_EQ(Get().screen().lines_size(), 5);
}

TEST_F(LiveScreenTest, HidesThatItsEmulatorWasKilled) {
  Write(log_, "one\r\n");
  Get();
  const pid_t before = screen_.emulator_pid();
  KillEmulator();
  Write(log_, "two");
  const corral::v1::GetScreenResponse response = Get();
  EXPECT_NE(screen_.emulator_pid(), before);
  EXPECT_EQ(response.screen().lines(0).text(), "one");
  EXPECT_EQ(response.screen().lines(1).text(), "two");
}

TEST_F(LiveScreenTest, WrapsTheOutputAnewWhenTheTerminalIsResized) {
  Write(log_, "0123456789");
  EXPECT_EQ(FirstLine(), "0123456789");
  execution_->SetTerminalSize(InTerminal(3, 5).terminal());
  const corral::v1::GetScreenResponse response = Get();
  EXPECT_EQ(response.screen().lines_size(), 3);
  EXPECT_EQ(response.screen().lines(0).text(), "01234");
  EXPECT_EQ(response.screen().lines(1).text(), "56789");
}

TEST_F(LiveScreenTest, NoticesAResizeInOneDirection) {
  Write(log_, "0123456789");
  EXPECT_EQ(FirstLine(), "0123456789");
  execution_->SetTerminalSize(InTerminal(4, 5).terminal());
  EXPECT_EQ(FirstLine(), "01234");
  execution_->SetTerminalSize(InTerminal(2, 5).terminal());
  EXPECT_EQ(Get().screen().lines_size(), 2);
}

TEST_F(LiveScreenTest, ClearsForEveryLaterCall) {
  Write(log_, "old\r\n$ ");
  EXPECT_THAT(screen_.Clear(*execution_), IsOk());
  EXPECT_EQ(FirstLine(), "$ ");
  Write(log_, "new");
  EXPECT_EQ(FirstLine(), "$ new");
  KillEmulator();
  EXPECT_EQ(FirstLine(), "$ new");
  screen_.EndEmulator();
  EXPECT_EQ(FirstLine(), "$ new");
}

TEST_F(LiveScreenTest, StaysClearedWhenTheServerIsStartedAnew) {
  Write(log_, "old\r\n$ ");
  EXPECT_THAT(screen_.Clear(*execution_), IsOk());
  EXPECT_THAT(screen_.Clear(*execution_), IsOk());
  Write(log_, "new");
  LiveScreen next(&image_);
  corral::v1::GetScreenResponse response;
  ASSERT_THAT(next.Get(*execution_, {}, &response), IsOk());
  EXPECT_EQ(response.screen().lines(0).text(), "$ new");
  std::ifstream marks(sandbox_directory_ + "/screens/job");
  const std::string text(std::istreambuf_iterator<char>(marks), {});
  EXPECT_EQ(text.find("clear"), text.rfind("clear"));
}

TEST_F(LiveScreenTest, ClearsWhereTheOutputEndedThen) {
  Write(log_, "old\r\n$ ");
  EXPECT_THAT(screen_.Clear(*execution_), IsOk());
  Write(log_, "new\r\nmore");
  const corral::v1::GetScreenResponse response = Get();
  EXPECT_EQ(response.screen().lines(0).text(), "$ new");
  EXPECT_EQ(response.screen().lines(1).text(), "more");
}

TEST_F(LiveScreenTest, IsNotClearedForANewExecutionOfTheSameName) {
  Write(log_, "old\r\n$ ");
  EXPECT_THAT(screen_.Clear(*execution_), IsOk());
  EXPECT_EQ(FirstLine(), "$ ");
  const auto other = Start(InTerminal(4, 20));
  Record record = MakeRecord(Record::RUNNING, 0);
  record.set_create_time_ns(1);
  other->Update(record);
  LiveScreen next(&image_);
  corral::v1::GetScreenResponse response;
  ASSERT_THAT(next.Get(*other, {}, &response), IsOk());
  EXPECT_EQ(response.screen().lines(0).text(), "old");
}

TEST_F(LiveScreenTest, SaysWhetherAClientAnswersQuestions) {
  corral::v1::GetScreenResponse response;
  ASSERT_THAT(screen_.Get(*execution_, {}, &response), IsOk());
  EXPECT_FALSE(response.answered_by_client());
  EXPECT_TRUE(Get().answered_by_client());
  LiveScreen next(&image_);
  ASSERT_THAT(next.Get(*execution_, {}, &response), IsOk());
  EXPECT_TRUE(response.answered_by_client());
}

TEST_F(LiveScreenTest, AnswersQuestionsFromAnOffsetOn) {
  Write(log_, "ab\x1b[6n");
  corral::v1::GetScreenResponse response = Get();
  EXPECT_EQ(response.answers(), "\x1b[1;3R");
  corral::v1::GetScreenRequest later;
  later.set_answers_from(response.screen().end_offset());
  Write(log_, "c\x1b[5n");
  KillEmulator();
  ASSERT_THAT(screen_.Get(*execution_, later, &response), IsOk());
  EXPECT_EQ(response.answers(), "\x1b[0n");
}

TEST_F(LiveScreenTest, GivesNoAnswersToViewers) {
  Write(log_, "\x1b[5n");
  corral::v1::GetScreenResponse response;
  ASSERT_THAT(screen_.Get(*execution_, {}, &response), IsOk());
  EXPECT_EQ(response.answers(), "");
}

TEST_F(LiveScreenTest, RefusesATerminalThatIsTooLarge) {
  execution_->SetTerminalSize(InTerminal(60'000, 60'000).terminal());
  corral::v1::GetScreenResponse response;
  const absl::Status status = screen_.Get(*execution_, {}, &response);
  EXPECT_EQ(ReasonOf(status), corral::v1::SCREEN_UNAVAILABLE);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LiveScreenTest, WorksThroughKillsAndResizes) {
  Get();
  for (int i = 0; i < 20; ++i) {
    Write(log_, absl::StrCat("line ", i, "\r\n"));
    if (i % 3 == 0) {
      KillEmulator();
    }
    execution_->SetTerminalSize(InTerminal(4 + i % 2, 20 + i).terminal());
    const corral::v1::GetScreenResponse response = Get();
    const int last = response.screen().cursor().row();
    ASSERT_EQ(response.screen().lines(last - 1).text(),
              absl::StrCat("line ", i));
  }
}

}  // namespace
}  // namespace server

#include "server/screen/live_screen.h"

#include <signal.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/screen_service.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "server/api/errors.h"
#include "server/core/execution.h"
#include "server/core/execution_fixture.h"
#include "server/screen/emulator_process.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::tests::IsOk;

class LiveScreenTest : public ExecutionFixture {
 protected:
  LiveScreenTest()
      : execution_(Start(InTerminal(4, 20))), log_(&Log("terminal")) {
    execution_->Update(MakeRecord(Record::RUNNING, 0));
  }

  static corral::v1::Command InTerminal(uint32_t rows, uint32_t columns) {
    corral::v1::Command command;
    command.mutable_terminal()->set_rows(rows);
    command.mutable_terminal()->set_columns(columns);
    return command;
  }

  corral::v1::GetScreenResponse Get() {
    corral::v1::GetScreenRequest request;
    request.set_scrollback_lines(1000);
    request.set_answers_from(0);
    corral::v1::GetScreenResponse response;
    EXPECT_THAT(screen_.Get(*execution_, request, &response), IsOk());
    return response;
  }
  std::string FirstLine() { return Get().screen().lines(0).text(); }
  void KillEmulator() {
    const pid_t pid = screen_.emulator_pid();
    ASSERT_GT(pid, 0);
    ::kill(pid, SIGKILL);
  }

  const sandbox::UniqueFd image_ = MakeEmulatorImage().value();
  const std::shared_ptr<Execution> execution_;
  sandbox::OutputLogWriter* const log_;
  LiveScreen screen_{&image_};
};

TEST_F(LiveScreenTest, FollowsTheOutput) {
  EXPECT_EQ(FirstLine(), "");
  Write(log_, "hello");
  EXPECT_EQ(FirstLine(), "hello");
  Write(log_, " world");
  const corral::v1::GetScreenResponse response = Get();
  EXPECT_EQ(response.screen().lines(0).text(), "hello world");
  EXPECT_EQ(response.screen().end_offset(), 11);
  EXPECT_EQ(response.execution().state(), corral::v1::Execution::RUNNING);
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

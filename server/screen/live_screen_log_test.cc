// Screens of logs that have lost output, or cannot be read.

#include <sys/syscall.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/screen_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "server/api/errors.h"
#include "server/screen/live_screen.h"
#include "server/screen/live_screen_fixture.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;

class LiveScreenLogTest : public LiveScreenFixture {};

TEST_F(LiveScreenLogTest, IsEmptyBeforeThereIsALog) {
  std::filesystem::remove(file_path_);
  EXPECT_THAT(screen_.Clear(*execution_), IsOk());
  EXPECT_FALSE(std::filesystem::exists(sandbox_directory_ + "/screens"));
  EXPECT_EQ(FirstLine(), "");
}

TEST_F(LiveScreenLogTest, ReportsALogThatCannotBeRead) {
  std::filesystem::resize_file(file_path_, 1);
  corral::v1::GetScreenResponse response;
  EXPECT_EQ(ReasonOf(screen_.Get(*execution_, {}, &response)),
            ReasonOf(screen_.Clear(*execution_)));
  EXPECT_NE(ReasonOf(screen_.Clear(*execution_)),
            corral::v1::ERROR_REASON_UNSPECIFIED);
}

TEST_F(LiveScreenLogTest, ReportsALogWhoseHeaderCannotBeReadAnyMore) {
  Get();
  // Mapped memory beyond the end of a file fails like a broken disk.
  std::filesystem::resize_file(file_path_, 0);
  corral::v1::GetScreenResponse response;
  EXPECT_EQ(ReasonOf(screen_.Get(*execution_, {}, &response)),
            corral::v1::SERVER_FAULT);
}

TEST_F(LiveScreenLogTest, ReportsOutputThatTheDiskDoesNotGive) {
  Get();
  Write(log_, "text");
  absl::Status status;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pread64, SYS_preadv2}, EIO, [&] {
    corral::v1::GetScreenResponse response;
    status = screen_.Get(*execution_, {}, &response);
  }));
  EXPECT_EQ(ReasonOf(status), corral::v1::SERVER_FAULT);
  EXPECT_EQ(FirstLine(), "text");
}

TEST_F(LiveScreenLogTest, ReportsOutputThatHasExpired) {
  Write(log_, "old");
  Get();
  ASSERT_THAT(sandbox::ExpireOutputLog(file_path_, sandbox::wire::TERMINAL),
              IsOk());
  corral::v1::GetScreenResponse response;
  EXPECT_EQ(ReasonOf(screen_.Get(*execution_, {}, &response)),
            corral::v1::OUTPUT_EXPIRED);
}

TEST_F(LiveScreenLogTest, IsMadeOfTheLastOutputOnly) {
  const std::string part(1 << 20, '\0');
  for (uint64_t size = 0; size < LiveScreen::kMaxOutput; size += part.size()) {
    Write(log_, part);
  }
  Write(log_, "\rthe end");
  const corral::v1::GetScreenResponse response = Get();
  EXPECT_EQ(response.screen().begin_offset(), 8);
  EXPECT_EQ(response.screen().end_offset(), LiveScreen::kMaxOutput + 8);
  EXPECT_EQ(response.screen().lines(0).text(), "the end");
}

TEST_F(LiveScreenLogTest, IsEmptyWhenThereWasNoOutputThatCouldExpire) {
  ASSERT_THAT(sandbox::ExpireOutputLog(file_path_, sandbox::wire::TERMINAL),
              IsOk());
  EXPECT_EQ(FirstLine(), "");
}

TEST_F(LiveScreenLogTest, BeginsWithTheOldestOutputThatIsKept) {
  log_->SetRetention(64 << 10, sandbox::Overflow::kDropOldest);
  for (int i = 0; i < 4; ++i) {
    Write(log_, std::string(64 << 10, 'x'));
  }
  const corral::v1::GetScreenResponse response = Get();
  EXPECT_GT(log_->state().begin, 0);
  EXPECT_EQ(response.screen().begin_offset(), log_->state().begin);
  EXPECT_EQ(response.screen().end_offset(), log_->state().end);
}

TEST_F(LiveScreenLogTest, GoesOnBehindOutputThatWasDroppedMeanwhile) {
  log_->SetRetention(64 << 10, sandbox::Overflow::kDropOldest);
  Write(log_, "old");
  EXPECT_EQ(FirstLine(), "old");
  const pid_t pid = screen_.emulator_pid();
  for (int i = 0; i < 4; ++i) {
    Write(log_, std::string(64 << 10, 'x'));
  }
  Write(log_, "\r\nnew");
  const corral::v1::GetScreenResponse response = Get();
  EXPECT_EQ(screen_.emulator_pid(), pid);
  EXPECT_EQ(response.screen().begin_offset(), 0);
  EXPECT_EQ(response.screen().end_offset(), log_->state().end);
  EXPECT_EQ(response.screen().lines(3).text(), "new");
}

TEST_F(LiveScreenLogTest, AnswersQuestionsBehindOutputThatWasDropped) {
  log_->SetRetention(64 << 10, sandbox::Overflow::kDropOldest);
  Write(log_, "old");
  Get();
  for (int i = 0; i < 4; ++i) {
    Write(log_, std::string(64 << 10, 'x'));
  }
  corral::v1::GetScreenRequest later;
  later.set_answers_from(log_->state().end);
  Write(log_, "\x1b[5n");
  corral::v1::GetScreenResponse response;
  ASSERT_THAT(screen_.Get(*execution_, later, &response), IsOk());
  EXPECT_EQ(response.answers(), "\x1b[0n");
}

TEST_F(LiveScreenLogTest, ReportsALogThatHasLostWhatItShouldKeep) {
  log_->SetRetention(128 << 10, sandbox::Overflow::kHeadAndTail);
  for (int i = 0; i < 4; ++i) {
    Write(log_, std::string(64 << 10, 'x'));
  }
  // Only what follows the gap of the log is missing, says the report.
  Record record;
  auto* const report = record.add_streams();
  *report = MakeReport(sandbox::wire::TERMINAL, log_->state().end);
  report->set_gap_begin(log_->state().gap_end);
  report->set_gap_end(log_->state().gap_end + 1);
  execution_->OnOutput(record.streams());
  corral::v1::GetScreenResponse response;
  const absl::Status status = screen_.Get(*execution_, {}, &response);
  EXPECT_EQ(ReasonOf(status), corral::v1::SERVER_FAULT);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has lost what it should keep"));
}

TEST_F(LiveScreenLogTest, ReportsALogThatIsShorterThanReported) {
  Write(log_, "text");
  Record record;
  *record.add_streams() = MakeReport(sandbox::wire::TERMINAL, 9);
  execution_->OnOutput(record.streams());
  corral::v1::GetScreenResponse response;
  EXPECT_EQ(ReasonOf(screen_.Get(*execution_, {}, &response)),
            corral::v1::SERVER_FAULT);
}

}  // namespace
}  // namespace server

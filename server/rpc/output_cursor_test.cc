#include "server/rpc/output_cursor.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "server/core/execution_fixture.h"
#include "server/rpc/log_read.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

namespace wire = ::corral::supervisor::v1;
using corral::v1::OutputEvent;
using corral::v1::Stream;
using sandbox::OutputLogWriter;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

using Next = OutputCursor::Next;
using Cursors = google::protobuf::RepeatedPtrField<corral::v1::StreamCursor>;

constexpr uint64_t kRetained = 64 << 10;
constexpr uint64_t kChunk = 256 << 10;

class OutputCursorTest : public ExecutionFixture {
 protected:
  // A running execution whose log of standard output has this text.
  std::shared_ptr<Execution> Run(const std::string& text) {
    corral::v1::Command command;
    command.set_merge_stderr(true);
    std::shared_ptr<Execution> execution = Start(command);
    stdout_ = &Log(corral::supervisor::v1::STDOUT);
    Write(stdout_, text);
    execution->Update(MakeRecord(Record::RUNNING, text.size()));
    return execution;
  }
  void WriteMore(Execution* execution, const std::string& text) {
    Write(stdout_, text);
    Record record = MakeRecord(Record::RUNNING, stdout_->state().end);
    record.mutable_streams(0)->set_begin(stdout_->state().begin);
    execution->OnOutput(record.streams());
  }
  static void End(Execution* execution) {
    execution->Update(MakeRecord(Record::EXITED, 0));
  }

  static Cursors From(Stream stream, uint64_t offset) {
    Cursors cursors;
    corral::v1::StreamCursor* cursor = cursors.Add();
    cursor->set_stream(stream);
    cursor->set_offset(offset);
    return cursors;
  }
  static OutputCursor Follow(const std::shared_ptr<Execution>& execution,
                             const Cursors& cursors = {}) {
    return OutputCursor::Create(execution, cursors, /*follow=*/true).value();
  }

  // The next event as text: what it is, and where.
  static std::string ToText(const OutputEvent& event) {
    switch (event.event_case()) {
      case OutputEvent::kOpened:
        return "opened";
      case OutputEvent::kChunk:
        return absl::StrCat(event.chunk().offset(), ":", event.chunk().data());
      case OutputEvent::kGap:
        return absl::StrCat("gap ", event.gap().begin_offset(), "-",
                            event.gap().end_offset());
      case OutputEvent::kEnded:
        return "ended";
      default:
        return event.ShortDebugString();
    }
  }
  // Advances and reads until there is no event now.
  static std::vector<std::string> Drain(OutputCursor* cursor) {
    std::vector<std::string> events;
    OutputEvent event;
    while (true) {
      const absl::StatusOr<Next> next = cursor->Advance(&event);
      EXPECT_THAT(next.status(), IsOk());
      switch (next.value_or(Next::kEnd)) {
        case Next::kEvent:
        case Next::kLast:
          events.push_back(ToText(event));
          break;
        case Next::kRead: {
          LogRead read = cursor->TakeRead();
          read.Run();
          cursor->Put(std::move(read));
          break;
        }
        case Next::kIdle:
          return events;
        case Next::kEnd:
          events.push_back("end");
          return events;
      }
    }
  }
  // The status that ends the stream.
  static absl::Status Failure(OutputCursor cursor) {
    OutputEvent event;
    while (true) {
      const absl::StatusOr<Next> next = cursor.Advance(&event);
      if (!next.ok()) {
        return next.status();
      }
      if (*next == Next::kRead) {
        LogRead read = cursor.TakeRead();
        read.Run();
        cursor.Put(std::move(read));
      } else if (*next != Next::kEvent) {
        return absl::OkStatus();
      }
    }
  }

  OutputLogWriter* stdout_ = nullptr;
};

TEST_F(OutputCursorTest, FollowsOutputToTheEnd) {
  const auto execution = Run("before");
  OutputCursor cursor = Follow(execution);
  EXPECT_FALSE(cursor.opened());
  EXPECT_THAT(Drain(&cursor), ElementsAre("opened", "0:before"));
  EXPECT_TRUE(cursor.opened());
  WriteMore(execution.get(), "after");
  EXPECT_THAT(Drain(&cursor), ElementsAre("6:after"));
  End(execution.get());
  EXPECT_THAT(Drain(&cursor), ElementsAre("ended", "end"));
}

TEST_F(OutputCursorTest, HasNothingBeforeTheExecutionRuns) {
  const auto execution = Start();
  OutputCursor cursor = Follow(execution);
  EXPECT_THAT(Drain(&cursor), ElementsAre());
  EXPECT_FALSE(cursor.opened());
}

TEST_F(OutputCursorTest, CutsOutputIntoChunksOf256KiB) {
  const auto execution = Run(std::string(600'000, 'x'));
  OutputCursor cursor = Follow(execution);
  EXPECT_THAT(Drain(&cursor),
              ElementsAre("opened", "0:" + std::string(kChunk, 'x'),
                          "262144:" + std::string(kChunk, 'x'),
                          "524288:" + std::string(600'000 - 2 * kChunk, 'x')));
}

TEST_F(OutputCursorTest, BeginsAtItsOffsetUpToTheEnd) {
  const auto execution = Run("0123");
  OutputCursor middle = Follow(execution, From(corral::v1::STDOUT, 3));
  EXPECT_THAT(Drain(&middle), ElementsAre("opened", "3:3"));
  OutputCursor at_end = Follow(execution, From(corral::v1::STDOUT, 4));
  EXPECT_THAT(Drain(&at_end), ElementsAre("opened"));
  WriteMore(execution.get(), "4");
  EXPECT_THAT(Drain(&at_end), ElementsAre("4:4"));
  EXPECT_THAT(Failure(Follow(execution, From(corral::v1::STDOUT, 6))),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("6")));
}

TEST_F(OutputCursorTest, RefusesCursorsThatNameNoStreamOrOneTwice) {
  const auto execution = Start();
  EXPECT_THAT(OutputCursor::Create(
                  execution, From(corral::v1::STREAM_UNSPECIFIED, 0), true)
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cursors[0].stream")));
  EXPECT_THAT(
      OutputCursor::Create(execution, From(corral::v1::TERMINAL, 0), true)
          .status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, _));
  Cursors twice = From(corral::v1::STDERR, 0);
  *twice.Add() = twice[0];
  EXPECT_THAT(OutputCursor::Create(execution, twice, true).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cursors[1].stream")));
  twice[1].set_stream(corral::v1::STDOUT);
  EXPECT_THAT(OutputCursor::Create(execution, twice, true).status(), IsOk());
}

TEST_F(OutputCursorTest, WithoutFollowingEndsAtTheOutputWrittenBefore) {
  const auto execution = Run("now");
  OutputCursor cursor =
      OutputCursor::Create(execution, {}, /*follow=*/false).value();
  OutputEvent event;
  ASSERT_EQ(cursor.Advance(&event).value(), Next::kEvent);
  WriteMore(execution.get(), "later");
  EXPECT_THAT(Drain(&cursor), ElementsAre("0:now", "end"));
}

TEST_F(OutputCursorTest, DoesNotFollowOutputAfterTheEnd) {
  const auto execution = Run("text");
  OutputCursor cursor = Follow(execution);
  EXPECT_THAT(Drain(&cursor), ElementsAre("opened", "0:text"));
  End(execution.get());
  OutputEvent event;
  ASSERT_EQ(cursor.Advance(&event).value(), Next::kLast);
  WriteMore(execution.get(), "late");
  EXPECT_THAT(Drain(&cursor), ElementsAre("end"));
}

TEST_F(OutputCursorTest, DoesNotFollowLateOutputWhileItSendsTheRest) {
  const auto execution = Run("text");
  OutputCursor cursor = Follow(execution);
  End(execution.get());
  OutputEvent event;
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kEvent);  // opened
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kRead);
  WriteMore(execution.get(), "late");
  LogRead read = cursor.TakeRead();
  read.Run();
  cursor.Put(std::move(read));
  EXPECT_THAT(Drain(&cursor), ElementsAre("0:text", "ended", "end"));
}

TEST_F(OutputCursorTest, SendsAllThatWasWrittenBeforeTheEnd) {
  const auto execution = Run("text");
  OutputCursor cursor = Follow(execution);
  EXPECT_THAT(Drain(&cursor), ElementsAre("opened", "0:text"));
  Write(stdout_, "more");
  // Only the record of the end reports it.
  execution->Update(MakeRecord(Record::EXITED, 8));
  EXPECT_THAT(Drain(&cursor), ElementsAre("4:more", "ended", "end"));
}

TEST_F(OutputCursorTest, TakesTurnsAmongTheStreams) {
  const auto execution = Start();
  Write(&Log(corral::supervisor::v1::STDOUT), std::string(3 * kChunk, 'o'));
  Write(&Log(corral::supervisor::v1::STDERR), std::string(3 * kChunk, 'e'));
  Record record = MakeRecord(Record::RUNNING, 3 * kChunk);
  *record.add_streams() = MakeReport(wire::STDERR, 3 * kChunk);
  execution->Update(record);
  // Open already, so that no read has to wait.
  const auto out = execution->OpenLog(corral::v1::STDOUT);
  const auto err = execution->OpenLog(corral::v1::STDERR);
  OutputCursor cursor = Follow(execution);
  std::string turns;
  for (const std::string& event : Drain(&cursor)) {
    turns += event.back();
  }
  EXPECT_EQ(turns, "doeoeoe");
}

TEST_F(OutputCursorTest, ReadsAnOpenLogWithoutHandingOutARead) {
  const auto execution = Run("text");
  const auto log = execution->OpenLog(corral::v1::STDOUT);
  OutputCursor cursor = Follow(execution);
  OutputEvent event;
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kEvent);
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kEvent);
  EXPECT_EQ(event.chunk().data(), "text");
}

TEST_F(OutputCursorTest, IsIdleWhileAReadIsOutstanding) {
  const auto execution = Run("text");
  OutputCursor cursor = Follow(execution);
  OutputEvent event;
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kEvent);
  ASSERT_EQ(cursor.Advance(&event).value(), Next::kRead);
  LogRead read = cursor.TakeRead();
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kIdle);
  WriteMore(execution.get(), "more");
  End(execution.get());
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kIdle);
  EXPECT_EQ(cursor.Heartbeat().streams(0).end_offset(), 8);
  read.Run();
  cursor.Put(std::move(read));
  EXPECT_THAT(Drain(&cursor), ElementsAre("0:text", "4:more", "ended", "end"));
}

TEST_F(OutputCursorTest, ReportsAGapForOutputThatWasReportedDropped) {
  const auto execution = Run("text");
  Record record = MakeRecord(Record::RUNNING, 4);
  record.mutable_streams(0)->set_begin(3);
  execution->OnOutput(record.streams());
  OutputCursor cursor = Follow(execution, From(corral::v1::STDOUT, 1));
  EXPECT_THAT(Drain(&cursor), ElementsAre("opened", "gap 1-3", "3:t"));
  // A cursor without an offset begins at the first byte kept, without a gap.
  OutputCursor from_kept = Follow(execution);
  EXPECT_THAT(Drain(&from_kept), ElementsAre("opened", "3:t"));
}

TEST_F(OutputCursorTest, ReportsAGapForOutputThatWasDroppedWithoutAReport) {
  const auto execution = Run("");
  // Open already: the header was read before anything was dropped.
  const auto log = execution->OpenLog(corral::v1::STDOUT);
  stdout_->SetRetention(kRetained, sandbox::Overflow::kDropOldest);
  for (int i = 0; i < 4; ++i) {
    Write(stdout_, std::string(kRetained, 'x'));
  }
  Record record = MakeRecord(Record::RUNNING, stdout_->state().end);
  execution->OnOutput(record.streams());
  ASSERT_EQ(execution->output(corral::v1::STDOUT)->begin, 0);
  OutputCursor cursor = Follow(execution);
  const std::vector<std::string> events = Drain(&cursor);
  const uint64_t begin = stdout_->state().begin;
  ASSERT_GT(begin, 0);
  EXPECT_EQ(events.at(1), absl::StrCat("gap 0-", begin));
  EXPECT_THAT(events.at(2), ::testing::StartsWith(absl::StrCat(begin, ":x")));
}

TEST_F(OutputCursorTest, SkipsTheGapBetweenHeadAndTail) {
  const auto execution = Run("0123456789");
  Record record = MakeRecord(Record::RUNNING, 10);
  record.mutable_streams(0)->set_gap_begin(2);
  record.mutable_streams(0)->set_gap_end(8);
  execution->OnOutput(record.streams());
  OutputCursor cursor = Follow(execution, From(corral::v1::STDOUT, 5));
  EXPECT_THAT(Drain(&cursor), ElementsAre("opened", "gap 5-8", "8:89"));
}

TEST_F(OutputCursorTest, ReportsThatOutputHasExpired) {
  const auto execution = Run("text");
  Record record = MakeRecord(Record::EXITED, 4);
  record.mutable_streams(0)->set_expired(true);
  execution->Update(record);
  EXPECT_THAT(Failure(Follow(execution, From(corral::v1::STDOUT, 3))),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("expired")));
  OutputCursor at_end = Follow(execution, From(corral::v1::STDOUT, 4));
  EXPECT_THAT(Drain(&at_end), ElementsAre("opened", "ended", "end"));
  OutputCursor from_kept = Follow(execution);
  EXPECT_THAT(Drain(&from_kept), ElementsAre("opened", "ended", "end"));
}

TEST_F(OutputCursorTest, LooksForLogsThatNobodyHasReported) {
  const auto execution = Start();
  Write(&Log(corral::supervisor::v1::STDOUT), "text");
  execution->MarkLost(corral::v1::Loss());
  OutputCursor cursor = Follow(execution);
  EXPECT_THAT(Drain(&cursor), ElementsAre("opened", "0:text", "ended", "end"));
}

TEST_F(OutputCursorTest, ReportsAGapForALogThatWasDeletedBeforeItWasRead) {
  const auto execution = Run("text");
  OutputCursor cursor = Follow(execution);
  std::filesystem::remove(file_path_);
  execution->Update(MakeRecord(Record::EXITED, 4));
  EXPECT_THAT(Drain(&cursor), ElementsAre("opened", "gap 0-4", "ended", "end"));
}

TEST_F(OutputCursorTest, FailsAtTheEndOfALogThatIsShorterThanReported) {
  const auto execution = Run("text");
  const auto log = execution->OpenLog(corral::v1::STDOUT);
  execution->OnOutput(MakeRecord(Record::RUNNING, 9).streams());
  OutputCursor cursor = Follow(execution);
  OutputEvent event;
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kEvent);  // opened
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kEvent);
  EXPECT_EQ(event.chunk().data(), "text");
  EXPECT_THAT(Failure(std::move(cursor)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("shorter")));

  // The same if the log is read on a thread that may wait.
  LogRead read(execution, corral::v1::STDOUT, nullptr, 0, 9, "");
  read.Run();
  EXPECT_THAT(read.status(), IsOk());
  EXPECT_EQ(read.TakeData(), "text");
}

TEST_F(OutputCursorTest, FailsWhenTheDiskDoesNotGiveTheLog) {
  const auto execution = Run("text");
  std::filesystem::resize_file(file_path_, 4096);
  EXPECT_THAT(Failure(Follow(execution)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("output")));
  // Too short for a header.
  std::filesystem::resize_file(file_path_, 1);
  EXPECT_THAT(Failure(Follow(execution)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("output")));
}

}  // namespace
}  // namespace server

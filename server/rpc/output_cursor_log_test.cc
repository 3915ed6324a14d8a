// The logs that a cursor opens, and keeps open.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "server/core/execution_fixture.h"
#include "server/rpc/log_read.h"
#include "server/rpc/output_cursor.h"
#include "tests/no_descriptors.h"

namespace server {
namespace {

using ::testing::ElementsAre;

using Next = OutputCursor::Next;

class OutputCursorLogTest : public ExecutionFixture {
 protected:
  // More than two chunks.
  static constexpr uint64_t kSize = 600'000;

  // A running execution with that much output.
  std::shared_ptr<Execution> Run() {
    corral::v1::Command command;
    command.set_merge_stderr(true);
    std::shared_ptr<Execution> execution = Start(command);
    Write(&Log(corral::supervisor::v1::STDOUT), std::string(kSize, 'x'));
    execution->Update(MakeRecord(Record::RUNNING, kSize));
    return execution;
  }
  static OutputCursor Follow(const std::shared_ptr<Execution>& execution) {
    return OutputCursor::Create(execution, {}, /*follow=*/true).value();
  }
  // Advances `count` times, and does the reads that are wanted.
  static std::vector<Next> Advance(OutputCursor* cursor, int count) {
    std::vector<Next> all;
    corral::v1::OutputEvent event;
    for (int i = 0; i < count; ++i) {
      all.push_back(cursor->Advance(&event).value());
      if (all.back() == Next::kRead) {
        LogRead read = cursor->TakeRead();
        read.Run();
        cursor->Put(std::move(read));
      }
    }
    return all;
  }
};

TEST_F(OutputCursorLogTest, OpensALogOnce) {
  OutputCursor cursor = Follow(Run());
  EXPECT_THAT(Advance(&cursor, 6),
              ElementsAre(Next::kEvent, Next::kRead, Next::kEvent, Next::kEvent,
                          Next::kEvent, Next::kIdle));
}

TEST_F(OutputCursorLogTest, KeepsALogOpenThatAnotherReaderOpened) {
  const auto execution = Run();
  OutputCursor cursor = Follow(execution);
  absl::StatusOr<Execution::LogReader> other =
      execution->OpenLog(corral::v1::STDOUT);
  EXPECT_THAT(Advance(&cursor, 2), ElementsAre(Next::kEvent, Next::kEvent));
  other->reset();
  EXPECT_THAT(Advance(&cursor, 3),
              ElementsAre(Next::kEvent, Next::kEvent, Next::kIdle));
}

TEST_F(OutputCursorLogTest, IsRefusedForAWhileIfNoDescriptorIsLeft) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  const auto execution = Run();
  OutputCursor cursor = Follow(execution);
  corral::v1::OutputEvent event;
  EXPECT_EQ(cursor.Advance(&event).value(), Next::kEvent);
  ASSERT_EQ(cursor.Advance(&event).value(), Next::kRead);
  LogRead read = cursor.TakeRead();
  {
    const tests::NoDescriptors none;
    read.Run();
  }
  cursor.Put(std::move(read));
  const absl::Status status = cursor.Advance(&event).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(ReasonOf(status), corral::v1::SANDBOX_NOT_READY);
  OutputCursor later = Follow(execution);
  EXPECT_THAT(Advance(&later, 3),
              ElementsAre(Next::kEvent, Next::kRead, Next::kEvent));
}

TEST_F(OutputCursorLogTest, LooksOnceForEachLogThatWasNeverMade) {
  const auto execution = Start();
  execution->MarkLost(corral::v1::Loss());
  OutputCursor cursor = Follow(execution);
  EXPECT_THAT(Advance(&cursor, 5),
              ElementsAre(Next::kRead, Next::kRead, Next::kEvent, Next::kLast,
                          Next::kEnd));
}

}  // namespace
}  // namespace server

#include "server/core/output_expiry.h"

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "gtest/gtest.h"
#include "server/core/execution.h"
#include "server/core/execution_fixture.h"
#include "server/runtime/worker_pool.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {
namespace {

class OutputExpiryTest : public ExecutionFixture {
 protected:
  // Makes the output of an execution that ended long ago expire.
  void Expire() {
    corral::v1::Command command;
    command.mutable_output()->mutable_keep_after_end()->set_seconds(1);
    execution_ = Start(command);
    Write(&Log(corral::supervisor::v1::STDOUT), "gone soon");
    execution_->Update(MakeRecord(Record::EXITED, 9));
    ExpireOutput(execution_, &timers_, &workers_);
  }
  void Advance(absl::Duration duration) {
    timers_.Advance(duration);
    workers_.AwaitIdle();
  }
  bool expired() const {
    return execution_->output(corral::v1::STDOUT)->expired;
  }

  tests::FakeTimerQueue timers_;
  WorkerPool workers_{1};
  std::shared_ptr<Execution> execution_;
};

TEST_F(OutputExpiryTest, ExpiresAtOnceWhatShouldHaveExpiredLongAgo) {
  Expire();
  EXPECT_FALSE(expired());
  Advance(absl::ZeroDuration());
  EXPECT_TRUE(expired());
}

TEST_F(OutputExpiryTest, RetriesWhatTheDiskRefuses) {
  Expire();
  const std::string aside = absl::StrCat(file_path_, ".aside");
  std::filesystem::rename(file_path_, aside);
  // The directory of an earlier supervisor, with a log that is none.
  std::filesystem::create_directories(absl::StrCat(file_path_, "/stdout"));
  Advance(absl::ZeroDuration());
  EXPECT_FALSE(expired());
  std::filesystem::remove_all(file_path_);
  std::filesystem::rename(aside, file_path_);
  Advance(absl::Seconds(59));
  EXPECT_FALSE(expired());
  Advance(absl::Seconds(1));
  EXPECT_TRUE(expired());
}

TEST_F(OutputExpiryTest, DropsTheOutputOnceAndCallsTheWatchers) {
  class Watcher : public ExecutionWatcher {
   public:
    void OnChange() override { ++changes; }
    int changes = 0;
  };
  Expire();
  const auto watcher = std::make_shared<Watcher>();
  execution_->Watch(watcher);
  Advance(absl::ZeroDuration());
  EXPECT_EQ(watcher->changes, 1);
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(OutputExpiryTest, DoesNotRetryForALogThatWasNeverMade) {
  Expire();
  std::filesystem::remove(file_path_);
  Advance(absl::ZeroDuration());
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(OutputExpiryTest, WaitsNoLongerThanKeepAfterEnd) {
  corral::v1::Command command;
  command.mutable_output()->mutable_keep_after_end()->set_seconds(60);
  execution_ = Start(command);
  Write(&Log(corral::supervisor::v1::STDOUT), "gone soon");
  Record record = MakeRecord(Record::EXITED, 9);
  // The wall clock was set back since.
  record.set_end_time_ns(absl::ToUnixNanos(absl::Now() + absl::Hours(1)));
  execution_->Update(record);
  ExpireOutput(execution_, &timers_, &workers_);
  Advance(absl::Seconds(59));
  EXPECT_FALSE(expired());
  Advance(absl::Seconds(1));
  EXPECT_TRUE(expired());
}

TEST_F(OutputExpiryTest, SetsNoTimerForOutputThatIsKept) {
  execution_ = Start();
  execution_->Update(MakeRecord(Record::EXITED, 9));
  ExpireOutput(execution_, &timers_, &workers_);
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(OutputExpiryTest, AnExecutionMayBeGoneBeforeItsOutputExpires) {
  Expire();
  execution_.reset();
  Advance(absl::ZeroDuration());
  EXPECT_EQ(timers_.size(), 0);
}

}  // namespace
}  // namespace server

// How much a log takes, keeps and drops, also while its disk fails.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class OutputLogPolicyTest : public ::testing::Test {
 protected:
  OutputLogPolicyTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_end_.Reset(ends[0]);
    write_end_.Reset(ends[1]);
    Make();
  }
  ~OutputLogPolicyTest() override { std::filesystem::remove_all(directory_); }

  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/logXXXXXX";
    return ::mkdtemp(path.data());
  }
  // Begins with an empty log.
  void Make() {
    std::filesystem::remove(path_);
    writer_.emplace(*ExecutionFile::Create(path_), wire::STDOUT);
  }
  void Append(uint64_t size) {
    const std::string data(size, 'x');
    ASSERT_THAT(writer_->Append(data.data(), data.size()), IsOk());
  }
  void Feed(const std::string& text) {
    ASSERT_EQ(::write(write_end_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  OutputLogState State() const {
    return *OutputLogReader::Open(path_, wire::STDOUT)->state();
  }

  const std::string directory_ = MakeDirectory();
  const std::string path_ = directory_ + "/e1";
  std::optional<OutputLogWriter> writer_;
  UniqueFd read_end_;
  UniqueFd write_end_;
};

TEST_F(OutputLogPolicyTest, DropsInStepsOfEightMebibytesAtMost) {
  writer_->SetRetention(128 * kMiB, Overflow::kBlock);
  for (int i = 0; i < 9; ++i) {
    ASSERT_NO_FATAL_FAILURE(Append(kMiB));
  }
  writer_->Acknowledge(8 * kMiB - 1);
  EXPECT_EQ(writer_->state().begin, 0u);
  writer_->Acknowledge(8 * kMiB);
  EXPECT_EQ(writer_->state().begin, 8 * kMiB);
}

TEST_F(OutputLogPolicyTest, MovesAMebibyteAtMostUnderEachPolicy) {
  for (const Overflow overflow : {Overflow::kDropOldest, Overflow::kHeadAndTail,
                                  Overflow::kBlock, Overflow::kKill}) {
    writer_->SetRetention(4 * kMiB, overflow);
    EXPECT_EQ(writer_->Room(), kMiB);
  }
}

TEST_F(OutputLogPolicyTest, TrimsNeitherLessThanItsPolicyNorMoreThanItsLeast) {
  writer_->SetRetention(kMiB, Overflow::kDropOldest);
  ASSERT_NO_FATAL_FAILURE(Append(kMiB + 64 * kKiB));
  ASSERT_EQ(writer_->state().begin, 0u);
  writer_->Trim(UINT64_MAX);
  EXPECT_EQ(writer_->state().begin, 64 * kKiB);
  EXPECT_EQ(writer_->droppable_bytes(), kMiB);
  writer_->Trim(0);
  EXPECT_EQ(writer_->disk_bytes(), OutputLogWriter::kMinRetained);
}

TEST_F(OutputLogPolicyTest, KeepsATailThoughItsPolicyKeepsLittle) {
  writer_->SetRetention(1000, Overflow::kHeadAndTail);
  ASSERT_NO_FATAL_FAILURE(Append(200'000));
  EXPECT_EQ(writer_->state().gap_begin, 500u);
  // 32 KiB at least, in steps of 64 KiB.
  EXPECT_EQ(writer_->state().gap_end, 128 * kKiB);
}

TEST_F(OutputLogPolicyTest, DropsNothingOfALogThatEndsItsCommand) {
  writer_->SetRetention(kMiB, Overflow::kKill);
  ASSERT_NO_FATAL_FAILURE(Append(kMiB));
  EXPECT_EQ(writer_->droppable_bytes(), 0u);
  writer_->Trim(0);
  EXPECT_EQ(writer_->state().begin, 0u);
  EXPECT_EQ(writer_->disk_bytes(), kMiB);
}

TEST_F(OutputLogPolicyTest, DropsLateOutputOfAFullLogThatHasExpired) {
  for (const Overflow overflow : {Overflow::kBlock, Overflow::kKill}) {
    Make();
    writer_->SetRetention(64 * kKiB, overflow);
    ASSERT_NO_FATAL_FAILURE(Append(64 * kKiB));
    ASSERT_EQ(writer_->Room(), 0u);
    ASSERT_THAT(ExpireOutputLog(path_, wire::STDOUT), IsOk());
    EXPECT_FALSE(writer_->state().expired) << "it has not looked";
    writer_->Trim(0);
    EXPECT_TRUE(writer_->state().expired);
    EXPECT_EQ(writer_->Room(), kMiB);
    ASSERT_NO_FATAL_FAILURE(Append(64 * kKiB));
    EXPECT_EQ(writer_->disk_bytes(), 0u);
    EXPECT_EQ(State().begin, 128 * kKiB);
  }
}

TEST_F(OutputLogPolicyTest, TakesNoMoreOfAPipeThanItHasRoomFor) {
  writer_->SetRetention(3, Overflow::kKill);
  ASSERT_NO_FATAL_FAILURE(Feed("hello"));
  EXPECT_EQ(*writer_->AppendFromPipe(read_end_.get()), 3u);
  EXPECT_EQ(writer_->Room(), 0u);
  EXPECT_EQ(State().end, 3u);
}

TEST_F(OutputLogPolicyTest, LeavesInThePipeWhatTheDiskDoesNotBound) {
  writer_->SetRetention(64 * kKiB, Overflow::kDropOldest);
  ASSERT_NO_FATAL_FAILURE(Feed("one"));
  absl::Status refused;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_fallocate}, EOPNOTSUPP, [&] {
    Append(256 * kKiB);
    refused = writer_->AppendFromPipe(read_end_.get()).status();
  }));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kUnimplemented,
                                HasSubstr("punch a hole")));
  EXPECT_TRUE(writer_->unpunched());
  EXPECT_THAT(writer_->Punch(), IsOk());
  EXPECT_FALSE(writer_->unpunched());
  EXPECT_THAT(writer_->Punch(), IsOk()) << "nothing is left to give back";
  EXPECT_EQ(writer_->disk_bytes(), 64 * kKiB);
  EXPECT_EQ(*writer_->AppendFromPipe(read_end_.get()), 3u);
}

TEST_F(OutputLogPolicyTest, CountsWhatReadersCouldNotBeShownAtOnce) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer bears no jump out of a signal's handler";
#endif
  ASSERT_NO_FATAL_FAILURE(Append(4096));
  ASSERT_NO_FATAL_FAILURE(Feed("later"));
  // Mapped memory beyond the end of a file fails like a broken disk.
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  EXPECT_THAT(
      writer_->AppendFromPipe(read_end_.get()).status(),
      StatusIs(absl::StatusCode::kUnknown, HasSubstr("store(log header)")));
  EXPECT_EQ(writer_->state().end, 4096u);
  EXPECT_EQ(writer_->disk_bytes(), 4101u);
  ASSERT_EQ(::truncate(path_.c_str(), 4096), 0);
  ASSERT_NO_FATAL_FAILURE(Feed("more"));
  EXPECT_EQ(*writer_->AppendFromPipe(read_end_.get()), 5u);
  EXPECT_EQ(writer_->state().end, 4101u);
  EXPECT_EQ(*writer_->AppendFromPipe(read_end_.get()), 4u);
}

TEST_F(OutputLogPolicyTest, ChangesNoStateThatReadersCannotBeShown) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer bears no jump out of a signal's handler";
#endif
  ASSERT_NO_FATAL_FAILURE(Append(kMiB));
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  for (const Overflow overflow :
       {Overflow::kDropOldest, Overflow::kHeadAndTail}) {
    writer_->SetRetention(128 * kKiB, overflow);
    writer_->Trim(0);
    EXPECT_EQ(writer_->state().begin, 0u);
    EXPECT_EQ(writer_->state().gap_end, 0u);
  }
  writer_->NoteStart(7);
  EXPECT_EQ(writer_->state().start_time_ns, 0);
  writer_->Close();
  EXPECT_FALSE(writer_->state().closed);
  // The end of a pipe changes nothing, so that it needs no disk.
  write_end_.Reset();
  const absl::StatusOr<size_t> got = writer_->AppendFromPipe(read_end_.get());
  ASSERT_THAT(got.status(), IsOk());
  EXPECT_EQ(*got, 0u);
}

TEST_F(OutputLogPolicyTest, FindsNothingInAPipeWhenItIsInterrupted) {
  ASSERT_NO_FATAL_FAILURE(Feed("text"));
  absl::Status interrupted;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_splice}, EINTR, [&] {
    interrupted = writer_->AppendFromPipe(read_end_.get()).status();
  }));
  EXPECT_TRUE(absl::IsUnavailable(interrupted)) << interrupted;
  EXPECT_EQ(*writer_->AppendFromPipe(read_end_.get()), 4u);
}

TEST_F(OutputLogPolicyTest, MakesAFileOnlyWhereItKnowsTheFileSystem) {
  const std::string text(5000, 'x');
  absl::Status refused;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_fstatfs}, EIO, [&] {
    refused = writer_->Append(text.data(), text.size());
  }));
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("statfs(log)")));
  EXPECT_EQ(State().end, 0u);
  ASSERT_NO_FATAL_FAILURE(Append(5000));
  EXPECT_EQ(State().end, 5000u);
}

}  // namespace
}  // namespace sandbox

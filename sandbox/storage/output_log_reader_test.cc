#include <fcntl.h>
#include <sys/stat.h>
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
using ::testing::Optional;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uint64_t kMiB = uint64_t{1} << 20;
// Where the header and the output begin.
constexpr off_t kHeader = 64;
constexpr off_t kWindow = 4096;

class OutputLogReaderTest : public ::testing::Test {
 protected:
  OutputLogReaderTest()
      : writer_(*ExecutionFile::Create(log_), wire::STDOUT),
        reader_(*OutputLogReader::Open(log_, wire::STDOUT)) {}
  ~OutputLogReaderTest() override { std::filesystem::remove_all(path_); }

  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/logXXXXXX";
    return ::mkdtemp(path.data());
  }

  void Write(const std::string& text) {
    ASSERT_THAT(writer_.Append(text.data(), text.size()), IsOk());
  }
  absl::StatusOr<size_t> Read(uint64_t offset, size_t size = 100) {
    return reader_.Read(offset, buffer_, size);
  }
  absl::StatusOr<std::optional<size_t>> TryRead(uint64_t offset,
                                                size_t size = 100) {
    return reader_.TryRead(offset, buffer_, size);
  }
  // Sets the 8 bytes at `position` of the header.
  void SetHeader(off_t position, uint64_t value) {
    const UniqueFd file(::open(log_.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::pwrite(file.get(), &value, sizeof(value), kHeader + position),
              static_cast<ssize_t>(sizeof(value)));
  }

  const std::string path_ = MakeDirectory();
  const std::string log_ = path_ + "/e1";
  OutputLogWriter writer_;
  OutputLogReader reader_;
  char buffer_[100];
};

TEST_F(OutputLogReaderTest, ReadsNothingBeyondTheEnd) {
  Write("text");
  // Bytes that were written but not published.
  const UniqueFd file(::open(log_.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "more", 4, kWindow + 4), 4);
  EXPECT_EQ(*Read(2), 2u);
  EXPECT_EQ(*Read(4), 0u);
  EXPECT_EQ(*Read(5), 0u);
}

TEST_F(OutputLogReaderTest, ReportsNoBeginBeyondTheEnd) {
  Write("text");
  // A writer that drops bytes which this reader has not seen written.
  SetHeader(/*begin*/ 8, 100);
  EXPECT_EQ(reader_.state()->begin, 4u);
  EXPECT_EQ(reader_.state()->end, 4u);
}

TEST_F(OutputLogReaderTest, ReportsThatBytesAreMissing) {
  Write("text");
  ASSERT_EQ(::truncate(log_.c_str(), kWindow + 2), 0);
  EXPECT_EQ(*Read(0), 2u);
  EXPECT_THAT(Read(2).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("shorter")));
}

TEST_F(OutputLogReaderTest, RefusesAFileThatIsNotALog) {
  const std::string other = path_ + "/other";
  const UniqueFd file(
      ::open(other.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(file.get(), 2 * kWindow), 0);
  EXPECT_THAT(OutputLogReader::Open(other, wire::STDOUT).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no log")));
}

TEST_F(OutputLogReaderTest, RefusesAFileWithoutAWholePage) {
  // A start that was under way when the host went down leaves this.
  for (const off_t size : {0, 4095}) {
    ASSERT_EQ(::truncate(log_.c_str(), size), 0);
    EXPECT_THAT(OutputLogReader::Open(log_, wire::STDOUT).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no log")));
    EXPECT_TRUE(absl::IsDataLoss(CutOutputLog(log_, wire::STDOUT)));
  }
}

TEST_F(OutputLogReaderTest, SurvivesAHeaderThatCannotBeRead) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer bears no jump out of a signal's handler";
#endif
  Write("text");
  // Mapped memory beyond the end of a file fails like a broken disk.
  ASSERT_EQ(::truncate(log_.c_str(), 0), 0);
  const auto unreadable =
      StatusIs(absl::StatusCode::kUnknown, HasSubstr("log header"));
  EXPECT_THAT(reader_.state().status(), unreadable);
  EXPECT_THAT(Read(0).status(), unreadable);
  EXPECT_THAT(reader_.TryState().status(), unreadable);
  EXPECT_THAT(TryRead(0).status(), unreadable);
}

// Tests of TryRead() and TryState(). What was just written is in memory.
class OutputLogTryReadTest : public OutputLogReaderTest {
 protected:
  OutputLogTryReadTest() { Write("text"); }

  void SetUp() override {
    if (!reader_.TryState()->has_value()) {
      GTEST_SKIP() << "this file system cannot read without waiting";
    }
  }
};

TEST_F(OutputLogTryReadTest, ReadsWhatIsInMemory) {
  EXPECT_THAT(*TryRead(1), Optional(size_t{3}));
  EXPECT_EQ(std::string(buffer_, 3), "ext");
  EXPECT_EQ(reader_.TryState().value()->end, 4u);
}

TEST_F(OutputLogTryReadTest, ReadsNothingAtTheEnd) {
  EXPECT_THAT(*TryRead(4), Optional(size_t{0}));
}

TEST_F(OutputLogTryReadTest, ReturnsTheBytesThatAShortReadDelivers) {
  ASSERT_EQ(::truncate(log_.c_str(), kWindow + 2), 0);
  EXPECT_THAT(*TryRead(0), Optional(size_t{2}));
  EXPECT_THAT(TryRead(2).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("shorter")));
}

TEST_F(OutputLogTryReadTest, ChecksWhatIsKept) {
  writer_.SetRetention(kMiB, Overflow::kHeadAndTail);
  const std::string block(4 * kMiB, 'x');
  ASSERT_NO_FATAL_FAILURE(Write(block));
  const OutputLogState state = *reader_.state();
  // Opens the file with the bytes after the window.
  ASSERT_THAT(Read(state.gap_end).status(), IsOk());
  EXPECT_THAT(TryRead(state.gap_begin).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("discarded")));
  EXPECT_THAT(*TryRead(state.gap_begin - 1), Optional(size_t{1}));
}

TEST_F(OutputLogReaderTest, ReturnsNoValueWhereAReadWouldWait) {
  Write("text");
  for (const int error : {EAGAIN, EOPNOTSUPP}) {
    ASSERT_TRUE(tests::WithFailingCalls({SYS_preadv2}, error, [&] {
      EXPECT_FALSE(reader_.TryState().value().has_value());
      EXPECT_FALSE(TryRead(0).value().has_value());
      EXPECT_EQ(*Read(0), 4u) << "which may wait";
    }));
  }
}

TEST_F(OutputLogReaderTest, TouchesNoHeaderForWhichItWouldWait) {
  Write("text");
  // An access to it would fail.
  ASSERT_EQ(::truncate(log_.c_str(), 0), 0);
  ASSERT_TRUE(tests::WithFailingCalls({SYS_preadv2}, EAGAIN, [&] {
    const absl::StatusOr<std::optional<OutputLogState>> state =
        reader_.TryState();
    ASSERT_THAT(state.status(), IsOk());
    EXPECT_FALSE(state->has_value());
    const absl::StatusOr<std::optional<size_t>> read = TryRead(0);
    ASSERT_THAT(read.status(), IsOk());
    EXPECT_FALSE(read->has_value());
  }));
}

TEST_F(OutputLogReaderTest, KnowsWhenALogInOneFileWasWritten) {
  Write("text");
  const timespec times[] = {{100, 0}, {200, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, log_.c_str(), times, 0), 0);
  const absl::StatusOr<int64_t> time = reader_.WriteTime();
  ASSERT_THAT(time.status(), IsOk());
  EXPECT_EQ(*time, 200);
}

TEST_F(OutputLogReaderTest, ReportsAnyOtherErrorOfTheDisk) {
  Write("text");
  ASSERT_TRUE(tests::WithFailingCalls({SYS_preadv2}, EIO, [&] {
    EXPECT_FALSE(reader_.TryState().ok());
    EXPECT_FALSE(TryRead(0).ok());
  }));
}

}  // namespace
}  // namespace sandbox

#include "sandbox/output_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class OutputLogTest : public ::testing::Test {
 protected:
  OutputLogTest() : directory_(::open(path_.c_str(), O_PATH | O_CLOEXEC)) {}

  OutputLogWriter Writer(uint64_t retain_bytes, bool block = false) {
    OutputLogWriter writer =
        *OutputLogWriter::Create(directory_.get(), "stdout");
    writer.SetRetention(retain_bytes, block);
    return writer;
  }
  OutputLogReader Reader() { return *OutputLogReader::Open(path_ + "/stdout"); }
  static std::string Read(const OutputLogReader& reader, uint64_t offset,
                          size_t size) {
    std::string data(size, '\0');
    absl::StatusOr<size_t> got = reader.Read(offset, data.data(), size);
    EXPECT_THAT(got.status(), IsOk());
    data.resize(got.ok() ? *got : 0);
    return data;
  }

  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/logXXXXXX";
    return ::mkdtemp(path.data());
  }
  const std::string path_ = MakeDirectory();
  UniqueFd directory_;
};

TEST_F(OutputLogTest, ReadsBackWhatWasWrittenAtItsOffset) {
  OutputLogWriter writer = Writer(kMiB);
  const OutputLogReader reader = Reader();
  ASSERT_THAT(writer.Append("one\0two", 7), IsOk());
  ASSERT_THAT(writer.Append("three", 5), IsOk());
  EXPECT_EQ(Read(reader, 4, 100), "twothree");
  EXPECT_EQ(reader.state().end, 12u);
  EXPECT_EQ(Read(reader, 12, 100), "");
}

TEST_F(OutputLogTest, MovesBytesFromAPipe) {
  OutputLogWriter writer = Writer(kMiB);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  EXPECT_THAT(writer.AppendFromPipe(read_end.get()).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("empty")));
  ASSERT_EQ(::write(write_end.get(), "hello", 5), 5);
  EXPECT_EQ(*writer.AppendFromPipe(read_end.get()), 5u);
  write_end.Reset();
  EXPECT_EQ(*writer.AppendFromPipe(read_end.get()), 0u);
  EXPECT_EQ(Read(Reader(), 0, 100), "hello");
}

TEST_F(OutputLogTest, DropsTheOldestBytesAndFreesTheirDisk) {
  OutputLogWriter writer = Writer(2 * kMiB);
  const std::string block(kMiB, 'x');
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
  }
  const OutputLogReader reader = Reader();
  EXPECT_EQ(reader.state().begin, 8 * kMiB);
  char byte;
  EXPECT_THAT(reader.Read(0, &byte, 1).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("below")));
  EXPECT_EQ(Read(reader, 8 * kMiB, 3), "xxx");
  struct stat status;
  ASSERT_EQ(::stat((path_ + "/stdout").c_str(), &status), 0);
  EXPECT_LE(static_cast<uint64_t>(status.st_blocks) * 512, 3 * kMiB);
}

TEST_F(OutputLogTest, BlocksUntilBytesAreAcknowledged) {
  OutputLogWriter writer = Writer(2 * kMiB, /*block=*/true);
  const std::string block(kMiB, 'x');
  ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
  ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
  EXPECT_EQ(writer.Room(), 0u);
  writer.Acknowledge(kMiB / 2);
  EXPECT_EQ(writer.Room(), kMiB / 2);
  EXPECT_EQ(writer.state().begin, kMiB / 2);
  writer.Acknowledge(100 * kMiB);
  EXPECT_EQ(writer.state().begin, 2 * kMiB);
}

TEST_F(OutputLogTest, RefusesAFileThatIsNotALog) {
  UniqueFd file(::openat(directory_.get(), "stdout",
                         O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(file.get(), 8192), 0);
  EXPECT_THAT(OutputLogReader::Open(path_ + "/stdout").status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a log")));
}

TEST_F(OutputLogTest, SaysWhenNothingMoreWillCome) {
  OutputLogWriter writer = Writer(kMiB);
  EXPECT_FALSE(Reader().state().closed);
  writer.Close();
  EXPECT_TRUE(Reader().state().closed);
}

}  // namespace
}  // namespace sandbox

#include "sandbox/storage/output_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// How much a file system may allocate in one piece.
constexpr uint64_t kExtent = uint64_t{64} << 10;

// Runs on each kind of file system that this host has.
class OutputLogTest : public ::testing::TestWithParam<const char*> {
 protected:
  OutputLogWriter Writer(uint64_t retain_bytes,
                         Overflow overflow = Overflow::kDropOldest) {
    OutputLogWriter writer(*ExecutionFile::Create(file_), wire::STDOUT);
    writer.SetRetention(retain_bytes, overflow);
    return writer;
  }
  OutputLogReader Reader() {
    return *OutputLogReader::Open(file_, wire::STDOUT);
  }
  static std::string Read(const OutputLogReader& reader, uint64_t offset,
                          size_t size) {
    std::string data(size, '\0');
    absl::StatusOr<size_t> got = reader.Read(offset, data.data(), size);
    EXPECT_THAT(got.status(), IsOk());
    data.resize(got.ok() ? *got : 0);
    return data;
  }

  // Writes 4 MiB, of which 2 MiB are kept, loses 4096 bytes at `hole` and all
  // from `size` on, as a crash of the host does, and returns what
  // CutOutputLog() leaves.
  OutputLogState Cut(uint64_t hole, uint64_t size, Overflow overflow) {
    {
      OutputLogWriter writer = Writer(2 * kMiB, overflow);
      const std::string block(kMiB, 'x');
      for (int i = 0; i < 4; ++i) {
        EXPECT_THAT(writer.Append(block.data(), block.size()), IsOk());
      }
      const UniqueFd rest(::open(rest_.c_str(), O_RDWR | O_CLOEXEC));
      EXPECT_EQ(
          ::fallocate(rest.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(hole), 4096),
          0);
      EXPECT_EQ(::ftruncate(rest.get(), static_cast<off_t>(size)), 0);
    }
    EXPECT_THAT(CutOutputLog(file_, wire::STDOUT), IsOk());
    OutputLogState state = *Reader().state();
    EXPECT_TRUE(state.closed);
    Remove();
    return state;
  }

  void Remove() const {
    std::filesystem::remove(file_);
    std::filesystem::remove(rest_);
  }
  uint64_t DiskUse() {
    uint64_t use = 0;
    for (const std::string& file : {file_, rest_}) {
      struct stat status;
      EXPECT_EQ(::stat(file.c_str(), &status), 0);
      use += static_cast<uint64_t>(status.st_blocks) * 512;
    }
    return use;
  }

  static std::string MakeDirectory() {
    const std::string parent =
        *GetParam() == '\0' ? ::testing::TempDir() : GetParam();
    std::string path = parent + "/logXXXXXX";
    return ::mkdtemp(path.data());
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  const std::string path_ = MakeDirectory();
  const std::string file_ = path_ + "/e1";
  const std::string rest_ = path_ + "/e1.out";
};

TEST_P(OutputLogTest, ReadsBackBytesAtTheirOffsets) {
  OutputLogWriter writer = Writer(kMiB);
  const OutputLogReader reader = Reader();
  ASSERT_THAT(writer.Append("one\0two", 7), IsOk());
  ASSERT_THAT(writer.Append("three", 5), IsOk());
  EXPECT_EQ(Read(reader, 4, 100), "twothree");
  EXPECT_EQ(reader.state()->end, 12u);
  EXPECT_EQ(Read(reader, 12, 100), "");
}

TEST_P(OutputLogTest, MovesBytesFromAPipe) {
  OutputLogWriter writer = Writer(kMiB);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  EXPECT_THAT(writer.AppendFromPipe(read_end.get()).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("empty")));
  ASSERT_EQ(::write(write_end.get(), "hello", 5), 5);
  EXPECT_EQ(*writer.AppendFromPipe(read_end.get(), 2), 2u);
  EXPECT_EQ(*writer.AppendFromPipe(read_end.get()), 3u);
  write_end.Reset();
  EXPECT_EQ(*writer.AppendFromPipe(read_end.get()), 0u);
  EXPECT_EQ(Read(Reader(), 0, 100), "hello");
}

TEST_P(OutputLogTest, DropsTheOldestBytesAndFreesTheirDiskSpace) {
  OutputLogWriter writer = Writer(2 * kMiB);
  const std::string block(kMiB, 'x');
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
  }
  const OutputLogReader reader = Reader();
  EXPECT_EQ(reader.state()->begin, 8 * kMiB);
  char byte;
  EXPECT_THAT(reader.Read(0, &byte, 1).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("below")));
  EXPECT_EQ(Read(reader, 8 * kMiB, 3), "xxx");
  EXPECT_LE(DiskUse(), 3 * kMiB);
}

TEST_P(OutputLogTest, BlocksUntilBytesAreAcknowledged) {
  OutputLogWriter writer = Writer(2 * kMiB, Overflow::kBlock);
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

TEST_P(OutputLogTest, DropsInStepsOfAnEighthOfWhatItKeeps) {
  // An eighth, at least 64 KiB, in multiples of 64 KiB.
  const std::pair<uint64_t, uint64_t> cases[] = {{kMiB, 128 << 10},
                                                 {kMiB + (kMiB / 2), 192 << 10},
                                                 {kMiB + (kMiB / 4), 128 << 10},
                                                 {128 << 10, 64 << 10}};
  for (const auto& [kept, step] : cases) {
    OutputLogWriter writer = Writer(kept);
    const std::string block(kept + step - 1, 'x');
    ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
    EXPECT_EQ(writer.state().begin, 0u) << kept;
    ASSERT_THAT(writer.Append("x", 1), IsOk());
    EXPECT_EQ(writer.state().begin, step) << kept;
    EXPECT_EQ(writer.disk_bytes(), kept);
    Remove();
    OutputLogWriter blocking = Writer(kept, Overflow::kBlock);
    ASSERT_THAT(blocking.Append(block.data(), kept), IsOk());
    blocking.Acknowledge(step - 1);
    EXPECT_EQ(blocking.state().begin, 0u) << kept;
    blocking.Acknowledge(step);
    EXPECT_EQ(blocking.state().begin, step) << kept;
    blocking.Acknowledge(1);
    EXPECT_EQ(blocking.Room(), step) << "an earlier one changes nothing";
    Remove();
  }
}

TEST_P(OutputLogTest, KeepsTheHeadAndTheTail) {
  OutputLogWriter writer = Writer(kMiB + 100, Overflow::kHeadAndTail);
  const uint64_t head = (kMiB + 100) / 2;
  std::string block(kMiB, 'x');
  for (int i = 0; i < 20; ++i) {
    block[0] = static_cast<char>('a' + i);
    ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
  }
  const OutputLogReader reader = Reader();
  const OutputLogState state = *reader.state();
  EXPECT_EQ(state.begin, 0u);
  EXPECT_EQ(state.end, 20 * kMiB);
  EXPECT_EQ(state.gap_begin, head);
  EXPECT_GT(state.gap_end, 19 * kMiB);
  EXPECT_LE(state.gap_end, 20 * kMiB - head);
  EXPECT_EQ(Read(reader, 0, 2), "ax");
  EXPECT_EQ(Read(reader, head - 1, 100), "x") << "not into the gap";
  EXPECT_EQ(Read(reader, state.gap_end, kMiB).size(),
            20 * kMiB - state.gap_end);
  char byte;
  for (const uint64_t offset : {head, 2 * kMiB, state.gap_end - 1}) {
    EXPECT_THAT(
        reader.Read(offset, &byte, 1).status(),
        StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("discarded")));
  }
  EXPECT_LE(DiskUse(), kMiB + 3 * (kMiB / 16) + kExtent);
  EXPECT_LE(writer.disk_bytes(), DiskUse());
}

TEST_P(OutputLogTest, KeepsLessOfAHeadThatIsNotFullYetWhenSpaceIsShort) {
  OutputLogWriter writer = Writer(64 * kMiB, Overflow::kHeadAndTail);
  const std::string block(kMiB, 'x');
  ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
  EXPECT_EQ(writer.droppable_bytes(), kMiB);
  writer.Trim(2 * kMiB);
  EXPECT_EQ(writer.disk_bytes(), kMiB);
  writer.Trim(kMiB / 4);
  OutputLogState state = *Reader().state();
  EXPECT_EQ(state.gap_begin, kMiB / 8);
  EXPECT_EQ(state.gap_end, kMiB - kMiB / 8);
  EXPECT_EQ(writer.disk_bytes(), kMiB / 4);
  EXPECT_EQ(writer.droppable_bytes(), kMiB / 8);
  for (int i = 0; i < 8; ++i) {
    ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
    writer.Trim(kMiB / 8);
  }
  state = *Reader().state();
  EXPECT_EQ(state.gap_begin, kMiB / 8);
  EXPECT_EQ(state.gap_end, 9 * kMiB - kMiB / 8);
  EXPECT_EQ(Read(Reader(), 0, kMiB).size(), kMiB / 8);
  EXPECT_EQ(Read(Reader(), state.gap_end, kMiB).size(), kMiB / 8);
  EXPECT_LE(DiskUse(), kMiB / 4 + 2 * kExtent);
}

TEST_P(OutputLogTest, KeepsTheFirstBytesAndRefusesMore) {
  OutputLogWriter writer = Writer(kMiB, Overflow::kKill);
  ASSERT_THAT(writer.Append(std::string(kMiB - 1, 'x').data(), kMiB - 1),
              IsOk());
  EXPECT_EQ(writer.Room(), 1u);
  ASSERT_THAT(writer.Append("x", 1), IsOk());
  EXPECT_EQ(writer.Room(), 0u);
  writer.Acknowledge(kMiB);
  EXPECT_EQ(writer.Room(), 0u);
  EXPECT_EQ(writer.state().begin, 0u);
}

TEST_P(OutputLogTest, DropsMoreWhenSpaceIsShort) {
  const std::string block(kMiB, 'x');
  for (const Overflow overflow :
       {Overflow::kDropOldest, Overflow::kHeadAndTail}) {
    OutputLogWriter writer = Writer(4 * kMiB, overflow);
    for (int i = 0; i < 4; ++i) {
      ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
    }
    EXPECT_EQ(writer.disk_bytes(), 4 * kMiB);
    writer.Trim(3 * kMiB);
    EXPECT_EQ(writer.disk_bytes(), 3 * kMiB);
    EXPECT_LE(DiskUse(), 3 * kMiB + 8192 + kExtent);
    Remove();
  }
  OutputLogWriter writer = Writer(4 * kMiB, Overflow::kBlock);
  ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
  writer.Trim(0);
  EXPECT_EQ(writer.state().begin, 0u) << "nobody has acknowledged it";
  writer.Acknowledge(5000);
  EXPECT_EQ(writer.state().begin, 0u) << "space is not short";
  EXPECT_EQ(writer.droppable_bytes(), 4096u);
  writer.Trim(kMiB);
  EXPECT_EQ(writer.state().begin, 4096u);
  EXPECT_EQ(writer.disk_bytes(), kMiB - 4096);
  EXPECT_EQ(writer.droppable_bytes(), 0u);
}

TEST_P(OutputLogTest, KeepsItsEndOffsetWhenItExpires) {
  const std::string block(kMiB, 'x');
  for (const Overflow overflow :
       {Overflow::kDropOldest, Overflow::kHeadAndTail}) {
    OutputLogWriter writer = Writer(kMiB, overflow);
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
    }
    const OutputLogReader reader = Reader();
    for (int i = 0; i < 2; ++i) {
      ASSERT_THAT(ExpireOutputLog(file_, wire::STDOUT), IsOk());
      const OutputLogState state = *reader.state();
      EXPECT_TRUE(state.expired);
      EXPECT_FALSE(state.closed);
      EXPECT_EQ(state.begin, 3 * kMiB);
      EXPECT_EQ(state.end, 3 * kMiB);
      EXPECT_EQ(state.gap_begin, state.gap_end);
    }
    EXPECT_LE(DiskUse(), 8192u);
    char byte;
    EXPECT_THAT(reader.Read(0, &byte, 1).status(),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("below")));
    // Late output, as of a grandchild.
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
    }
    EXPECT_EQ(reader.state()->begin, reader.state()->end);
    EXPECT_EQ(writer.disk_bytes(), 0u);
    EXPECT_LE(DiskUse(), 2 * kMiB);
    Remove();
  }
  EXPECT_THAT(ExpireOutputLog(path_ + "/none", wire::STDOUT),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_P(OutputLogTest, TreatsAHoleBeforeTheKeptBytesAsDropped) {
  OutputLogState state = Cut(2 * kMiB, 4 * kMiB, Overflow::kDropOldest);
  EXPECT_EQ(state.begin, 2 * kMiB + 4096);
  EXPECT_EQ(state.end, 4 * kMiB);
  state = Cut(3 * kMiB, 4 * kMiB, Overflow::kHeadAndTail);
  EXPECT_EQ(state.gap_begin, kMiB);
  EXPECT_EQ(state.gap_end, 3 * kMiB + 4096);
  EXPECT_EQ(state.end, 4 * kMiB);
}

TEST_P(OutputLogTest, CutsBytesThatDidNotReachTheDisk) {
  // Nothing is missing: the holes are the dropped bytes.
  OutputLogState state = Cut(0, 4 * kMiB, Overflow::kDropOldest);
  EXPECT_EQ(state.begin, 2 * kMiB);
  EXPECT_EQ(state.end, 4 * kMiB);
  state = Cut(3 * kMiB, 4 * kMiB, Overflow::kDropOldest);
  EXPECT_EQ(state.end, 3 * kMiB);
  EXPECT_EQ(Cut(0, 3 * kMiB + 7, Overflow::kDropOldest).end, 3 * kMiB + 7);
  state = Cut(0, kMiB, Overflow::kDropOldest);
  EXPECT_EQ(state.begin, 2 * kMiB);
  EXPECT_EQ(state.end, 2 * kMiB);
  state = Cut(2 * kMiB, 4 * kMiB, Overflow::kHeadAndTail);
  EXPECT_EQ(state.end, 4 * kMiB);
  EXPECT_EQ(state.gap_begin, kMiB);
  EXPECT_EQ(state.gap_end, 3 * kMiB);
  EXPECT_EQ(Cut(3 * kMiB + 4096, 4 * kMiB, Overflow::kHeadAndTail).end,
            3 * kMiB + 4096);
  state = Cut(4096, 4 * kMiB, Overflow::kHeadAndTail);
  EXPECT_EQ(state.end, 4096u);
  EXPECT_EQ(state.gap_end, 0u);
  state = Cut(3 * kMiB, 3 * kMiB + 4096, Overflow::kHeadAndTail);
  EXPECT_EQ(state.end, kMiB);
  EXPECT_EQ(state.gap_end, 0u);
}

TEST_P(OutputLogTest, RefusesMoreWhileHolesCannotBePunched) {
  OutputLogWriter writer = Writer(kMiB);
  const std::string block(kMiB / 4, 'x');
  absl::Status status;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_fallocate}, EOPNOTSUPP, [&] {
    for (int i = 0; i < 100 && status.ok(); ++i) {
      status = writer.Append(block.data(), block.size());
    }
  }));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented,
                               HasSubstr("punch a hole")));
  EXPECT_LE(DiskUse(), 3 * kMiB);
  EXPECT_EQ(writer.disk_bytes(), writer.state().end);
  ASSERT_THAT(writer.Append(block.data(), block.size()), IsOk());
  EXPECT_LE(DiskUse(), 2 * kMiB);
}

TEST_P(OutputLogTest, LosesAndRepeatsNothingWhenTheDiskFails) {
  OutputLogWriter writer = Writer(kMiB);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  ASSERT_EQ(::write(write_end.get(), "one", 3), 3);
  absl::Status spliced;
  absl::Status written;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_splice, SYS_pwrite64}, ENOSPC, [&] {
    spliced = writer.AppendFromPipe(read_end.get()).status();
    written = writer.Append("two", 3);
  }));
  EXPECT_THAT(spliced, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("splice")));
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("write")));
  EXPECT_EQ(*writer.AppendFromPipe(read_end.get()), 3u);
  ASSERT_THAT(writer.Append("two", 3), IsOk());
  EXPECT_EQ(Read(Reader(), 0, 100), "onetwo");
}

INSTANTIATE_TEST_SUITE_P(Directories, OutputLogTest,
                         ::testing::Values("", "/dev/shm"),
                         [](const auto& info) {
                           return std::string(*info.param == '\0' ? "temporary"
                                                                  : "tmpfs");
                         });

}  // namespace
}  // namespace sandbox

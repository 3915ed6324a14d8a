// Where the bytes of a log lie: in its window, in the file beside, or in the
// directory of an earlier supervisor.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/execution_layout.h"
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

class OutputLogPlaceTest : public ::testing::Test {
 protected:
  ~OutputLogPlaceTest() override { std::filesystem::remove_all(directory_); }

  static std::string MakeDirectory() {
    std::string path = ::testing::TempDir() + "/logXXXXXX";
    return ::mkdtemp(path.data());
  }
  // Bytes that differ from their neighbours and are no zeros.
  static std::string Text(size_t size) {
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) {
      text[i] = static_cast<char>('a' + i % 23);
    }
    return text;
  }
  static void Append(OutputLogWriter* writer, const std::string& text) {
    ASSERT_THAT(writer->Append(text.data(), text.size()), IsOk());
  }
  std::string Read(wire::Stream stream, uint64_t offset = 0) const {
    const auto reader = OutputLogReader::Open(path_, stream);
    EXPECT_THAT(reader.status(), IsOk());
    std::string text(kMiB, '\0');
    const absl::StatusOr<size_t> got =
        reader->Read(offset, text.data(), text.size());
    EXPECT_THAT(got.status(), IsOk());
    text.resize(got.ok() ? *got : 0);
    return text;
  }
  bool Exists(const std::string& suffix) const {
    return std::filesystem::exists(path_ + suffix);
  }
  uint64_t DiskUse(const std::string& suffix) const {
    struct stat status;
    EXPECT_EQ(::stat((path_ + suffix).c_str(), &status), 0);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }
  // Sets 8 bytes of the file.
  void Set(size_t position, uint64_t value) const {
    ASSERT_EQ(::pwrite(file_->fd(), &value, sizeof(value),
                       static_cast<off_t>(position)),
              static_cast<ssize_t>(sizeof(value)));
  }
  void Punch(const std::string& suffix, off_t position, off_t size) const {
    const UniqueFd file(::open((path_ + suffix).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(
        ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    position, size),
        0);
  }
  OutputLogState Cut(wire::Stream stream = wire::STDOUT) const {
    EXPECT_THAT(CutOutputLog(path_, stream), IsOk());
    return *OutputLogReader::Open(path_, stream)->state();
  }

  const std::string directory_ = MakeDirectory();
  const std::string path_ = directory_ + "/e1";
  const std::shared_ptr<ExecutionFile> file_ = *ExecutionFile::Create(path_);
  OutputLogWriter output_{file_, wire::STDOUT};
  OutputLogWriter error_{file_, wire::STDERR};
};

TEST_F(OutputLogPlaceTest, KeepsShortOutputOfBothStreamsInTwoBlocks) {
  const std::string out = Text(kOutputPlace.window_size);
  const std::string error = Text(kErrorPlace.window_size);
  Append(&output_, out);
  Append(&error_, error);
  EXPECT_EQ(Read(wire::STDOUT), out);
  EXPECT_EQ(Read(wire::STDERR), error);
  EXPECT_FALSE(Exists(".out"));
  EXPECT_FALSE(Exists(".err"));
  ASSERT_EQ(::fsync(file_->fd()), 0);
  EXPECT_EQ(DiskUse(""), 8192u);
}

TEST_F(OutputLogPlaceTest, PutsTheRestIntoAFileBesideTheExecution) {
  const std::string text = Text(10'000);
  for (OutputLogWriter* writer : {&output_, &error_}) {
    Append(writer, text.substr(0, 1000));
    Append(writer, text.substr(1000));
  }
  EXPECT_EQ(Read(wire::STDOUT), text);
  EXPECT_EQ(Read(wire::STDERR), text);
  EXPECT_EQ(Read(wire::STDERR, 5000), text.substr(5000));
  EXPECT_EQ(std::filesystem::file_size(path_ + ".out"), text.size());
  EXPECT_EQ(std::filesystem::file_size(path_ + ".err"), text.size());
}

TEST_F(OutputLogPlaceTest, MovesBytesOfAPipeIntoBothFiles) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const std::string text = Text(6000);
  ASSERT_EQ(::write(write_end.get(), text.data(), text.size()), 6000);
  EXPECT_EQ(*output_.AppendFromPipe(read_end.get()), 4096u);
  EXPECT_EQ(*output_.AppendFromPipe(read_end.get()), 6000u - 4096);
  EXPECT_EQ(Read(wire::STDOUT), text);
}

TEST_F(OutputLogPlaceTest, ReplacesTheFileThatADeletionHasLeft) {
  std::ofstream(path_ + ".out") << Text(8000);
  Append(&output_, std::string(5000, 'x'));
  EXPECT_EQ(std::filesystem::file_size(path_ + ".out"), 5000u);
}

TEST_F(OutputLogPlaceTest, LosesNothingWhenTheFileBesideCannotBeMade) {
  const std::string text = Text(6000);
  absl::Status refused;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_openat}, EMFILE, [&] {
    refused = output_.Append(text.data(), text.size());
  }));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("e1.out")));
  EXPECT_EQ(Read(wire::STDOUT), "");
  Append(&output_, text);
  EXPECT_EQ(Read(wire::STDOUT), text);
}

TEST_F(OutputLogPlaceTest, LetsAReaderFollowIntoTheFileBeside) {
  const OutputLogReader reader = *OutputLogReader::Open(path_, wire::STDOUT);
  const std::string text = Text(6000);
  Append(&output_, text);
  char buffer[6000];
  if (reader.TryState()->has_value()) {
    EXPECT_THAT(*reader.TryRead(0, buffer, sizeof(buffer)),
                Optional(size_t{4096}))
        << "the other file is not open";
    EXPECT_FALSE(reader.TryRead(4096, buffer, 1)->has_value());
  }
  EXPECT_EQ(*reader.Read(0, buffer, sizeof(buffer)), 6000u);
  EXPECT_EQ(std::string(buffer, sizeof(buffer)), text);
  if (reader.TryState()->has_value()) {
    EXPECT_THAT(*reader.TryRead(4096, buffer, 1), Optional(size_t{1}));
  }
}

TEST_F(OutputLogPlaceTest, LetsAReaderFinishThoughTheExecutionIsDeleted) {
  Append(&output_, Text(6000));
  const OutputLogReader reader = *OutputLogReader::Open(path_, wire::STDOUT);
  ASSERT_EQ(::unlink((path_ + ".out").c_str()), 0);
  char buffer[6000];
  EXPECT_EQ(*reader.Read(0, buffer, sizeof(buffer)), 6000u);
}

TEST_F(OutputLogPlaceTest, DoesNotReadTheOutputOfAnExecutionThatFollowed) {
  const OutputLogReader reader = *OutputLogReader::Open(path_, wire::STDOUT);
  Append(&output_, Text(6000));
  std::filesystem::remove(path_);
  std::filesystem::remove(path_ + ".out");
  OutputLogWriter other(*ExecutionFile::Create(path_), wire::STDOUT);
  Append(&other, std::string(6000, 'X'));
  char buffer[6000];
  EXPECT_THAT(reader.Read(0, buffer, sizeof(buffer)).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("deleted")));
  EXPECT_EQ(*reader.Read(0, buffer, 4096), 4096u) << "its own";
}

TEST_F(OutputLogPlaceTest, ReportsTheLastWriteToEitherFile) {
  Append(&output_, Text(6000));
  const OutputLogReader reader = *OutputLogReader::Open(path_, wire::STDOUT);
  const auto set = [](const std::string& path, time_t seconds) {
    const timespec times[] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  };
  set(path_, 100);
  set(path_ + ".out", 200);
  EXPECT_EQ(*reader.WriteTime(), 200);
  set(path_, 300);
  EXPECT_EQ(*reader.WriteTime(), 300);
}

TEST_F(OutputLogPlaceTest, GivesTheSpaceOfBothFilesBack) {
  for (OutputLogWriter* writer : {&output_, &error_}) {
    writer->SetRetention(64 << 10, Overflow::kDropOldest);
    Append(writer, Text(kMiB));
  }
  EXPECT_LE(DiskUse(""), 4096u);
  for (const char* suffix : {".out", ".err"}) {
    EXPECT_LE(DiskUse(suffix), uint64_t{128} << 10) << suffix;
  }
  for (const wire::Stream stream : {wire::STDOUT, wire::STDERR}) {
    ASSERT_THAT(ExpireOutputLog(path_, stream), IsOk());
  }
  for (const char* suffix : {".out", ".err"}) {
    EXPECT_EQ(DiskUse(suffix), 0u) << suffix;
  }
}

TEST_F(OutputLogPlaceTest, LeavesNoByteOfAWindowThatHasExpired) {
  Append(&output_, "secret");
  Append(&error_, "secret");
  for (const wire::Stream stream : {wire::STDOUT, wire::STDERR}) {
    ASSERT_THAT(ExpireOutputLog(path_, stream), IsOk());
  }
  std::ifstream file(path_);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(content.find("secret"), std::string::npos);
}

TEST_F(OutputLogPlaceTest, CutsZerosThatEndASectorOfAWindow) {
  // The first sector reached the disk before its last 12 bytes were written.
  Append(&output_, Text(500) + std::string(12, '\0') + Text(400));
  EXPECT_EQ(Cut().end, 500u);
  Append(&error_, Text(512) + Text(100) + std::string(20, '\0'));
  EXPECT_EQ(Cut(wire::STDERR).end, 612u);
}

TEST_F(OutputLogPlaceTest, CutsNothingOfAWindowThatIsWhole) {
  Append(&output_, Text(200) + std::string(100, '\0') + Text(4000));
  const OutputLogState state = Cut();
  EXPECT_EQ(state.begin, 0u);
  EXPECT_EQ(state.end, 4300u);
  EXPECT_TRUE(state.closed);
}

TEST_F(OutputLogPlaceTest, CutsNoBytesThatWereSynced) {
  Append(&output_, Text(100) + std::string(50, '\0'));
  Append(&error_, Text(100) + std::string(50, '\0'));
  Set(offsetof(ExecutionHeader, synced_ends), 120);
  Set(offsetof(ExecutionHeader, synced_ends) + 8, 130);
  EXPECT_EQ(Cut().end, 120u);
  EXPECT_EQ(Cut(wire::STDERR).end, 130u);
}

TEST_F(OutputLogPlaceTest, DropsAWindowThatIsNotWholeBeforeOtherOutput) {
  Append(&output_, Text(4000) + std::string(96, '\0') + Text(5000));
  const OutputLogState state = Cut();
  EXPECT_EQ(state.begin, 4096u);
  EXPECT_EQ(state.end, 9096u);
}

TEST_F(OutputLogPlaceTest, KeepsWhatAWindowHasIfNoOutputAfterItIsLeft) {
  Append(&output_, Text(4000) + std::string(96, '\0') + Text(5000));
  // The whole output was lost, but not the size of its file.
  Punch(".out", 0, 12288);
  const OutputLogState state = Cut();
  EXPECT_EQ(state.begin, 0u);
  EXPECT_EQ(state.end, 4000u);
}

TEST_F(OutputLogPlaceTest, KeepsAWindowOfZerosThatWasSynced) {
  Append(&output_, std::string(4096, '\0') + Text(5000));
  Set(offsetof(ExecutionHeader, synced_ends), 9096);
  const OutputLogState state = Cut();
  EXPECT_EQ(state.begin, 0u);
  EXPECT_EQ(state.end, 9096u);
}

TEST_F(OutputLogPlaceTest, InventsNoZerosWhereASyncedWindowWasDropped) {
  Append(&output_, "text");
  Set(offsetof(ExecutionHeader, synced_ends), 4);
  // The hole reached the disk before the header.
  Punch("", 4096, 4096);
  EXPECT_EQ(Cut().end, 0u);
}

TEST_F(OutputLogPlaceTest, DropsAWindowBeforeOutputThatWasDropped) {
  Append(&error_, Text(20'000));
  // The hole reached the disk before the header.
  Punch(".err", 0, 8192);
  const OutputLogState state = Cut(wire::STDERR);
  EXPECT_EQ(state.begin, 8192u);
  EXPECT_EQ(state.end, 20'000u);
}

TEST_F(OutputLogPlaceTest, KeepsAHeadThatLiesInTheWindow) {
  output_.SetRetention(1000, Overflow::kHeadAndTail);
  Append(&output_, Text(200'000));
  const OutputLogState before = output_.state();
  ASSERT_EQ(before.gap_begin, 500u);
  const OutputLogState state = Cut();
  EXPECT_EQ(state.begin, 0u);
  EXPECT_EQ(state.gap_begin, 500u);
  EXPECT_EQ(state.gap_end, before.gap_end);
  EXPECT_EQ(state.end, 200'000u);
}

TEST_F(OutputLogPlaceTest, HasNoGapIfNoOutputAfterItIsLeft) {
  output_.SetRetention(1000, Overflow::kHeadAndTail);
  Append(&output_, Text(200'000));
  ASSERT_EQ(::unlink((path_ + ".out").c_str()), 0);
  const OutputLogState state = Cut();
  EXPECT_EQ(state.gap_end, 0u);
  EXPECT_EQ(state.end, 4096u);
}

TEST_F(OutputLogPlaceTest, CutsWhatWasInAFileThatIsMissing) {
  Append(&output_, Text(5000));
  ASSERT_EQ(::unlink((path_ + ".out").c_str()), 0);
  EXPECT_EQ(Cut().end, 4096u);
}

TEST_F(OutputLogPlaceTest, IsEmptyWhenAllThatItKeptIsMissing) {
  output_.SetRetention(64 << 10, Overflow::kDropOldest);
  Append(&output_, Text(kMiB));
  ASSERT_EQ(::unlink((path_ + ".out").c_str()), 0);
  const OutputLogState state = Cut();
  EXPECT_EQ(state.begin, kMiB - (64 << 10));
  EXPECT_EQ(state.end, state.begin);
  EXPECT_EQ(Read(wire::STDOUT, state.end), "");
  EXPECT_THAT(ExpireOutputLog(path_, wire::STDOUT), IsOk());
}

TEST_F(OutputLogPlaceTest, TreatsAWindowOfZerosBeforeOtherBytesAsDropped) {
  Append(&output_, std::string(4096, '\0') + Text(5000));
  const OutputLogState state = Cut();
  EXPECT_EQ(state.begin, 4096u);
  EXPECT_EQ(state.end, 9096u);
}

// A log as a supervisor before this format wrote it.
class DirectoryLogTest : public ::testing::Test {
 protected:
  DirectoryLogTest() {
    std::string path = ::testing::TempDir() + "/earlierXXXXXX";
    path_ = ::mkdtemp(path.data());
    std::string log(4096, '\0');
    log.replace(0, 8, std::string("corral\0\1", 8));
    log[16] = 5;  // end
    log[56] = 7;  // start
    std::ofstream(path_ + "/terminal", std::ios::binary) << log << "earlier";
  }
  ~DirectoryLogTest() override { std::filesystem::remove_all(path_); }

  std::string path_;
};

TEST_F(DirectoryLogTest, CanBeRead) {
  const auto reader = OutputLogReader::Open(path_, wire::TERMINAL);
  ASSERT_THAT(reader.status(), IsOk());
  EXPECT_EQ(reader->state()->end, 5u);
  EXPECT_EQ(reader->state()->start_time_ns, 7);
  char text[10];
  EXPECT_EQ(*reader->Read(0, text, sizeof(text)), 5u);
  EXPECT_EQ(std::string(text, 5), "earli");
  EXPECT_THAT(OutputLogReader::Open(path_, wire::STDOUT).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

TEST_F(DirectoryLogTest, ExpiresAndIsCutAsBefore) {
  ASSERT_EQ(::truncate((path_ + "/terminal").c_str(), 4096 + 3), 0);
  ASSERT_THAT(CutOutputLog(path_, wire::TERMINAL), IsOk());
  const auto reader = OutputLogReader::Open(path_, wire::TERMINAL);
  EXPECT_EQ(reader->state()->end, 3u);
  EXPECT_TRUE(reader->state()->closed);
  ASSERT_THAT(ExpireOutputLog(path_, wire::TERMINAL), IsOk());
  EXPECT_TRUE(reader->state()->expired);
}

}  // namespace
}  // namespace sandbox

#include "sandbox/storage/terminal_times.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/file_size_limit.h"

namespace sandbox {
namespace {

constexpr uint64_t kBegin = 1000;

class TerminalTimesTest : public ::testing::Test {
 protected:
  TerminalTimesTest() {
    std::string pattern =
        std::string(std::getenv("TEST_TMPDIR")) + "/timesXXXXXX";
    execution_ = std::string(::mkdtemp(pattern.data())) + "/e1";
    path_ = execution_ + kTerminalTimes;
  }
  std::vector<TerminalTime> Read(uint64_t first = 0) {
    return ReadTerminalTimes(execution_, first, 10'000).value();
  }

  std::string execution_;
  std::string path_;
};

TEST_F(TerminalTimesTest, HasNoFileBeforeTheFirstRecord) {
  TerminalTimesWriter writer(path_, kBegin);
  writer.OnOutput(0, kBegin);
  EXPECT_TRUE(absl::IsNotFound(ReadTerminalTimes(execution_, 0, 1).status()));
}

TEST_F(TerminalTimesTest, AreFoundInTheDirectoryOfAnEarlierSupervisor) {
  std::filesystem::create_directory(execution_);
  TerminalTimesWriter(execution_ + "/terminal.times", kBegin).OnOutput(5, 1007);
  EXPECT_EQ(Read().size(), 1);
}

TEST_F(TerminalTimesTest, ReplaceThoseThatADeletionHasLeft) {
  std::ofstream(path_) << std::string(100, 'x');
  TerminalTimesWriter(path_, kBegin).OnOutput(5, kBegin + 7);
  ASSERT_EQ(Read().size(), 1);
  EXPECT_EQ(Read()[0].milliseconds, 7);
}

TEST_F(TerminalTimesTest, AreMissingBesideAFileThatHasNone) {
  std::ofstream(execution_) << "the file of an execution";
  EXPECT_TRUE(absl::IsNotFound(ReadTerminalTimes(execution_, 0, 1).status()));
}

TEST_F(TerminalTimesTest, NotesWhenOutputBegan) {
  TerminalTimesWriter writer(path_, kBegin);
  writer.OnOutput(5, kBegin + 7);
  writer.OnOutput(6, kBegin + 8);  // belongs to the one before
  writer.OnOutput(9, kBegin + 100);
  writer.OnOutput(9, kBegin + 200);  // no output
  const std::vector<TerminalTime> times = Read();
  ASSERT_EQ(times.size(), 2);
  EXPECT_EQ(times[0].offset, 0);
  EXPECT_EQ(times[0].milliseconds, 7);
  EXPECT_EQ(times[1].offset, 6);
  EXPECT_EQ(times[1].milliseconds, 100);
  EXPECT_EQ(times[1].rows, 0);
  EXPECT_EQ(Read(1).size(), 1);
  EXPECT_EQ(Read(2).size(), 0);
  EXPECT_EQ(ReadTerminalTimes(execution_, 0, 1)->size(), 1);
}

TEST_F(TerminalTimesTest, NotesTheFirstOutputThoughItComesAtOnce) {
  TerminalTimesWriter writer(path_, 0);
  writer.OnOutput(5, 3);
  ASSERT_EQ(Read().size(), 1);
  EXPECT_EQ(Read()[0].milliseconds, 3);
}

TEST_F(TerminalTimesTest, EndsWithARecordThatTheDiskTookInPart) {
  TerminalTimesWriter writer(path_, kBegin);
  writer.OnOutput(5, kBegin);
  {
    const tests::FileSizeLimit limit(sizeof(TerminalTime) + 10);
    writer.OnOutput(6, kBegin + 1000);
  }
  writer.OnOutput(7, kBegin + 2000);
  writer.OnResize(24, 80, kBegin + 2000);
  EXPECT_EQ(std::filesystem::file_size(path_), sizeof(TerminalTime) + 10);
  EXPECT_EQ(Read().size(), 1);
}

TEST_F(TerminalTimesTest, AreNotMissingWhenTheyCannotBeRead) {
  std::filesystem::create_directory(path_);
  const absl::Status read = ReadTerminalTimes(execution_, 0, 1).status();
  EXPECT_FALSE(read.ok());
  EXPECT_FALSE(absl::IsNotFound(read));
}

TEST_F(TerminalTimesTest, NotesSizes) {
  TerminalTimesWriter writer(path_, kBegin);
  writer.OnOutput(5, kBegin);
  writer.OnResize(24, 80, kBegin + 1);
  const std::vector<TerminalTime> times = Read();
  ASSERT_EQ(times.size(), 2);
  EXPECT_EQ(times[1].offset, 5);
  EXPECT_EQ(times[1].milliseconds, 1);
  EXPECT_EQ(times[1].rows, 24);
  EXPECT_EQ(times[1].columns, 80);
}

TEST_F(TerminalTimesTest, GrowsSlowerTheLongerACommandWrites) {
  TerminalTimesWriter writer(path_, kBegin);
  uint64_t now = kBegin;
  for (uint64_t i = 1; i <= 3 * TerminalTimesWriter::kBatch; ++i) {
    writer.OnOutput(i, now += TerminalTimesWriter::kInterval);
  }
  EXPECT_EQ(Read().size(), 2 * TerminalTimesWriter::kBatch);
}

TEST_F(TerminalTimesTest, IgnoresAnIncompleteRecordAtTheEnd) {
  TerminalTimesWriter(path_, kBegin).OnOutput(5, kBegin);
  std::ofstream(path_, std::ios::app) << "torn";
  EXPECT_EQ(Read().size(), 1);
}

TEST_F(TerminalTimesTest, LeavesNothingAfterItsExpiry) {
  TerminalTimesWriter writer(path_, kBegin);
  writer.OnOutput(5, kBegin);
  writer.Expire();
  writer.OnResize(1, 1, kBegin);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(TerminalTimesTest, StopsWhenTheDiskRefuses) {
  TerminalTimesWriter writer("/nonexistent/times", kBegin);
  writer.OnOutput(5, kBegin);
  writer.OnOutput(6, kBegin + 1000);
}

}  // namespace
}  // namespace sandbox

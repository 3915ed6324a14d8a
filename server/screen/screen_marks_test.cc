#include "server/screen/screen_marks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ScreenMarksTest : public ::testing::Test {
 protected:
  ScreenMarksTest() { std::filesystem::remove_all(directory_); }
  ~ScreenMarksTest() override { std::filesystem::remove_all(directory_); }

  // The lines of the file.
  size_t CountLines() const {
    std::ifstream file(path_);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  // The file is written anew instead of growing beyond this.
  static constexpr size_t kMostLines = 4 * ScreenMarks::kMaxClears;

  const std::string directory_ = ::testing::TempDir() + "/screens";
  const std::string path_ = directory_ + "/job";
};

TEST_F(ScreenMarksTest, AreReadAgain) {
  {
    ScreenMarks marks(path_, "5");
    EXPECT_TRUE(marks.clears().empty());
    EXPECT_FALSE(marks.answered());
    marks.AddClear(7);
    marks.SetAnswered();
    marks.SetAnswered();
    marks.AddClear(uint64_t{1} << 40);
  }
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "of 5\nclear 7\nanswered\nclear 1099511627776\n");
  const ScreenMarks marks(path_, "5");
  EXPECT_TRUE(marks.answered());
  ASSERT_EQ(marks.clears().size(), 2);
  EXPECT_EQ(marks.clears()[0], 7);
  EXPECT_EQ(marks.clears()[1], uint64_t{1} << 40);
}

TEST_F(ScreenMarksTest, IgnoresLinesThatAreTornOrUnknown) {
  std::filesystem::create_directory(directory_);
  std::ofstream(path_) << "of 5\nclear 5\nother 3\nclear x\nclear 2\nclear 9";
  ScreenMarks marks(path_, "5");
  EXPECT_THAT(marks.clears(), ElementsAre(5));
  marks.AddClear(12);
  EXPECT_THAT(ScreenMarks(path_, "5").clears(), ElementsAre(5, 12));
}

TEST_F(ScreenMarksTest, IgnoreAFileWhoseFirstLineIsTorn) {
  std::filesystem::create_directory(directory_);
  std::ofstream(path_) << "of 5";
  ScreenMarks(path_, "5").AddClear(7);
  EXPECT_THAT(ScreenMarks(path_, "5").clears(), ElementsAre(7));
}

TEST_F(ScreenMarksTest, AreNotThoseOfAnEarlierExecutionOfTheSameName) {
  ScreenMarks(path_, "4").AddClear(7);
  ScreenMarks marks(path_, "5");
  EXPECT_TRUE(marks.clears().empty());
  marks.AddClear(9);
  EXPECT_EQ(ScreenMarks(path_, "5").clears(), std::vector<uint64_t>({9}));
  marks.Remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ScreenMarksTest, FillNeitherMemoryNorDisk) {
  ScreenMarks marks(path_, "5");
  marks.SetAnswered();
  for (uint64_t offset = 0; offset < 10'000; ++offset) {
    marks.AddClear(offset);
  }
  EXPECT_EQ(marks.clears().size(), ScreenMarks::kMaxClears);
  EXPECT_LT(std::filesystem::file_size(path_), 64 << 10);
  const ScreenMarks again(path_, "5");
  EXPECT_EQ(again.clears(), marks.clears());
  EXPECT_TRUE(again.answered());
}

TEST_F(ScreenMarksTest, AreWrittenAnewWhenTheFileHasGrown) {
  ScreenMarks marks(path_, "5");
  marks.SetAnswered();
  // Two lines precede the clears.
  for (size_t line = 2; line < kMostLines; ++line) {
    marks.AddClear(line);
  }
  EXPECT_EQ(CountLines(), kMostLines);
  marks.AddClear(kMostLines);
  EXPECT_EQ(CountLines(), 2 + ScreenMarks::kMaxClears);
  marks.AddClear(kMostLines);
  EXPECT_EQ(CountLines(), 3 + ScreenMarks::kMaxClears);
}

TEST_F(ScreenMarksTest, AreWrittenAnewWhenAnEarlierServersFileHasGrown) {
  std::filesystem::create_directory(directory_);
  std::ofstream file(path_);
  file << "of 5\n";
  for (size_t line = 1; line < kMostLines - 1; ++line) {
    file << "unknown\n";
  }
  file.close();
  ScreenMarks marks(path_, "5");
  marks.AddClear(7);
  EXPECT_EQ(CountLines(), kMostLines);
  ScreenMarks(path_, "5").AddClear(9);
  EXPECT_EQ(CountLines(), 3);
}

TEST_F(ScreenMarksTest, AreKeptInMemoryWhenTheDiskFails) {
  ScreenMarks marks("/nonexistent/a/marks", "5");
  ::testing::internal::CaptureStderr();
  marks.AddClear(7);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("cannot write /nonexistent/a/marks: No such file"));
  EXPECT_EQ(marks.clears().size(), 1);
}

TEST_F(ScreenMarksTest, AreWrittenWithTheNextOneWhenTheDiskHasFailed) {
  ScreenMarks marks(path_, "5");
  marks.AddClear(7);
  const std::string aside = directory_ + "/aside";
  std::filesystem::rename(path_, aside);
  std::filesystem::create_directory(path_);
  marks.AddClear(8);
  std::filesystem::remove(path_);
  std::filesystem::rename(aside, path_);
  marks.AddClear(9);
  EXPECT_THAT(ScreenMarks(path_, "5").clears(), ElementsAre(7, 8, 9));
}

TEST_F(ScreenMarksTest, BelongToTheServerAlone) {
  ScreenMarks(path_, "5").AddClear(7);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(directory_).permissions(),
            perms::owner_all);
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            perms::owner_read | perms::owner_write);
}

TEST_F(ScreenMarksTest, MayHaveTwoClearsAtOneOffset) {
  {
    ScreenMarks marks(path_, "5");
    marks.AddClear(7);
    marks.AddClear(7);
  }
  EXPECT_EQ(ScreenMarks(path_, "5").clears(), std::vector<uint64_t>({7, 7}));
}

}  // namespace
}  // namespace server

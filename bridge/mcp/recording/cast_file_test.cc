#include "bridge/mcp/recording/cast_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

std::string Content(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

class WriteWholeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }

  const std::string directory_ = ::testing::TempDir() + "/write_whole";
  const std::string path_ = directory_ + "/file";
};

TEST_F(WriteWholeTest, ReplacesAFileWithoutChangingWhatItsReadersHaveOpen) {
  ASSERT_THAT(WriteWhole(path_, "the old content"), IsOk());
  std::ifstream reader(path_);
  ASSERT_THAT(WriteWhole(path_, "new"), IsOk());
  EXPECT_EQ(Content(path_), "new");
  std::stringstream read;
  read << reader.rdbuf();
  EXPECT_EQ(read.str(), "the old content");
}

TEST_F(WriteWholeTest, LeavesNothingWhenItFails) {
  std::filesystem::create_directory(path_);
  EXPECT_THAT(WriteWhole(path_, "x"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_)));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
}

}  // namespace
}  // namespace bridge

#include "bridge/mcp/recording/cast_file.h"

#include <signal.h>
#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }

  const std::string directory_ = ::testing::TempDir() + "/cast_file";
  const std::string path_ = directory_ + "/file";
};

class CastFileTest : public FilesTest {};
class WriteWholeTest : public FilesTest {};

TEST_F(CastFileTest, SavesNoRecordingInWhichSomethingIsMissing) {
  absl::StatusOr<CastFile> cast =
      CastFile::Create(directory_ + "/part", 80, 24, 0);
  ASSERT_THAT(cast.status(), IsOk());
  const uint64_t written = cast->bytes();
  EXPECT_EQ(written, Content(directory_ + "/part").size());
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit little = before;
  little.rlim_cur = written;
  ::setrlimit(RLIMIT_FSIZE, &little);
  cast->AddOutput(0, "lost");
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(cast->bytes(), written);
  cast->AddOutput(0, "kept");
  EXPECT_EQ(cast->bytes(), Content(directory_ + "/part").size());
  EXPECT_THAT(cast->Save(path_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("write")));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CastFileTest, ReplacesNoFileThatIsThere) {
  ASSERT_THAT(WriteWhole(path_, "x"), IsOk());
  EXPECT_THAT(CastFile::Create(path_, 80, 24, 0).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("EEXIST")));
  EXPECT_EQ(Content(path_), "x");
}

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

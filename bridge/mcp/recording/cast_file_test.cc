#include "bridge/mcp/recording/cast_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

// Lets no file grow beyond `size` bytes while it exists.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit little = before_;
    little.rlim_cur = size;
    ::setrlimit(RLIMIT_FSIZE, &little);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }

  const std::string directory_ = ::testing::TempDir() + "/cast_file";
  const std::string path_ = directory_ + "/file";
};

class MakeDirectoriesTest : public FilesTest {};
class CastFileTest : public FilesTest {};
class WriteWholeTest : public FilesTest {};

TEST_F(MakeDirectoriesTest, TakesADirectoryThatIsThereAndNothingElse) {
  EXPECT_THAT(MakeDirectories(directory_), IsOk());
  std::filesystem::create_symlink(directory_, path_);
  EXPECT_THAT(MakeDirectories(path_), IsOk());
  for (const char* const other : {"file", "link"}) {
    std::filesystem::remove(path_);
    if (other == std::string("file")) {
      ASSERT_THAT(WriteWhole(path_, "x"), IsOk());
    } else {
      std::filesystem::create_symlink("nothing", path_);
    }
    EXPECT_THAT(MakeDirectories(path_),
                StatusIs(absl::StatusCode::kUnavailable,
                         "EEXIST: file already exists, mkdir '" + path_ + "'"))
        << other;
  }
}

TEST_F(CastFileTest, IsNotMadeWithoutItsHeader) {
  const FileSizeLimit limit(1);
  EXPECT_THAT(CastFile::Create(path_, 80, 24, 0).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "EIO: i/o error, write '" + path_ + "'"));
}

TEST_F(CastFileTest, SaysWhereItCannotBeMovedTo) {
  absl::StatusOr<CastFile> cast = CastFile::Create(path_, 80, 24, 0);
  ASSERT_THAT(cast.status(), IsOk());
  const std::string place = directory_ + "/none/file";
  EXPECT_THAT(
      cast->Save(place),
      StatusIs(absl::StatusCode::kUnavailable,
               "ENOENT: no such file or directory, rename '" + place + "'"));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(CastFileTest, StaysWhereItIsWhenItCannotBeCopied) {
  const std::string elsewhere = "/dev/shm/cast_file_test";
  struct stat here = {};
  struct stat there = {};
  if (::stat(directory_.c_str(), &here) != 0 ||
      ::stat("/dev/shm", &there) != 0 || here.st_dev == there.st_dev) {
    GTEST_SKIP() << "needs two file systems";
  }
  std::filesystem::remove(elsewhere);
  absl::StatusOr<CastFile> cast = CastFile::Create(elsewhere, 80, 24, 0);
  ASSERT_THAT(cast.status(), IsOk());
  std::filesystem::create_directory(path_);
  EXPECT_THAT(cast->Save(path_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("copyfile")));
  EXPECT_TRUE(std::filesystem::exists(elsewhere));
  cast->Discard();
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

TEST_F(CastFileTest, SavesNoRecordingInWhichSomethingIsMissing) {
  absl::StatusOr<CastFile> cast =
      CastFile::Create(directory_ + "/part", 80, 24, 0);
  ASSERT_THAT(cast.status(), IsOk());
  const uint64_t written = cast->bytes();
  EXPECT_EQ(written, Content(directory_ + "/part").size());
  {
    const FileSizeLimit limit(written);
    cast->AddOutput(0, "lost");
  }
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

TEST_F(WriteWholeTest, ReplacesWhatAnEarlierOneHasLeft) {
  std::ofstream(path_ + ".part") << "a longer rest";
  ASSERT_THAT(WriteWhole(path_, "new"), IsOk());
  EXPECT_EQ(Content(path_), "new");
}

TEST_F(WriteWholeTest, LeavesNothingWhenItFails) {
  {
    const FileSizeLimit limit(3);
    EXPECT_THAT(WriteWhole(path_, "content"),
                StatusIs(absl::StatusCode::kUnavailable,
                         "EIO: i/o error, write '" + path_ + "'"));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
  std::filesystem::create_directory(path_);
  EXPECT_THAT(WriteWhole(path_, "x"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_)));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
  EXPECT_THAT(WriteWhole("/nonexistent/file", "x"),
              StatusIs(absl::StatusCode::kUnavailable,
                       "ENOENT: no such file or directory, open "
                       "'/nonexistent/file'"));
}

}  // namespace
}  // namespace bridge

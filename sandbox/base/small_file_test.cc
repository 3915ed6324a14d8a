#include "sandbox/base/small_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class SmallFileTest : public ::testing::Test {
 protected:
  SmallFileTest() {
    std::string path = ::testing::TempDir() + "/smallXXXXXX";
    directory_ = ::mkdtemp(path.data());
    path_ = directory_ + "/file";
  }

  std::string directory_;
  std::string path_;
};

TEST_F(SmallFileTest, ReadsWhatWasWritten) {
  for (const auto durability : {Durability::kProcess, Durability::kMachine}) {
    const std::string data("a\0b", 3);
    ASSERT_THAT(ReplaceFile(path_, data, durability), IsOk());
    EXPECT_EQ(*ReadSmallFile(path_), data);
    ASSERT_THAT(ReplaceFile(path_, "", durability), IsOk());
    EXPECT_EQ(*ReadSmallFile(path_), "");
  }
}

TEST_F(SmallFileTest, ReadsFilesThatReportNoSize) {
  EXPECT_THAT(*ReadSmallFile("/proc/self/status"), HasSubstr("Name:"));
}

TEST_F(SmallFileTest, ReplacesAFileByOneForItsOwnerOnly) {
  ASSERT_THAT(ReplaceFile(path_, "old", Durability::kProcess), IsOk());
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  ASSERT_THAT(ReplaceFile(path_, "new", Durability::kProcess), IsOk());
  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_NE(::access((path_ + ".new").c_str(), F_OK), 0);
}

TEST_F(SmallFileTest, FollowsNoLinkAtTheTemporaryName) {
  ASSERT_EQ(::symlink("/nowhere", (path_ + ".new").c_str()), 0);
  EXPECT_THAT(ReplaceFile(path_, "x", Durability::kProcess).ToString(),
              HasSubstr(".new"));
}

TEST_F(SmallFileTest, NamesTheFileInItsErrors) {
  EXPECT_THAT(ReadSmallFile(path_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  EXPECT_THAT(WriteSmallFile(path_, "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  EXPECT_THAT(WriteSmallFile("/dev/full", "x").ToString(),
              HasSubstr("/dev/full"));
}

TEST_F(SmallFileTest, RefusesAFileAboveEightMebibytes) {
  ASSERT_THAT(ReplaceFile(path_, "", Durability::kProcess), IsOk());
  ASSERT_EQ(::truncate(path_.c_str(), 8 << 20), 0);
  const absl::StatusOr<std::string> largest = ReadSmallFile(path_);
  ASSERT_THAT(largest.status(), IsOk());
  EXPECT_EQ(largest->size(), size_t{8} << 20);
  ASSERT_EQ(::truncate(path_.c_str(), (8 << 20) + 1), 0);
  EXPECT_THAT(ReadSmallFile(path_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)));
  EXPECT_THAT(ReadSmallFile("/dev/zero").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("8 MiB")));
}

}  // namespace
}  // namespace sandbox

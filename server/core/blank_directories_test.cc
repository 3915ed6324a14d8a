#include "server/core/blank_directories.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::StatusIs;

class BlankDirectoriesTest : public ::testing::Test {
 protected:
  ~BlankDirectoriesTest() override { std::filesystem::remove_all(parent_); }

  static std::string MakeParent() {
    std::string path = ::testing::TempDir() + "/blankXXXXXX";
    return ::mkdtemp(path.data());
  }
  size_t Count() const {
    const std::filesystem::directory_iterator entries(parent_);
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }

  const std::string parent_ = MakeParent();
  BlankDirectories blanks_{parent_, "text"};
};

TEST_F(BlankDirectoriesTest, MakesOneThatOnlyItsOwnerCanRead) {
  const std::string path = blanks_.Take().value();
  EXPECT_THAT(path, StartsWith(parent_ + "/."));
  struct stat info = {};
  ASSERT_EQ(::stat((path + "/executions").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  ASSERT_EQ(::stat((path + "/text").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  EXPECT_EQ(info.st_size, 0);
}

TEST_F(BlankDirectoriesTest, MakesAFewAheadAndGivesEachOnce) {
  blanks_.Refill();
  EXPECT_EQ(Count(), BlankDirectories::kMost);
  EXPECT_NE(blanks_.Take().value(), blanks_.Take().value());
  EXPECT_EQ(Count(), BlankDirectories::kMost);
  blanks_.Refill();
  EXPECT_EQ(Count(), BlankDirectories::kMost + 2);
}

TEST_F(BlankDirectoriesTest, RemovesThoseThatWereNotUsed) {
  blanks_.Refill();
  const std::string used = blanks_.Take().value();
  blanks_.RemoveAll();
  EXPECT_EQ(Count(), 1);
  EXPECT_TRUE(std::filesystem::exists(used));
  blanks_.Refill();
  EXPECT_EQ(Count(), 1) << "the server ends";
}

TEST_F(BlankDirectoriesTest, ReportsTheErrorToTheOneWhoNeedsOne) {
  std::filesystem::remove(parent_);
  blanks_.Refill();
  EXPECT_THAT(blanks_.Take().status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("mkdir(")));
}

}  // namespace
}  // namespace server

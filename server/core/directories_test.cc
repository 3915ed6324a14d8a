#include "server/core/directories.h"

#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using ::tests::IsOk;
using ::tests::StatusIs;

class DirectoriesTest : public ::testing::Test {
 protected:
  DirectoriesTest() {
    std::filesystem::create_directories(absl::StrCat(box_, "/executions/job"));
    std::ofstream(absl::StrCat(box_, "/file")) << "x";
  }
  ~DirectoriesTest() override { std::filesystem::remove_all(path_); }

  const std::string path_ = absl::StrCat(
      ::testing::TempDir(), "/directories_",
      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string box_ = absl::StrCat(path_, "/box");
};

TEST_F(DirectoriesTest, ListsAllEntriesOrReportsAnError) {
  EXPECT_THAT(ListDirectory(box_).value(),
              UnorderedElementsAre("executions", "file"));
  EXPECT_THAT(ListDirectory(absl::StrCat(path_, "/other")).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/other")));
}

TEST_F(DirectoriesTest, RenamesADirectoryWhoseRemovalBegins) {
  EXPECT_THAT(BeginRemoval(box_), IsOk());
  EXPECT_THAT(ListDirectory(path_).value(),
              UnorderedElementsAre(".removed-box"));
  EXPECT_TRUE(IsBeingRemoved(".removed-box"));
  EXPECT_FALSE(IsBeingRemoved("box"));
  EXPECT_EQ(RemovedPath(RemovedPath(box_)), RemovedPath(box_));
  EXPECT_THAT(RemoveDirectory(RemovedPath(box_)), IsOk());
  EXPECT_THAT(ListDirectory(path_).value(), SizeIs(0));
}

TEST_F(DirectoriesTest, ReportWhatTheyCannotRemove) {
  absl::Status refused;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_unlink, SYS_unlinkat, SYS_rmdir},
                                      EIO,
                                      [&] { refused = RemoveTree(box_); }));
  EXPECT_THAT(refused, Not(IsOk()));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(box_));
  EXPECT_THAT(RemoveTree(box_), IsOk());
  EXPECT_THAT(ListDirectory(path_).value(), SizeIs(0));
}

TEST_F(DirectoriesTest, ReportThatARemovalCannotBegin) {
  // No directory can be renamed to a file.
  std::ofstream(RemovedPath(box_)) << "x";
  EXPECT_THAT(RemoveDirectory(box_), Not(IsOk()));
  EXPECT_THAT(ListDirectory(box_).value(),
              UnorderedElementsAre("executions", "file"));
}

TEST_F(DirectoriesTest, RemovesWhatAnEarlierRemovalLeft) {
  std::filesystem::create_directories(
      absl::StrCat(RemovedPath(box_), "/executions/old"));
  EXPECT_THAT(RemoveDirectory(box_), IsOk());
  EXPECT_THAT(ListDirectory(path_).value(), SizeIs(0));
  EXPECT_THAT(RemoveDirectory(box_), IsOk());
}

}  // namespace
}  // namespace server

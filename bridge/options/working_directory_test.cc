#include "bridge/options/working_directory.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::StatusIs;

// In a directory `real`, which `link` points to.
class WorkingDirectoryTest : public ::testing::Test {
 protected:
  WorkingDirectoryTest() {
    char name[] = "/tmp/working_directory_test.XXXXXX";
    base_ = ::mkdtemp(name);
    ::mkdir((base_ + "/real").c_str(), 0700);
    (void)!::symlink("real", (base_ + "/link").c_str());
    (void)!::chdir((base_ + "/link").c_str());
  }
  ~WorkingDirectoryTest() override {
    (void)!::chdir("/");
    ::unlink((base_ + "/link").c_str());
    ::rmdir((base_ + "/real").c_str());
    ::rmdir(base_.c_str());
  }

  std::string base_;
};

TEST_F(WorkingDirectoryTest, ReturnsTheRealPathWhateverPwdSays) {
  for (const std::string& pwd :
       {base_ + "/link", std::string("/"), std::string("."), base_ + "/none"}) {
    ::setenv("PWD", pwd.c_str(), 1);
    EXPECT_EQ(*CurrentDirectory(), base_ + "/real") << pwd;
    EXPECT_EQ(*AbsolutePath("x"), base_ + "/real/x") << pwd;
  }
  ::unsetenv("PWD");
  EXPECT_EQ(*CurrentDirectory(), base_ + "/real");
}

TEST_F(WorkingDirectoryTest, FollowsSymbolicLinks) {
  EXPECT_EQ(*AbsolutePath(base_ + "/link"), base_ + "/real");
  EXPECT_EQ(*AbsolutePath(base_ + "/link/"), base_ + "/real");
}

TEST_F(WorkingDirectoryTest, MakesPathsAbsoluteAndPlain) {
  EXPECT_EQ(*AbsolutePath("/a/./b//c/"), "/a/b/c");
  EXPECT_EQ(*AbsolutePath("/"), "/");
  EXPECT_EQ(*AbsolutePath(base_ + "/link/.."), base_);
  EXPECT_FALSE(AbsolutePath("/nowhere/../x").ok());
}

TEST_F(WorkingDirectoryTest, SaysThatTheCurrentDirectoryIsGone) {
  ASSERT_EQ(::rmdir((base_ + "/real").c_str()), 0);
  for (const absl::Status& status :
       {CurrentDirectory().status(), AbsolutePath("x").status()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                                 HasSubstr("the current directory")));
  }
  EXPECT_EQ(*AbsolutePath("/nowhere/x"), "/nowhere/x");
}

}  // namespace
}  // namespace bridge

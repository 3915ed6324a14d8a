// Tests in a mount namespace of their own.

#include "sandbox/kernel/path_part.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/own_mounts_fixture.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class PathPartTest : public OwnMountsTest {
 protected:
  absl::StatusOr<PathPart> Open(const std::string& name) const {
    return OpenPart(workspace_.get(), name);
  }
};

TEST_F(PathPartTest, IsDescribedWithItsMount) {
  std::filesystem::create_directory(Path("dir"));
  const absl::StatusOr<PathPart> before = Open("dir");
  ASSERT_THAT(before.status(), IsOk());
  EXPECT_TRUE(S_ISDIR(before->mode));
  EXPECT_FALSE(before->is_mount_point);
  EXPECT_FALSE(before->is_read_only);
  ASSERT_THAT(
      MountOnItself(workspace_.get(), "dir", *before, MountAccess::kReadOnly)
          .status(),
      IsOk());
  const absl::StatusOr<PathPart> after = Open("dir");
  ASSERT_THAT(after.status(), IsOk());
  EXPECT_TRUE(after->is_mount_point);
  EXPECT_TRUE(after->is_read_only);
  EXPECT_NE(after->mount, before->mount);
  EXPECT_THAT(Open("none").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("open none")));
}

TEST_F(PathPartTest, CanBeAMountThatStaysWritable) {
  std::filesystem::create_directory(Path("dir"));
  const absl::StatusOr<PathPart> part = Open("dir");
  ASSERT_THAT(part.status(), IsOk());
  ASSERT_THAT(
      MountOnItself(workspace_.get(), "dir", *part, MountAccess::kWritable)
          .status(),
      IsOk());
  tests::WriteFile(Path("dir/file"), "x");
  EXPECT_EQ(std::rename(Path("dir").c_str(), Path("other").c_str()), -1);
  EXPECT_EQ(errno, EBUSY);
  OnHost([this] { EXPECT_EQ(tests::ReadFile(Path("dir/file")), "x"); });
}

TEST_F(PathPartTest, IsNotCoveredWhenItHasMoved) {
  std::filesystem::create_directory(Path("dir"));
  const absl::StatusOr<PathPart> part = Open("dir");
  ASSERT_THAT(part.status(), IsOk());
  std::filesystem::rename(Path("dir"), Path("moved"));
  std::filesystem::create_directory(Path("dir"));
  EXPECT_THAT(
      MountOnItself(workspace_.get(), "dir", *part, MountAccess::kReadOnly)
          .status(),
      StatusIs(absl::StatusCode::kAborted, HasSubstr("dir was moved")));
}

TEST_F(PathPartTest, CannotBeALinkOrAFileWithAnotherName) {
  std::filesystem::create_symlink("some/where", Path("link"));
  tests::WriteFile(Path("file"), "x");
  ASSERT_THAT(Open("file").status(), IsOk());
  EXPECT_THAT(CheckCoverable(*Open("file"), "a/file"), IsOk());
  std::filesystem::create_hard_link(Path("file"), Path("other"));
  EXPECT_THAT(CheckCoverable(*Open("file"), "a/file"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a/file has 2 names (hard links)")));
  EXPECT_THAT(CheckCoverable(*Open("link"), "a/link"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a/link is a symbolic link (to some/where)")));
}

TEST_F(PathPartTest, SaysWhichStepTheHostRefuses) {
  std::filesystem::create_directory(Path("dir"));
  const absl::StatusOr<PathPart> part = Open("dir");
  ASSERT_THAT(part.status(), IsOk());
  const struct {
    int call;
    const char* step;
  } steps[] = {{SYS_open_tree, "open_tree"},
               {SYS_mount_setattr, "mount_setattr"},
               {SYS_move_mount, "move_mount"},
               {SYS_statx, "statx dir"}};
  for (const auto& [call, step] : steps) {
    absl::Status failed;
    ASSERT_TRUE(tests::WithFailingCalls({call}, EPERM, [&] {
      failed =
          MountOnItself(workspace_.get(), "dir", *part, MountAccess::kReadOnly)
              .status();
    }));
    EXPECT_THAT(failed.ToString(), HasSubstr(step));
  }
}

}  // namespace
}  // namespace sandbox

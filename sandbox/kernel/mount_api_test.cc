// Tests in a mount namespace of their own.

#include "sandbox/kernel/mount_api.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class MountApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The mounts end with this process.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      GTEST_SKIP() << "needs root";
    }
    std::string path = ::testing::TempDir() + "/mountXXXXXX";
    directory_ = ::mkdtemp(path.data());
    root_.Reset(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::mkdirat(root_.get(), "a", 0755), 0);
    ASSERT_EQ(::symlinkat("/etc", root_.get(), "link"), 0);
  }
  absl::StatusOr<UniqueFd> Tmpfs() {
    return NewFileSystem("tmpfs", {{"size", "1m"}}, MOUNT_ATTR_NOSUID);
  }

  std::string directory_;
  UniqueFd root_;
};

TEST_F(MountApiTest, MakesAFileSystemAndMountsIt) {
  const absl::StatusOr<UniqueFd> tree = Tmpfs();
  ASSERT_THAT(tree.status(), IsOk());
  ASSERT_THAT(MoveTree(tree->get(), root_.get(), "a"), IsOk());
  struct statvfs status;
  ASSERT_EQ(::statvfs((directory_ + "/a").c_str(), &status), 0);
  EXPECT_EQ(status.f_blocks * status.f_frsize, 1u << 20);
  EXPECT_NE(status.f_flag & ST_NOSUID, 0u);
  ASSERT_THAT(Reconfigure(root_.get(), "a", {{"size", "2m"}}), IsOk());
  ASSERT_EQ(::statvfs((directory_ + "/a").c_str(), &status), 0);
  EXPECT_EQ(status.f_blocks * status.f_frsize, 2u << 20);
}

TEST_F(MountApiTest, FollowsNoLink) {
  const absl::StatusOr<UniqueFd> tree = Tmpfs();
  ASSERT_THAT(tree.status(), IsOk());
  for (const char* path : {"link", "link/ssl", "a/../link"}) {
    EXPECT_FALSE(MoveTree(tree->get(), root_.get(), path).ok()) << path;
  }
  EXPECT_FALSE(OpenBeneath(root_.get(), "link/ssl").ok());
  // Nor a link that stays below the root.
  ASSERT_EQ(::symlinkat("a", root_.get(), "inside"), 0);
  ASSERT_EQ(::mkdirat(root_.get(), "a/deep", 0755), 0);
  EXPECT_FALSE(OpenBeneath(root_.get(), "inside/deep").ok());
  // The last part of a path may be a link, which is not followed.
  const absl::StatusOr<UniqueFd> link = OpenBeneath(root_.get(), "link");
  ASSERT_THAT(link.status(), IsOk());
  struct stat one;
  ASSERT_EQ(::fstat(link->get(), &one), 0);
  EXPECT_TRUE(S_ISLNK(one.st_mode));
  // The directory is the root: nothing leads above it.
  const absl::StatusOr<UniqueFd> above = OpenBeneath(root_.get(), "../../../a");
  ASSERT_THAT(above.status(), IsOk());
  struct stat other;
  ASSERT_EQ(::fstat(above->get(), &one), 0);
  ASSERT_EQ(::stat((directory_ + "/a").c_str(), &other), 0);
  EXPECT_EQ(one.st_ino, other.st_ino);
}

TEST_F(MountApiTest, FollowsLinksInsideARootOnly) {
  ASSERT_EQ(::symlinkat("/a", root_.get(), "inside"), 0);
  ASSERT_EQ(::symlinkat("../../../..", root_.get(), "above"), 0);
  struct stat directory;
  ASSERT_EQ(::fstatat(root_.get(), "a", &directory, 0), 0);
  for (const char* path : {"a", "inside", "above/a", "/inside"}) {
    const absl::StatusOr<UniqueFd> opened = OpenInRoot(root_.get(), path);
    ASSERT_THAT(opened.status(), IsOk()) << path;
    struct stat got;
    ASSERT_EQ(::fstat(opened->get(), &got), 0);
    EXPECT_EQ(got.st_ino, directory.st_ino) << path;
  }
  // "link" leads to /etc, which the root does not have.
  EXPECT_THAT(OpenInRoot(root_.get(), "link").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("link")));
}

TEST_F(MountApiTest, OpensADirectoryWithoutLinksOnly) {
  EXPECT_TRUE(OpenDirectoryWithoutLinks(directory_ + "/a").valid());
  EXPECT_FALSE(OpenDirectoryWithoutLinks(directory_ + "/link").valid());
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(OpenDirectoryWithoutLinks(directory_ + "/link/ssl").valid());
  EXPECT_EQ(errno, ELOOP);
}

TEST_F(MountApiTest, MountsNothingAboveTheDirectory) {
  const absl::StatusOr<UniqueFd> tree = Tmpfs();
  ASSERT_THAT(tree.status(), IsOk());
  const absl::StatusOr<UniqueFd> place = OpenBeneath(root_.get(), "a");
  ASSERT_THAT(place.status(), IsOk());
  ASSERT_EQ(::mkdirat(tree->get(), "x", 0755), 0);
  // The directory is the root, whose parent it is itself.
  ASSERT_THAT(MoveTree(tree->get(), place->get(), ".."), IsOk());
  EXPECT_EQ(::faccessat(root_.get(), "x", F_OK, 0), -1);
  EXPECT_EQ(::faccessat(root_.get(), "a/x", F_OK, 0), 0);
}

TEST_F(MountApiTest, MountsOnADescriptor) {
  const absl::StatusOr<UniqueFd> tree = Tmpfs();
  ASSERT_THAT(tree.status(), IsOk());
  const absl::StatusOr<UniqueFd> place = OpenBeneath(root_.get(), "a");
  ASSERT_THAT(place.status(), IsOk());
  ASSERT_THAT(MoveTree(tree->get(), place->get(), ""), IsOk());
  EXPECT_EQ(::faccessat(root_.get(), "a/x", F_OK, 0), -1);
  ASSERT_EQ(::mkdirat(tree->get(), "x", 0755), 0);
  EXPECT_EQ(::faccessat(root_.get(), "a/x", F_OK, 0), 0);
}

TEST_F(MountApiTest, MakesAMountReadOnlyAndWritableAgain) {
  const absl::StatusOr<UniqueFd> tree = Tmpfs();
  ASSERT_THAT(tree.status(), IsOk());
  ASSERT_THAT(MoveTree(tree->get(), root_.get(), "a"), IsOk());
  ASSERT_THAT(SetReadOnly(tree->get(), true), IsOk());
  EXPECT_NE(::mkdirat(root_.get(), "a/x", 0755), 0);
  ASSERT_THAT(SetReadOnly(tree->get(), false), IsOk());
  EXPECT_EQ(::mkdirat(root_.get(), "a/x", 0755), 0);
}

TEST_F(MountApiTest, CopiesATreeWithOtherAttributes) {
  const absl::StatusOr<UniqueFd> copy = CopyTree(AT_FDCWD, directory_);
  ASSERT_THAT(copy.status(), IsOk());
  ASSERT_THAT(SetMountAttributes(copy->get(), MOUNT_ATTR_RDONLY, -1), IsOk());
  EXPECT_NE(::mkdirat(copy->get(), "x", 0755), 0);
  EXPECT_EQ(::mkdirat(root_.get(), "x", 0755), 0);
}

TEST_F(MountApiTest, NamesTheCallThatFailed) {
  EXPECT_THAT(CopyTree(root_.get(), "none").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(NewFileSystem("nofs", {}, 0).status().ToString(),
              HasSubstr("nofs"));
  EXPECT_THAT(NewFileSystem("tmpfs", {{"size", "much"}}, 0).status().ToString(),
              HasSubstr("size=much"));
  EXPECT_THAT(Reconfigure(root_.get(), "a", {}).ToString(),
              HasSubstr("fspick(a)"));
  EXPECT_THAT(SetMountAttributes(root_.get(), MOUNT_ATTR_RDONLY, -1).ToString(),
              HasSubstr("mount_setattr: "));
  EXPECT_THAT(SetReadOnly(root_.get(), true).ToString(),
              HasSubstr("mount_setattr(read-only)"));
  const absl::StatusOr<UniqueFd> tree = Tmpfs();
  ASSERT_THAT(tree.status(), IsOk());
  EXPECT_THAT(MoveTree(tree->get(), root_.get(), "none").ToString(),
              HasSubstr("move_mount(none)"));
  EXPECT_THAT(MoveTree(tree->get(), root_.get(), "none/x").ToString(),
              HasSubstr("open none/x"));
  EXPECT_THAT(MoveTree(tree->get(), root_.get(), "link").ToString(),
              HasSubstr("move_mount(link)"));
}

TEST_F(MountApiTest, KeepsAFileSystemAsItIsIfItCannotBeChanged) {
  const absl::StatusOr<UniqueFd> tree = Tmpfs();
  ASSERT_THAT(tree.status(), IsOk());
  ASSERT_THAT(MoveTree(tree->get(), root_.get(), "a"), IsOk());
  EXPECT_THAT(Reconfigure(root_.get(), "a", {{"size", "much"}}).ToString(),
              HasSubstr("size=much"));
  const UniqueFd file(
      ::openat(root_.get(), "a/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::fallocate(file.get(), 0, 0, 512 << 10), 0);
  EXPECT_THAT(Reconfigure(root_.get(), "a", {{"size", "4k"}}).ToString(),
              HasSubstr("reconfigure a"));
}

TEST_F(MountApiTest, NamesTheStepOfANewFileSystemThatFailed) {
  const auto fail = [](int call) {
    absl::Status made;
    EXPECT_TRUE(tests::WithFailingCalls({call}, ENOMEM, [&made] {
      made = NewFileSystem("tmpfs", {}, 0).status();
    }));
    return std::string(made.message());
  };
  EXPECT_THAT(fail(SYS_fsopen), HasSubstr("fsopen(tmpfs)"));
  EXPECT_THAT(fail(SYS_fsconfig), HasSubstr("create tmpfs"));
  EXPECT_THAT(fail(SYS_fsmount), HasSubstr("fsmount(tmpfs)"));
}

}  // namespace
}  // namespace sandbox

#include "sandbox/kernel/workspace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/mounts.h"
#include "sandbox/kernel/namespaces.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::FailsWith;
using ::tests::IsOk;

class OpenWorkspaceTest : public ::testing::Test {
 protected:
  OpenWorkspaceTest() {
    std::filesystem::create_directories(path_ + "/real/deep");
    std::filesystem::create_directory_symlink(path_ + "/real", path_ + "/link");
    std::ofstream(path_ + "/file") << "x";
  }
  ~OpenWorkspaceTest() override { std::filesystem::remove_all(path_); }

  static std::string MakeDirectory() {
    std::string path =
        std::filesystem::canonical(::testing::TempDir()).string() + "/wsXXXXXX";
    return ::mkdtemp(path.data());
  }

  // Expects that `path` is refused with exactly this text after its name.
  static void ExpectRefusal(const std::string& path, const std::string& text) {
    EXPECT_THAT(OpenHostDirectory("workspace", path).status(),
                FailsWith(wire::Reply::WORKSPACE,
                          absl::StrCat("workspace ", path, ": ", text)));
  }

  const std::string path_ = MakeDirectory();
};

TEST_F(OpenWorkspaceTest, OpensTheDirectoryThatThePathNames) {
  for (const char* suffix : {"", "/", "//"}) {
    const absl::StatusOr<UniqueFd> opened =
        OpenHostDirectory("workspace", path_ + "/real/deep" + suffix);
    ASSERT_THAT(opened.status(), IsOk());
    struct stat named;
    struct stat got;
    ASSERT_EQ(::stat((path_ + "/real/deep").c_str(), &named), 0);
    ASSERT_EQ(::fstat(opened->get(), &got), 0);
    EXPECT_EQ(named.st_ino, got.st_ino);
  }
}

TEST_F(OpenWorkspaceTest, RefusesALinkAnywhereAndNamesIt) {
  const std::string link =
      absl::StrCat("path contains a symbolic link (", path_, "/link -> ", path_,
                   "/real); name the real path");
  ExpectRefusal(path_ + "/link", link);
  ExpectRefusal(path_ + "/link/deep", link);
}

TEST_F(OpenWorkspaceTest, SaysWhatIsWrongWithThePathAndWhatToDo) {
  ExpectRefusal(path_ + "/none", "no such directory; create it first");
  ExpectRefusal(path_ + "/file", "not a directory; name a directory");
  ExpectRefusal(path_ + "/file/x", "not a directory; name a directory");
  ExpectRefusal("real", "path is not absolute; name it from / on");
  ExpectRefusal(path_ + "/real/../real",
                "path contains \"..\"; name the real path");
  ExpectRefusal(path_ + "/./real", "path contains \".\"; name the real path");
}

TEST_F(OpenWorkspaceTest, RefusesTheDirectoriesThatASandboxHasOfItsOwn) {
  for (const char* own : {"/proc", "/sys", "/dev", "/etc"}) {
    const std::string text = absl::StrCat(
        "each sandbox has ", own, " of its own; choose a directory elsewhere");
    ExpectRefusal(own, text);
    ExpectRefusal(absl::StrCat(own, "/x"), text);
    ExpectRefusal(absl::StrCat("/", own, "/"), text);
  }
  for (const char* own : {"/", "/usr"}) {
    ExpectRefusal(own, absl::StrCat("each sandbox has ", own,
                                    " of its own; choose a directory below it "
                                    "or elsewhere"));
  }
  EXPECT_THAT(OpenHostDirectory("workspace", "/usr/bin").status(), IsOk());
}

TEST_F(OpenWorkspaceTest, SaysWhyTheServerCannotOpenADirectory) {
  absl::Status failed;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_openat2}, EACCES, [&] {
    failed = OpenHostDirectory("workspace", path_).status();
  }));
  EXPECT_THAT(failed, FailsWith(wire::Reply::WORKSPACE,
                                absl::StrCat("workspace ", path_,
                                             ": Permission denied; choose a "
                                             "directory that the server can "
                                             "open")));
  // The link is gone when it is to be named.
  ASSERT_TRUE(tests::WithFailingCalls({SYS_openat2}, ELOOP, [&] {
    failed = OpenHostDirectory("workspace", path_).status();
  }));
  EXPECT_THAT(failed,
              FailsWith(wire::Reply::WORKSPACE,
                        absl::StrCat("workspace ", path_,
                                     ": path contains a symbolic link (", path_,
                                     "); name the real path")));
}

TEST_F(OpenWorkspaceTest, IsNotLentWithoutItsOwner) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const auto lend = [this](int call, int error) {
    absl::Status failed;
    EXPECT_TRUE(tests::WithFailingCalls({call}, error, [&] {
      failed = LendWorkspace({path_ + "/real", /*read_only=*/false, 0x70000000})
                   .status();
    }));
    return failed;
  };
  EXPECT_THAT(lend(SYS_mount_setattr, EINVAL),
              FailsWith(wire::Reply::ISOLATION,
                        ::testing::StartsWith(absl::StrCat(
                            "workspace ", path_,
                            "/real: its file system has no idmapped mounts"))));
  EXPECT_THAT(std::string(lend(SYS_open_tree, EPERM).message()),
              ::testing::HasSubstr("open_tree"));
  EXPECT_THAT(std::string(lend(SYS_clone, EAGAIN).message()),
              ::testing::HasSubstr("clone: "));
}

TEST_F(OpenWorkspaceTest, LendsTheDirectoryAsOneOfTheCommandsUserAndGroup) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  constexpr uint32_t kFirstId = 0x70000000;
  ASSERT_EQ(::chown((path_ + "/real").c_str(), 1234, 5678), 0);
  const absl::StatusOr<HostTree> lent =
      LendWorkspace({path_ + "/real", /*read_only=*/false, kFirstId});
  if (FailureOf(lent.status()) == wire::Reply::ISOLATION) {
    GTEST_SKIP() << lent.status();
  }
  ASSERT_THAT(lent.status(), IsOk());
  struct stat shown;
  ASSERT_EQ(::fstat(lent->tree.get(), &shown), 0);
  EXPECT_EQ(shown.st_uid, kFirstId + kCommandId);
  EXPECT_EQ(shown.st_gid, kFirstId + kCommandId);
  EXPECT_EQ(lent->target, path_ + "/real");
  EXPECT_TRUE(lent->directory);
  struct statvfs mount;
  ASSERT_EQ(::fstatvfs(lent->tree.get(), &mount), 0);
  EXPECT_EQ(mount.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV),
            ST_NOSUID | ST_NODEV);
}

TEST_F(OpenWorkspaceTest, AMountAppearsAtItsTarget) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  constexpr uint32_t kFirstId = 0x70000000;
  WorkspaceMount mount = {path_ + "/real", /*read_only=*/true, kFirstId,
                          "/opt/tool"};
  const absl::StatusOr<HostTree> lent = LendWorkspace(mount);
  if (FailureOf(lent.status()) == wire::Reply::ISOLATION) {
    GTEST_SKIP() << lent.status();
  }
  ASSERT_THAT(lent.status(), IsOk());
  EXPECT_EQ(lent->target, "/opt/tool");
  struct statvfs shown;
  ASSERT_EQ(::fstatvfs(lent->tree.get(), &shown), 0);
  EXPECT_EQ(shown.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV),
            ST_RDONLY | ST_NOSUID | ST_NODEV);
  mount.path = path_ + "/link";
  EXPECT_THAT(
      LendWorkspace(mount).status(),
      FailsWith(wire::Reply::WORKSPACE,
                absl::StrCat(
                    "mount ", path_, "/link: path contains a symbolic link (",
                    path_, "/link -> ", path_, "/real); name the real path")));
}

TEST_F(OpenWorkspaceTest, AMountCannotCoverWhatASandboxHasOfItsOwn) {
  for (const char* target : {"/proc", "/sys/x", "/dev/shm", "/etc", "/", "/usr",
                             "/usr/bin", "//usr", "x", "/a/../usr"}) {
    EXPECT_THAT(
        LendWorkspace({path_ + "/real", true, 0, target}).status(),
        FailsWith(wire::Reply::WORKSPACE, ::testing::StartsWith(absl::StrCat(
                                              "mount at ", target, ": "))))
        << target;
  }
}

TEST_F(OpenWorkspaceTest, GetsNothingThatTheHostMountsBelowItLater) {
  // The mounts end with this process.
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    GTEST_SKIP() << "needs root";
  }
  const std::string host = path_ + "/host";
  const std::string inside = path_ + "/inside";
  for (const std::string& place : {host, inside}) {
    std::filesystem::create_directory(place);
    ASSERT_EQ(::mount("tmpfs", place.c_str(), "tmpfs", 0, nullptr), 0);
    std::filesystem::create_directories(place + "/lent/disk");
  }
  // So is / on most hosts.
  ASSERT_EQ(::mount(nullptr, host.c_str(), nullptr, MS_SHARED, nullptr), 0);
  const absl::StatusOr<HostTree> lent =
      LendWorkspace({host + "/lent", /*read_only=*/false, kNoRange});
  ASSERT_THAT(lent.status(), IsOk());
  const UniqueFd place(
      ::open((inside + "/lent").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  ASSERT_THAT(MoveTree(lent->tree.get(), place.get(), ""), IsOk());
  ASSERT_EQ(
      ::mount("tmpfs", (host + "/lent/disk").c_str(), "tmpfs", 0, nullptr), 0);
  std::filesystem::create_directory(host + "/lent/disk/secret");
  EXPECT_TRUE(std::filesystem::exists(inside + "/lent/disk"));
  EXPECT_FALSE(std::filesystem::exists(inside + "/lent/disk/secret"));
  for (const std::string& mounted :
       {host + "/lent/disk", inside + "/lent", host, inside}) {
    EXPECT_EQ(::umount2(mounted.c_str(), MNT_DETACH), 0);
  }
}

}  // namespace
}  // namespace sandbox

// Workspaces that an attacker prepared.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"
#include "tests/failure_matchers.h"

namespace tests {
namespace {

using ::testing::_;
using ::testing::HasSubstr;

TEST_F(AttackTest, LinksInAWorkspaceDoNotLeadOutside) {
  for (const char* name : {"dev", "proc", "etc", "usr", "tmp", "run", "home"}) {
    std::filesystem::create_symlink(
        "/", absl::StrCat(sandbox_.workspace(), "/", name));
  }
  std::filesystem::create_symlink("/etc/shadow",
                                  sandbox_.workspace() + "/shadow");
  std::filesystem::create_symlink("/proc/1/root",
                                  sandbox_.workspace() + "/root");
  std::filesystem::create_symlink("../../../../../../../../../../../../../boot",
                                  sandbox_.workspace() + "/up");
  Create();
  for (const char* path : {"shadow", "root/", "up/", "etc/boot"}) {
    EXPECT_THAT(Shell(absl::StrCat("ls ", path, "; cat ", path)),
                HasSubstr("No such file"))
        << path;
  }
  EXPECT_THAT(Shell("echo x > usr/etc/x"), HasSubstr("Read-only file system"));
}

TEST_F(AttackTest, RefusesAWorkspaceInASystemDirectory) {
  for (const char* path :
       {"/", "/etc", "/etc/ssl", "/usr", "/proc", "/proc/self", "/sys",
        "/sys/kernel", "/dev", "/dev/shm"}) {
    sandbox::TestSandbox other;
    other.spec().set_workspace(path);
    EXPECT_THAT(other.Create(), FailsWith(sandbox::wire::Reply::WORKSPACE, _))
        << path;
  }
}

TEST_F(AttackTest, RefusesAWorkspaceBehindALinkToASystemDirectory) {
  const std::string link = sandbox_.directory() + "/link";
  std::filesystem::create_directory_symlink("/etc", link);
  for (const std::string& path :
       {link, link + "/ssl", std::string("/tmp/../etc"),
        sandbox_.directory() + "/../../etc"}) {
    sandbox::TestSandbox other;
    other.spec().set_workspace(path);
    EXPECT_THAT(other.Create(), FailsWith(sandbox::wire::Reply::WORKSPACE, _))
        << path;
  }
}

TEST_F(AttackTest, RefusesAWorkspaceThatIsNoDirectory) {
  const std::string file = sandbox_.directory() + "/file";
  const std::string fifo = sandbox_.directory() + "/fifo";
  ASSERT_EQ(::mknod(file.c_str(), S_IFREG | 0644, 0), 0);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0644), 0);
  for (const std::string& path :
       {file, fifo, sandbox_.directory() + "/none", std::string("/dev/null")}) {
    sandbox::TestSandbox other;
    other.spec().set_workspace(path);
    EXPECT_THAT(other.Create(), FailsWith(sandbox::wire::Reply::WORKSPACE, _))
        << path;
  }
}

TEST_F(AttackTest, ReadOnlyWorkspaceStaysReadOnly) {
  spec().set_workspace_read_only(true);
  Create();
  EXPECT_THAT(Shell("echo x > file"), HasSubstr("Read-only file system"));
  EXPECT_THAT(Shell("chmod 777 attack"), HasSubstr("Read-only file system"));
  EXPECT_THAT(Shell("mount -o remount,rw ."), testing::Not(HasSubstr("ok")));
  EXPECT_FALSE(std::filesystem::exists(sandbox_.workspace() + "/file"));
}

TEST_F(AttackTest, FilesOfOtherUsersStayTheirs) {
  const std::string secret = sandbox_.workspace() + "/secret";
  ASSERT_EQ(::mknod(secret.c_str(), S_IFREG | 0600, 0), 0);
  ASSERT_EQ(::chown(sandbox_.workspace().c_str(), 1234, 1234), 0);
  Create();
  EXPECT_THAT(Shell("cat secret"), HasSubstr("Permission denied"));
  EXPECT_EQ(Shell("chown 0 . 2>&1 | grep -c .; stat -c %u secret"),
            "1\n65534\n");
}

}  // namespace
}  // namespace tests

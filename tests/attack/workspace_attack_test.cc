// Workspaces that an attacker prepared.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

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

class MountAttackTest : public AttackTest {
 protected:
  MountAttackTest() {
    std::filesystem::create_directory(source_);
    std::ofstream(source_ + "/tool") << "tool\n";
  }

  void Mount(const std::string& source, const std::string& target,
             bool writable = false) {
    sandbox::wire::SandboxSpec::Mount* const mount = spec().add_mounts();
    mount->set_source(source);
    mount->set_target(target);
    mount->set_writable(writable);
  }

  const std::string source_ = sandbox_.directory() + "/lent";
};

TEST_F(MountAttackTest, ReadOnlyMountStaysReadOnly) {
  ASSERT_EQ(::chmod(source_.c_str(), 0777), 0);
  Mount(source_, "/opt/lent");
  Create();
  for (const char* attempt :
       {"echo x > /opt/lent/tool", "touch /opt/lent/new", "rm /opt/lent/tool",
        "mv /opt/lent/tool /opt/lent/other", "chmod 777 /opt/lent",
        "ln /opt/lent/tool /opt/lent/hard", "ln /opt/lent/tool tool",
        "touch -t 197001010000 /opt/lent/tool", "mount -o remount,rw /opt/lent",
        "mount -o remount,bind,rw /opt/lent",
        "mount --bind /opt/lent /tmp && touch /tmp/new", "umount /opt/lent",
        "unshare -Urm mount -o remount,bind,rw /opt/lent"}) {
    EXPECT_THAT(Shell(absl::StrCat(attempt, " 2>&1 && echo done")),
                testing::Not(HasSubstr("done")))
        << attempt;
  }
  std::ifstream tool(source_ + "/tool");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(tool), {}), "tool\n");
  EXPECT_FALSE(std::filesystem::exists(source_ + "/new"));
}

// With namespaces of its own a program is root over its copies of the mounts.
TEST_F(MountAttackTest, ReadOnlyMountStaysReadOnlyInNestedNamespaces) {
  ASSERT_EQ(::chmod(source_.c_str(), 0777), 0);
  spec().set_profile(sandbox::wire::SandboxSpec::NESTED);
  Mount(source_, "/opt/lent");
  Create();
  EXPECT_THAT(Shell("unshare -Urm sh -c 'id -u; "
                    "mount -o remount,bind,rw /opt/lent || echo refused; "
                    "umount /opt/lent || echo refused; touch /opt/lent/new'"),
              HasSubstr("0\n"));
  EXPECT_THAT(Shell("unshare -Urm sh -c '"
                    "mount -o remount,bind,rw /opt/lent || echo refused'"),
              HasSubstr("refused"));
  EXPECT_FALSE(std::filesystem::exists(source_ + "/new"));
}

TEST_F(MountAttackTest, LinksInAMountDoNotLeadOutside) {
  std::filesystem::create_symlink("/etc/shadow", source_ + "/shadow");
  std::filesystem::create_symlink("/boot", source_ + "/root");
  std::filesystem::create_symlink("../../../../../../../boot", source_ + "/up");
  Mount(source_, "/opt/lent", /*writable=*/true);
  Create();
  for (const char* path : {"shadow", "root/", "up/"}) {
    EXPECT_THAT(Shell(absl::StrCat("cat /opt/lent/", path)),
                HasSubstr("No such file"))
        << path;
  }
}

TEST_F(MountAttackTest, DevicesAndSetuidProgramsInAMountHaveNoEffect) {
  ASSERT_EQ(::mknod((source_ + "/null").c_str(), S_IFCHR | 0666, 0x103), 0);
  ASSERT_EQ(::chmod((source_ + "/null").c_str(), 0666), 0);
  std::filesystem::copy_file("/usr/bin/id", source_ + "/id");
  ASSERT_EQ(::chmod((source_ + "/id").c_str(), 04755), 0);
  Mount(source_, "/opt/lent", /*writable=*/true);
  Create();
  EXPECT_THAT(Shell("cat /opt/lent/null"), HasSubstr("Permission denied"));
  EXPECT_EQ(Shell("/opt/lent/id -u"), "1000\n");
}

TEST_F(MountAttackTest, RefusesSourcesAndTargetsOfTheSystem) {
  const std::string link = sandbox_.directory() + "/link";
  std::filesystem::create_directory_symlink("/root", link);
  const std::pair<std::string, std::string> wishes[] = {
      {link, "/opt/x"},          {link + "/.ssh", "/opt/x"},
      {"/tmp/../etc", "/opt/x"}, {"/dev", "/opt/x"},
      {"/dev/null", "/opt/x"},   {"/proc/1/root", "/opt/x"},
      {"/etc", "/opt/x"},        {source_ + "/tool", "/opt/x"},
      {source_, "/usr/bin"},     {source_, "/opt/../usr"},
      {source_, "/proc"},        {source_, "/dev/shm"},
      {source_, "/etc"},         {source_, "/"},
      {source_, "opt"}};
  for (const auto& [source, target] : wishes) {
    sandbox::TestSandbox other;
    sandbox::wire::SandboxSpec::Mount* const mount = other.spec().add_mounts();
    mount->set_source(source);
    mount->set_target(target);
    EXPECT_THAT(other.Create(), FailsWith(sandbox::wire::Reply::WORKSPACE, _))
        << source << " at " << target;
  }
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

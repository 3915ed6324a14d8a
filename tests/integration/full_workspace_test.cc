// A command that fills the disk of its workspace, beside the sandboxes of
// others.

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/v1/admin.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"

namespace tests {
namespace {

using ::corral::v1::IsolationFeature;

// Why there is no mount namespace for this test. Empty: there is one.
std::string no_namespace;

class FullWorkspaceTest : public IntegrationTest {
 protected:
  // Each test starts the server when the disk is there.
  void SetUp() override {
    if (!no_namespace.empty()) {
      GTEST_SKIP() << no_namespace;
    }
    char path[] = "/tmp/corral-disk-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    disk_ = path;
  }

  void TearDown() override {
    IntegrationTest::TearDown();
    ::umount2(disk_.c_str(), MNT_DETACH);
    ::unlink((disk_ + ".img").c_str());
    ::rmdir(disk_.c_str());
  }

  bool MountTmpfs() const {
    return ::mount("corral-test", disk_.c_str(), "tmpfs", 0,
                   "size=8m,mode=0755") == 0;
  }
  // Half of its blocks are kept for root, and by default a twentieth.
  bool MountExt4() const {
    const std::string image = disk_ + ".img";
    return ::system(absl::StrCat("exec 2>/dev/null; PATH=$PATH:/usr/sbin; ",
                                 "truncate -s 160M ", image,
                                 " && mkfs.ext4 -qF -m 50 ", image,
                                 " && mount -o loop ", image, " ", disk_)
                        .c_str()) == 0;
  }
  void PutStateOnDisk() const {
    ASSERT_EQ(::mkdir((disk_ + "/state").c_str(), 0700), 0);
    ASSERT_EQ(::symlink((disk_ + "/state").c_str(),
                        server_.state_directory().c_str()),
              0);
  }

  // Creates a sandbox with a workspace on the disk.
  std::string CreateOnDisk(const std::string& id) {
    const std::string workspace = absl::StrCat(disk_, "/", id);
    EXPECT_EQ(::mkdir(workspace.c_str(), 0755), 0);
    corral::v1::CreateSandboxRequest request;
    request.set_parent(kTenant);
    request.mutable_sandbox()->mutable_workspace()->set_path(workspace);
    return client_->CreateSandbox(request);
  }
  std::string Run(const std::string& sandbox, const std::string& script) {
    return client_->Run(sandbox, MakeCommand({"sh", "-c", script}))
        ->bytes[corral::v1::STDOUT];
  }
  // Fills the disk, also with what the file system has held back for the first
  // file.
  void Fill(const std::string& sandbox) {
    EXPECT_EQ(
        Run(sandbox, "cat /dev/zero > large; cat /dev/zero > rest; echo full"),
        "full\n");
    struct statvfs status;
    ASSERT_EQ(::statvfs(disk_.c_str(), &status), 0);
    EXPECT_LT(status.f_bavail * status.f_bsize, 1u << 20);
  }
  void ExpectServed(const std::string& sandbox) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(Run(sandbox, "echo hello"), "hello\n") << i;
    }
  }

  IsolationFeature RoomForRecords() const {
    const corral::v1::ServerInfo info = client_->GetInfo();
    for (const IsolationFeature& feature : info.isolation()) {
      if (feature.name() == "room for records") {
        return feature;
      }
    }
    return {};
  }

  std::string disk_;
};

TEST_F(FullWorkspaceTest, StopsNoCommandWhoseRecordsAreElsewhere) {
  if (!MountTmpfs()) {
    GTEST_SKIP() << "no tmpfs: " << std::strerror(errno);
  }
  IntegrationTest::SetUp();
  const std::string attacker = CreateOnDisk("attacker");
  const std::string neighbour = CreateOnDisk("neighbour");
  Fill(attacker);
  ExpectServed(CreateSandbox());
  ExpectServed(neighbour);
  ExpectServed(attacker);
}

TEST_F(FullWorkspaceTest, LeavesRecordsTheBlocksThatExt4KeepsForRoot) {
  if (!MountExt4()) {
    GTEST_SKIP() << "this host mounts no image of an ext4";
  }
  PutStateOnDisk();
  IntegrationTest::SetUp();
  EXPECT_EQ(RoomForRecords().state(), IsolationFeature::DEGRADED)
      << RoomForRecords().detail();
  const std::string attacker = CreateOnDisk("attacker");
  const std::string neighbour = CreateOnDisk("neighbour");
  Fill(attacker);
  ExpectServed(CreateSandbox());
  ExpectServed(neighbour);
}

TEST_F(FullWorkspaceTest, IsReportedWhereItWouldLeaveRecordsNoRoom) {
  if (!MountTmpfs()) {
    GTEST_SKIP() << "no tmpfs: " << std::strerror(errno);
  }
  PutStateOnDisk();
  IntegrationTest::SetUp();
  EXPECT_EQ(RoomForRecords().state(), IsolationFeature::MISSING);
}

}  // namespace
}  // namespace tests

int main(int argc, char** argv) {
  // Before threads exist: they would stay in the old namespace.
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    tests::no_namespace =
        std::string("no mount namespace of its own: ") + std::strerror(errno);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

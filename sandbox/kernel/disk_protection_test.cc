// On the real kernel, in a group of its own.

#include "sandbox/kernel/disk_protection.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/disk_speed.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class DiskProtectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    absl::StatusOr<CgroupHost> host = CgroupHost::Find();
    if (!host.ok()) {
      GTEST_SKIP() << host.status();
    }
    host_ = *std::move(host);
  }

  bool v1() const { return host_.version == CgroupVersion::kV1; }
  // The file with the limit of writes.
  std::string Limits(const std::string& directory) const {
    std::ifstream stream(
        directory + (v1() ? "/blkio.throttle.write_bps_device" : "/io.max"));
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string HandedOn() const {
    std::ifstream stream(host_.parents[0] + "/cgroup.subtree_control");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  CgroupHost host_;
};

TEST_F(DiskProtectionTest, TriesTheSpeedWithoutALastingChange) {
  const std::string before = HandedOn();
  const absl::Status tried = TryDiskSpeed(host_);
  EXPECT_EQ(HandedOn(), before);
  for (const std::string& parent :
       {host_.parents[0], v1() ? host_.blkio : std::string()}) {
    EXPECT_FALSE(std::filesystem::exists(
        absl::StrCat(parent, "/corral-probe-", ::getpid())));
  }
  if (v1()) {
    EXPECT_EQ(tried.ok(), !host_.blkio.empty() && !Disks().empty()) << tried;
  }
}

TEST_F(DiskProtectionTest, NamesWhatTheHostLacks) {
  if (Disks().empty()) {
    GTEST_SKIP() << "this host has no disk";
  }
  EXPECT_THAT(
      TryDiskSpeed({CgroupVersion::kV1, {}}),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("controller blkio")));
  // A directory without the files of a group.
  CgroupHost other = {CgroupVersion::kV1, {}};
  other.blkio = ::testing::TempDir();
  EXPECT_THAT(TryDiskSpeed(other), StatusIs(absl::StatusCode::kUnimplemented,
                                            HasSubstr("this kernel")));
  EXPECT_THAT(
      std::string(
          TryDiskSpeed({CgroupVersion::kV2, {::testing::TempDir()}}).message()),
      HasSubstr("cgroup.subtree_control"));
  absl::Status tried;
  if (!tests::WithFailingCalls({SYS_mkdir}, EROFS,
                               [&] { tried = TryDiskSpeed(other); })) {
    GTEST_SKIP() << "this host allows no filter";
  }
  EXPECT_THAT(std::string(tried.message()), HasSubstr("mkdir "));
}

// v2: the group of all commands is three levels below the one that has the
// controller.
TEST_F(DiskProtectionTest, AGroupIsLimitedAsTheTrialSays) {
  const std::string name = absl::StrCat("speed-test-", ::getpid());
  absl::StatusOr<Cgroup> top = Cgroup::Create(host_, name);
  ASSERT_THAT(top.status(), IsOk());
  absl::StatusOr<Cgroup> below = top->CreateChild("run");
  ASSERT_THAT(below.status(), IsOk());
  const Cgroup& group = v1() ? *top : *below;
  const bool expected = TryDiskSpeed(host_).ok();
  const absl::Status limited = group.LimitDiskSpeed({1 << 20, 0});
  EXPECT_EQ(limited.ok(), expected);
  if (!limited.ok()) {
    GTEST_SKIP() << limited;
  }
  const std::string directory =
      v1() ? absl::StrCat(host_.blkio, "/corral/", name)
           : below->Directories()[0];
  for (const std::string& disk : Disks()) {
    EXPECT_THAT(Limits(directory),
                HasSubstr(absl::StrCat(
                    disk, v1() ? " 1048576" : " rbps=1048576 wbps=1048576 ")));
  }
  EXPECT_THAT(group.LimitDiskSpeed({}), IsOk());
  EXPECT_EQ(Limits(directory), "");
}

TEST_F(DiskProtectionTest, ADiskThatHasGoneIsLeftOut) {
  if (!v1() || !TryDiskSpeed(host_).ok()) {
    GTEST_SKIP() << "only for cgroup v1, whose groups need nothing above them";
  }
  const std::string name = absl::StrCat("gone-test-", ::getpid());
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name);
  ASSERT_THAT(group.status(), IsOk());
  const std::string directory = absl::StrCat(host_.blkio, "/corral/", name);
  // No device has this number.
  std::vector<std::string> disks = {"511:7"};
  EXPECT_FALSE(SetDiskSpeed(host_.version, directory, disks, {4096, 0}).ok());
  disks.push_back(Disks()[0]);
  EXPECT_THAT(SetDiskSpeed(host_.version, directory, disks, {4096, 0}), IsOk());
  EXPECT_EQ(Limits(directory), absl::StrCat(disks[1], " 4096\n"));
}

TEST(LimitDiskSpeedTest, EndsForWhatIsLeftOver) {
  if (Disks().empty()) {
    GTEST_SKIP() << "this host has no disk";
  }
  const std::string root = ::testing::TempDir() + "/left-over";
  const std::string run = root + "/corral/box/run";
  std::filesystem::create_directories(run);
  std::ofstream(run + "/io.max") << "";
  // Files are in the way of a removal only here.
  EXPECT_FALSE(
      Cgroup::RemoveLeftOver({CgroupVersion::kV2, {root}}, "box").ok());
  std::ifstream file(run + "/io.max");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}),
              HasSubstr("rbps=max wbps=max riops=max wiops=max"));
  std::filesystem::remove_all(root);
}

TEST(LimitDiskSpeedTest, NeedsAGroup) {
  EXPECT_THAT(
      Cgroup().LimitDiskSpeed({}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no group")));
}

}  // namespace
}  // namespace sandbox

// Plays the files of control groups in a directory.

#include "sandbox/kernel/disk_speed.h"

#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

constexpr char kThrottle[] = "blkio.throttle.";

class DiskSpeedTest : public ::testing::Test {
 protected:
  DiskSpeedTest() {
    std::string path = ::testing::TempDir() + "/speedXXXXXX";
    directory_ = ::mkdtemp(path.data());
  }
  ~DiskSpeedTest() override { std::filesystem::remove_all(directory_); }

  // Makes an empty file.
  void Put(const std::string& file) const {
    std::filesystem::create_directories(
        std::filesystem::path(directory_ + "/" + file).parent_path());
    std::ofstream(directory_ + "/" + file) << "";
  }
  std::string Get(const std::string& file) const {
    std::ifstream stream(directory_ + "/" + file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void PutThrottles() const {
    for (const char* file : {"read_bps_device", "write_bps_device",
                             "read_iops_device", "write_iops_device"}) {
      Put(absl::StrCat(kThrottle, file));
    }
  }
  absl::Status Set(CgroupVersion version, const DiskSpeed& speed) const {
    return SetDiskSpeed(version, directory_, {"8:0"}, speed);
  }

  std::string directory_;
};

TEST_F(DiskSpeedTest, IsLimitedByEitherField) {
  EXPECT_FALSE(DiskSpeed().limited());
  EXPECT_TRUE((DiskSpeed{1, 0}.limited()));
  EXPECT_TRUE((DiskSpeed{0, 1}.limited()));
}

TEST_F(DiskSpeedTest, NamesDisksByTheirNumbers) {
  EXPECT_THAT(Disks(), Each(ContainsRegex("^[0-9]+:[0-9]+$")));
}

TEST_F(DiskSpeedTest, LimitsReadsAndWritesAlikeWithV2) {
  Put("io.max");
  EXPECT_THAT(Set(CgroupVersion::kV2, {1048576, 100}), IsOk());
  EXPECT_EQ(Get("io.max"), "8:0 rbps=1048576 wbps=1048576 riops=100 wiops=100");
}

TEST_F(DiskSpeedTest, LimitsNothingWhereTheFieldIsZero) {
  Put("io.max");
  EXPECT_THAT(Set(CgroupVersion::kV2, {0, 100}), IsOk());
  EXPECT_EQ(Get("io.max"), "8:0 rbps=max wbps=max riops=100 wiops=100");
}

TEST_F(DiskSpeedTest, LimitsReadsAndWritesAlikeWithV1) {
  PutThrottles();
  EXPECT_THAT(Set(CgroupVersion::kV1, {1048576, 0}), IsOk());
  EXPECT_EQ(Get("blkio.throttle.read_bps_device"), "8:0 1048576");
  EXPECT_EQ(Get("blkio.throttle.write_bps_device"), "8:0 1048576");
  EXPECT_EQ(Get("blkio.throttle.read_iops_device"), "8:0 0");
  EXPECT_EQ(Get("blkio.throttle.write_iops_device"), "8:0 0");
}

TEST_F(DiskSpeedTest, ReportsAGroupThatHasNone) {
  EXPECT_FALSE(HasDiskSpeed(CgroupVersion::kV2, directory_));
  EXPECT_THAT(
      Set(CgroupVersion::kV2, {1048576, 0}),
      FailsWith(wire::Reply::ISOLATION, HasSubstr(directory_ + " has no")));
  Put("io.max");
  EXPECT_TRUE(HasDiskSpeed(CgroupVersion::kV2, directory_));
  EXPECT_FALSE(HasDiskSpeed(CgroupVersion::kV1, directory_));
  Put("blkio.throttle.read_bps_device");
  EXPECT_TRUE(HasDiskSpeed(CgroupVersion::kV1, directory_));
}

TEST_F(DiskSpeedTest, FailsWhenNoDiskIsLimited) {
  Put("io.max");
  EXPECT_THAT(SetDiskSpeed(CgroupVersion::kV2, directory_, {}, {1048576, 0}),
              FailsWith(wire::Reply::ISOLATION, HasSubstr("no disk")));
  absl::Status set;
  const auto refused = [this, &set](int error) {
    return tests::WithFailingCalls({SYS_write}, error, [this, &set] {
      set = Set(CgroupVersion::kV2, {1048576, 0});
    });
  };
  if (!refused(ENODEV)) {
    GTEST_SKIP() << "this host allows no filter";
  }
  EXPECT_THAT(set, FailsWith(wire::Reply::ISOLATION, HasSubstr("no disk")));
  ASSERT_TRUE(refused(EINVAL));
  EXPECT_THAT(std::string(set.message()), HasSubstr("io.max"));
}

TEST_F(DiskSpeedTest, LimitsEachDisk) {
  PutThrottles();
  const std::vector<std::string> disks = {"8:0", "8:16"};
  // A file of the kernel has a line for each; this one has the last text.
  EXPECT_THAT(SetDiskSpeed(CgroupVersion::kV1, directory_, disks, {4096, 0}),
              IsOk());
  EXPECT_EQ(Get("blkio.throttle.read_bps_device"), "8:16 4096");
}

TEST_F(DiskSpeedTest, HandsTheControllerOnFromTheTop) {
  const std::string run = directory_ + "/corral/sandbox-1/run";
  Put("cgroup.subtree_control");
  Put("corral/cgroup.subtree_control");
  Put("corral/sandbox-1/cgroup.subtree_control");
  Put("corral/sandbox-1/run/cgroup.subtree_control");
  EXPECT_THAT(HandOnDiskSpeed(run), IsOk());
  EXPECT_EQ(Get("cgroup.subtree_control"), "+io");
  EXPECT_EQ(Get("corral/cgroup.subtree_control"), "+io");
  EXPECT_EQ(Get("corral/sandbox-1/cgroup.subtree_control"), "+io");
  EXPECT_EQ(Get("corral/sandbox-1/run/cgroup.subtree_control"), "");
}

TEST_F(DiskSpeedTest, ReportsAHostThatLacksTheController) {
  const std::string run = directory_ + "/corral/sandbox-1/run";
  Put("corral/sandbox-1/run/io.max");
  EXPECT_THAT(
      HandOnDiskSpeed(run),
      FailsWith(wire::Reply::ISOLATION,
                HasSubstr("the cgroup controller io is not handed on")));
}

}  // namespace
}  // namespace sandbox

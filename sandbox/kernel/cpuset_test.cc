// Plays the files of the hierarchy cpuset in a directory.

#include "sandbox/kernel/cpuset.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;

class CpusetTest : public ::testing::Test {
 protected:
  CpusetTest() {
    std::string path = ::testing::TempDir() + "/cpusetXXXXXX";
    root_ = ::mkdtemp(path.data());
    std::filesystem::create_directory(root_ + "/corral");
    Put("cpuset.cpus", "0-3\n");
    Put("cpuset.mems", "0\n");
  }
  ~CpusetTest() override { std::filesystem::remove_all(root_); }

  void Put(const std::string& file, const std::string& text) const {
    std::ofstream(root_ + "/" + file) << text;
  }
  std::string Get(const std::string& file) const {
    std::ifstream stream(root_ + "/" + file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // Makes the files of a new group.
  void PutGroup() const {
    Put("corral/cpuset.cpus", "\n");
    Put("corral/cpuset.mems", "\n");
    Put("corral/cgroup.clone_children", "0");
  }
  absl::Status Inherit() const { return InheritCpus(root_ + "/corral"); }

  std::string root_;
};

TEST_F(CpusetTest, GivesANewGroupWhatItsParentHas) {
  PutGroup();
  EXPECT_THAT(Inherit(), IsOk());
  EXPECT_EQ(Get("corral/cpuset.cpus"), "0-3");
  EXPECT_EQ(Get("corral/cpuset.mems"), "0");
  EXPECT_EQ(Get("corral/cgroup.clone_children"), "1");
}

TEST_F(CpusetTest, LeavesTheCpusThatAnOperatorHasSet) {
  PutGroup();
  Put("corral/cpuset.cpus", "2\n");
  EXPECT_THAT(Inherit(), IsOk());
  EXPECT_EQ(Get("corral/cpuset.cpus"), "2\n");
  EXPECT_EQ(Get("corral/cpuset.mems"), "0");
  EXPECT_EQ(Get("corral/cgroup.clone_children"), "1");
}

TEST_F(CpusetTest, DoesNothingInAnotherHierarchy) {
  Put("corral/cgroup.clone_children", "0");
  EXPECT_THAT(Inherit(), IsOk());
  EXPECT_EQ(Get("corral/cgroup.clone_children"), "0");
}

TEST_F(CpusetTest, NamesTheFileThatItCannotReadOrWrite) {
  PutGroup();
  std::filesystem::remove(root_ + "/cpuset.mems");
  EXPECT_THAT(std::string(Inherit().message()),
              HasSubstr("corral/../cpuset.mems"));
  Put("cpuset.mems", "0\n");
  std::filesystem::remove(root_ + "/corral/cgroup.clone_children");
  EXPECT_THAT(std::string(Inherit().message()),
              HasSubstr("corral/cgroup.clone_children"));
}

}  // namespace
}  // namespace sandbox

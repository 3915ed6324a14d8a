// Lends directories that have the files of cgroup v1 or v2, and the groups of
// this host.

#include "sandbox/kernel/cgroup_view.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/mounts.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::tests::IsOk;
using ::tests::StatusIs;

class CgroupViewTest : public ::testing::Test {
 protected:
  CgroupViewTest() {
    std::string path = ::testing::TempDir() + "/viewXXXXXX";
    root_ = ::mkdtemp(path.data());
  }
  ~CgroupViewTest() override { std::filesystem::remove_all(root_); }

  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }

  // Makes a directory with these files.
  std::string Make(const std::string& name,
                   const std::vector<std::string>& files) const {
    std::string directory = absl::StrCat(root_, "/", name);
    std::filesystem::create_directory(directory);
    for (const std::string& file : files) {
      std::ofstream(absl::StrCat(directory, "/", file)) << name;
    }
    return directory;
  }
  static std::vector<std::string> Places(const HostTrees& host) {
    std::vector<std::string> places;
    for (const HostTree& tree : host.trees) {
      EXPECT_TRUE(tree.directory);
      places.push_back(tree.target);
    }
    return places;
  }

  std::string root_;
};

TEST_F(CgroupViewTest, ShowsTheOneHierarchyOfV2) {
  HostTrees host;
  ASSERT_THAT(
      LendCgroups(CgroupVersion::kV2, {Make("v2", {"memory.max"})}, host),
      IsOk());
  EXPECT_THAT(Places(host), ElementsAre("/sys/fs/cgroup"));
  EXPECT_THAT(host.links, IsEmpty());
}

TEST_F(CgroupViewTest, NamesTheHierarchiesOfV1ByTheirControllers) {
  HostTrees host;
  ASSERT_THAT(LendCgroups(CgroupVersion::kV1,
                          {Make("a", {"memory.limit_in_bytes"}),
                           Make("b", {"pids.max"}),
                           Make("c", {"cpuacct.usage", "cpu.shares"}),
                           Make("d", {"cpuset.cpus"}), Make("e", {"tasks"})},
                          host),
              IsOk());
  EXPECT_THAT(
      Places(host),
      ElementsAre("/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids",
                  "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpuset"));
  EXPECT_THAT(host.links,
              ElementsAre(Pair("sys/fs/cgroup/cpu", "cpu,cpuacct"),
                          Pair("sys/fs/cgroup/cpuacct", "cpu,cpuacct")));
}

TEST_F(CgroupViewTest, CannotBeWritten) {
  HostTrees host;
  const std::string directory = Make("v2", {"memory.max"});
  ASSERT_THAT(LendCgroups(CgroupVersion::kV2, {directory}, host), IsOk());
  const int tree = host.trees[0].tree.get();
  EXPECT_TRUE(
      UniqueFd(::openat(tree, "memory.max", O_RDONLY | O_CLOEXEC)).valid());
  EXPECT_LT(::openat(tree, "memory.max", O_WRONLY | O_CLOEXEC), 0);
  EXPECT_EQ(errno, EROFS);
  EXPECT_LT(::mkdirat(tree, "group", 0755), 0);
  EXPECT_EQ(errno, EROFS);
  // The host's own mount is as it was.
  EXPECT_TRUE(UniqueFd(::open((directory + "/memory.max").c_str(),
                              O_WRONLY | O_CLOEXEC))
                  .valid());
}

TEST_F(CgroupViewTest, NamesTheDirectoryThatIsMissing) {
  HostTrees host;
  EXPECT_THAT(LendCgroups(CgroupVersion::kV2, {root_ + "/none"}, host),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
}

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A JVM looks for its limits only if it finds its group in cpuset, too.
TEST_F(CgroupViewTest, HasAGroupInTheHierarchyOfCpuset) {
  const absl::StatusOr<CgroupHost> found = CgroupHost::Find();
  if (!found.ok() || found->cpuset.empty()) {
    GTEST_SKIP() << "this host has no cpuset of v1";
  }
  const std::string name = absl::StrCat("view-test-", ::getpid());
  absl::StatusOr<Cgroup> group = Cgroup::Create(*found, name);
  ASSERT_THAT(group.status(), IsOk());
  const std::string cpuset = group->Directories().back();
  EXPECT_EQ(ReadAll(cpuset + "/cpuset.cpus"),
            ReadAll(found->cpuset + "/cpuset.cpus"));
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(group->Enter().ok() && ::raise(SIGSTOP) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(ReadAll(cpuset + "/cgroup.procs"), absl::StrCat(child, "\n"));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  {
    const absl::StatusOr<Cgroup> below = group->CreateChild("run");
    ASSERT_THAT(below.status(), IsOk());
    EXPECT_FALSE(std::filesystem::exists(cpuset + "/run"));
  }
  EXPECT_EQ(Cgroup::List(*found).count(name), 1u);
  EXPECT_THAT(group->Remove(), IsOk());
  EXPECT_FALSE(std::filesystem::exists(cpuset));
}

}  // namespace
}  // namespace sandbox

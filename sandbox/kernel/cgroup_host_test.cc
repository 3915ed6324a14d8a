// Plays /proc/self and the hierarchies of other hosts, since a host has one
// version only.

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::FailsWith;
using ::tests::IsOk;

constexpr char kAll[] = "cpuset cpu io memory pids\n";

class CgroupHostTest : public ::testing::Test {
 protected:
  CgroupHostTest() {
    std::string path = ::testing::TempDir() + "/hostXXXXXX";
    root_ = ::mkdtemp(path.data());
  }
  ~CgroupHostTest() override { std::filesystem::remove_all(root_); }

  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }

  // Calls `function` on a host whose /proc/self has these files.
  static void On(const std::string& mountinfo, const std::string& cgroup,
                 const std::function<void()>& function) {
    // The thread has mounts of its own.
    std::thread([&] {
      ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
      ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr),
                0);
      ASSERT_EQ(::mount("tmpfs", "/proc", "tmpfs", 0, nullptr), 0);
      ASSERT_EQ(::mkdir("/proc/self", 0755), 0);
      std::ofstream("/proc/self/mountinfo") << mountinfo;
      std::ofstream("/proc/self/cgroup") << cgroup;
      function();
    }).join();
  }
  // Calls Find() there.
  static absl::StatusOr<CgroupHost> Find(const std::string& mountinfo,
                                         const std::string& cgroup) {
    absl::StatusOr<CgroupHost> host;
    On(mountinfo, cgroup, [&host] { host = CgroupHost::Find(); });
    return host;
  }
  // A line of mountinfo. `group` is the one that the mount shows.
  std::string Mount(const std::string& group, const std::string& place,
                    const std::string& type, const std::string& options) const {
    return absl::StrCat("30 20 0:26 ", group, " ", root_, "/", place,
                        " rw,nosuid shared:9 - ", type, " ", type, " ", options,
                        "\n");
  }
  std::string Path(const std::string& group) const {
    return absl::StrCat(root_, "/", group);
  }
  // Makes a group of v2 with its files.
  void Make(const std::string& group, const std::string& controllers,
            const std::string& handed_on) const {
    std::filesystem::create_directories(Path(group));
    std::ofstream(Path(group) + "/cgroup.controllers") << controllers;
    std::ofstream(Path(group) + "/cgroup.subtree_control") << handed_on;
  }
  std::string HandedOn(const std::string& group) const {
    std::ifstream stream(Path(group) + "/cgroup.subtree_control");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string root_;
};

TEST_F(CgroupHostTest, FindsItsOwnGroupOfV2) {
  Make("v2", kAll, "");
  Make("v2/mine", kAll, "memory pids\n");
  const absl::StatusOr<CgroupHost> host =
      Find("a line that is no mount\n30 20 0:26 / /cut rw - cgroup2\n" +
               Mount("/", "v2", "cgroup2", "rw") +
               Mount("/", "later", "cgroup2", "rw"),
           "0::/mine\n");
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_EQ(host->version, CgroupVersion::kV2);
  EXPECT_THAT(host->parents, ElementsAre(Path("v2/mine")));
  EXPECT_EQ(host->own, Path("v2/mine"));
  // It hands on what it has not handed on yet.
  EXPECT_THAT(HandedOn("v2/mine"), StartsWith("+cpu"));
  EXPECT_EQ(HandedOn("v2"), "");
}

TEST_F(CgroupHostTest, LeavesAGroupThatHandsAllOn) {
  Make("v2", kAll, kAll);
  const absl::StatusOr<CgroupHost> host =
      Find(Mount("/", "v2", "cgroup2", "rw"), "0::/\n");
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_THAT(host->parents, ElementsAre(Path("v2")));
  EXPECT_EQ(HandedOn("v2"), kAll);
}

TEST_F(CgroupHostTest, FindsItsGroupBelowTheOneThatAContainerSees) {
  Make("v2", kAll, kAll);
  Make("v2/inner", kAll, kAll);
  const absl::StatusOr<CgroupHost> host =
      Find(Mount("/box/7", "v2", "cgroup2", "rw"), "0::/box/7/inner\n");
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_THAT(host->parents, ElementsAre(Path("v2/inner")));
}

TEST_F(CgroupHostTest, TakesTheRootWhenItsOwnGroupHandsNothingOn) {
  Make("v2", kAll, kAll);
  Make("v2/session", kAll, "");
  // The kernel refuses it in a group with processes.
  std::filesystem::remove(Path("v2/session/cgroup.subtree_control"));
  const absl::StatusOr<CgroupHost> host =
      Find(Mount("/", "v2", "cgroup2", "rw"), "0::/session\n");
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_THAT(host->parents, ElementsAre(Path("v2")));
  EXPECT_EQ(host->own, Path("v2/session"));
}

TEST_F(CgroupHostTest, TakesAGroupBetweenTheRootAndItsOwn) {
  Make("v2", "memory\n", "");
  Make("v2/user", kAll, kAll);
  Make("v2/user/app", kAll, kAll);
  Make("v2/user/app/scope", kAll, "");
  std::filesystem::remove(Path("v2/user/app/scope/cgroup.subtree_control"));
  const std::string mount = Mount("/", "v2", "cgroup2", "rw");
  absl::StatusOr<CgroupHost> host = Find(mount, "0::/user/app/scope\n");
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_THAT(host->parents, ElementsAre(Path("v2/user/app")));
  std::filesystem::remove(Path("v2/user/app/cgroup.controllers"));
  host = Find(mount, "0::/user/app/scope\n");
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_THAT(host->parents, ElementsAre(Path("v2/user")));
}

TEST_F(CgroupHostTest, TakesNoGroupThatIsReadOnly) {
  Make("v2", kAll, kAll);
  std::filesystem::create_directory(Path("memory"));
  const auto find = [this](const std::string& mountinfo) {
    absl::Status found;
    On(mountinfo, "0::/\n", [&] {
      ASSERT_EQ(
          ::mount(root_.c_str(), root_.c_str(), nullptr, MS_BIND, nullptr), 0);
      ASSERT_EQ(::mount(nullptr, root_.c_str(), nullptr,
                        MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr),
                0);
      found = CgroupHost::Find().status();
    });
    return found;
  };
  EXPECT_THAT(find(Mount("/", "v2", "cgroup2", "rw")),
              FailsWith(wire::Reply::ISOLATION,
                        HasSubstr("cannot write to " + Path("v2"))));
  EXPECT_THAT(find(Mount("/", "memory", "cgroup", "rw,memory")),
              FailsWith(wire::Reply::ISOLATION,
                        HasSubstr("cannot write to " + Path("memory"))));
}

TEST_F(CgroupHostTest, MakesRoomInAGroupWithoutOtherProcesses) {
  Make("v2", "memory\n", "");
  Make("v2/mine", kAll, "");
  std::filesystem::remove(Path("v2/mine/cgroup.subtree_control"));
  std::filesystem::create_directory(Path("v2/mine/corrald"));
  const std::string entered = Path("v2/mine/corrald/cgroup.procs");
  const auto make_room = [&](const std::string& members) {
    std::ofstream(Path("v2/mine/cgroup.procs")) << members;
    std::ofstream(entered) << "";
    On(Mount("/", "v2", "cgroup2", "rw"), "0::/mine\n", &CgroupHost::MakeRoom);
    std::ifstream stream(entered);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::string pid = absl::StrCat(::getpid());
  EXPECT_EQ(make_room(pid + "\n"), pid);
  EXPECT_EQ(make_room("1\n" + pid + "\n"), "");
  EXPECT_EQ(make_room(""), "");
  // It hands controllers on already.
  std::ofstream(Path("v2/mine/cgroup.subtree_control")) << kAll;
  EXPECT_EQ(make_room(pid + "\n"), "");
}

TEST_F(CgroupHostTest, NamesTheControllerThatV2Lacks) {
  Make("v2", "memory cpuset cpu\n", "");
  EXPECT_THAT(Find(Mount("/", "v2", "cgroup2", "rw"), "0::/\n").status(),
              FailsWith(wire::Reply::ISOLATION,
                        HasSubstr(Path("v2/cgroup.controllers lacks pids"))));
}

TEST_F(CgroupHostTest, FindsEachHierarchyOfV1Once) {
  // A v2 without controllers stands beside them.
  Make("v2", "", "");
  const absl::StatusOr<CgroupHost> host =
      Find(Mount("/", "v2", "cgroup2", "rw") +
               Mount("/", "cpu", "cgroup", "rw,cpu,cpuacct") +
               Mount("/", "pids", "cgroup", "rw,pids") +
               Mount("/", "memory", "cgroup", "rw,memory"),
           "4:cpu,cpuacct:/a\n3:pids:/\n2:memory:/b/c\n0::/d\n");
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_EQ(host->version, CgroupVersion::kV1);
  EXPECT_THAT(host->parents,
              ElementsAre(Path("memory/b/c"), Path("pids"), Path("cpu/a")));
}

TEST_F(CgroupHostTest, FindsTheCpusetOfV1WhereGroupsCanBeMade) {
  const std::string required = Mount("/", "memory", "cgroup", "rw,memory") +
                               Mount("/", "cpu", "cgroup", "rw,cpu") +
                               Mount("/", "pids", "cgroup", "rw,pids");
  const std::string all = required + Mount("/", "set", "cgroup", "rw,cpuset");
  EXPECT_EQ(Find(required, "5:cpuset:/a\n")->cpuset, "") << "not mounted";
  EXPECT_EQ(Find(all, "5:cpuset:/a\n")->cpuset, "") << "nothing is there";
  std::filesystem::create_directories(Path("set/a"));
  EXPECT_EQ(Find(all, "5:cpuset:/a\n")->cpuset, Path("set/a"));
}

TEST_F(CgroupHostTest, FindsTheBlkioOfV1InAHierarchyThatCommandsDoNotEnter) {
  const std::string required = Mount("/", "memory", "cgroup", "rw,memory") +
                               Mount("/", "pids", "cgroup", "rw,pids");
  const std::string cpu = Mount("/", "cpu", "cgroup", "rw,cpu");
  const std::string apart = Mount("/", "disk", "cgroup", "rw,blkio");
  EXPECT_EQ(Find(required + cpu + apart, "5:blkio:/a\n")->blkio, "")
      << "nothing is there";
  std::filesystem::create_directories(Path("disk/a"));
  EXPECT_EQ(Find(required + cpu + apart, "5:blkio:/a\n")->blkio,
            Path("disk/a"));
  const std::string together = Mount("/", "cpu", "cgroup", "rw,cpu,blkio");
  std::filesystem::create_directories(Path("cpu/a"));
  EXPECT_EQ(Find(required + together, "5:cpu,blkio:/a\n")->blkio, "");
}

TEST_F(CgroupHostTest, NeedsAllHierarchiesOfV1ButTheOneThatCountsTime) {
  const std::string most = Mount("/", "memory", "cgroup", "rw,memory") +
                           Mount("/", "cpu", "cgroup", "rw,cpu");
  const absl::StatusOr<CgroupHost> host =
      Find(most + Mount("/", "pids", "cgroup", "rw,pids"), "");
  ASSERT_THAT(host.status(), IsOk());
  EXPECT_THAT(host->parents,
              ElementsAre(Path("memory"), Path("pids"), Path("cpu")));
  EXPECT_THAT(Find(most, "").status(),
              FailsWith(wire::Reply::ISOLATION,
                        "the cgroup controller pids is not mounted"));
}

}  // namespace
}  // namespace sandbox

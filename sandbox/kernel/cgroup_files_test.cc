// Plays the files of a cgroup v2 hierarchy in a directory, since a host has one
// version only.

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class CgroupFilesTest : public ::testing::Test {
 protected:
  CgroupFilesTest() {
    std::string path = ::testing::TempDir() + "/cgroupXXXXXX";
    root_ = ::mkdtemp(path.data());
    std::filesystem::create_directory(root_ + "/corral");
    Put("../cgroup.subtree_control", "");
    group_ = *Cgroup::Create({CgroupVersion::kV2, {root_}}, "box");
  }
  ~CgroupFilesTest() override { std::filesystem::remove_all(root_); }

  std::string Path(const std::string& file) const {
    return file.find("../") == 0 ? root_ + "/corral/" + file.substr(3)
                                 : root_ + "/corral/box/" + file;
  }
  void Put(const std::string& file, const std::string& text) {
    std::ofstream(Path(file)) << text;
  }
  std::string Get(const std::string& file) {
    std::ifstream stream(Path(file));
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // A child that waits, in a process group of its own.
  static pid_t StartChild() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    ::setpgid(child, child);
    return child;
  }
  static int End(pid_t child) {
    ::kill(child, SIGUSR1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  void PutCounters(uint64_t peak, int oom_kills, int user, int system) {
    Put("memory.peak", absl::StrCat(peak, "\n"));
    Put("memory.events",
        absl::StrCat("low 7\noom 8\noom_kill ", oom_kills, "\n"));
    Put("cpu.stat", absl::StrCat("usage_usec ", user + system, "\nuser_usec ",
                                 user, "\nsystem_usec ", system, "\n"));
  }

  std::string root_;
  Cgroup group_;
};

TEST_F(CgroupFilesTest, HandsControllersOn) {
  EXPECT_EQ(Get("../cgroup.subtree_control"), "+memory +pids +cpu");
  Put("cgroup.subtree_control", "");
  EXPECT_THAT(group_.HandOn(), IsOk());
  EXPECT_EQ(Get("cgroup.subtree_control"), "+memory +pids +cpu");
}

TEST_F(CgroupFilesTest, LimitsAllGroupsTogether) {
  Put("../pids.max", "max\n");
  EXPECT_THAT(Cgroup::Create({CgroupVersion::kV2, {root_}}, "next").status(),
              IsOk());
  EXPECT_NE(Get("../pids.max"), "max\n");
}

TEST_F(CgroupFilesTest, IsNotMadeWhereItsParentRefusesIt) {
  const auto failure = [](CgroupVersion version, const std::string& parent,
                          const std::string& name) {
    return std::string(
        Cgroup::Create({version, {parent}}, name).status().message());
  };
  EXPECT_THAT(failure(CgroupVersion::kV2, root_ + "/none", "next"),
              HasSubstr("mkdir " + root_ + "/none/corral"));
  // It holds a file, so that the kernel does not remove it.
  std::filesystem::create_directories(root_ + "/corral/old/below");
  std::ofstream(root_ + "/corral/old/below/file") << "x";
  EXPECT_THAT(failure(CgroupVersion::kV2, root_, "old"),
              HasSubstr("rmdir " + root_ + "/corral/old/below"));
  EXPECT_THAT(failure(CgroupVersion::kV1, root_, "next"),
              HasSubstr("open " + root_ + "/corral/next/tasks"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/corral/next"));
  ::unlink(Path("../cgroup.subtree_control").c_str());
  EXPECT_THAT(failure(CgroupVersion::kV2, root_, "next"),
              HasSubstr("corral/cgroup.subtree_control"));
}

TEST_F(CgroupFilesTest, IsNotMadeWithoutALimitOfAllGroups) {
  Put("../memory.max", "max\n");
  absl::Status made;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_write}, EIO, [&] {
    made = Cgroup::Create({CgroupVersion::kV1, {root_}}, "next").status();
  }));
  EXPECT_THAT(std::string(made.message()), HasSubstr("corral/memory.max"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/corral/next"));
}

TEST_F(CgroupFilesTest, GoesWithItsOwner) {
  {
    const absl::StatusOr<Cgroup> next =
        Cgroup::Create({CgroupVersion::kV2, {root_}}, "next");
    EXPECT_TRUE(std::filesystem::exists(root_ + "/corral/next"));
  }
  EXPECT_FALSE(std::filesystem::exists(root_ + "/corral/next"));
}

TEST_F(CgroupFilesTest, IsRemovedFromTheHierarchiesThatStillHaveIt) {
  const std::string other = root_ + "/other";
  std::filesystem::create_directories(other + "/corral");
  std::ofstream(other + "/corral/cgroup.subtree_control") << "";
  absl::StatusOr<Cgroup> both =
      Cgroup::Create({CgroupVersion::kV2, {root_, other}}, "both");
  ASSERT_THAT(both.status(), IsOk());
  std::filesystem::create_directory(other + "/corral/both/below");
  Cgroup moved;
  EXPECT_THAT(both->Remove(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("other/corral/both")));
  moved = *std::move(both);
  EXPECT_TRUE(moved.valid());
  EXPECT_THAT(moved.Recycle(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("no group")));
  std::filesystem::remove(other + "/corral/both/below");
  EXPECT_THAT(moved.Remove(), IsOk());
  EXPECT_FALSE(moved.valid());
  EXPECT_FALSE(std::filesystem::exists(other + "/corral/both"));
}

TEST_F(CgroupFilesTest, SetsTheLimitsThatAreGiven) {
  for (const char* file :
       {"memory.max", "memory.swap.max", "pids.max", "cpu.max"}) {
    Put(file, "");
  }
  EXPECT_THAT(group_.SetLimits({}), IsOk());
  EXPECT_EQ(Get("memory.max") + Get("memory.swap.max") + Get("pids.max") +
                Get("cpu.max"),
            "");
  CgroupLimits limits;
  limits.memory_bytes = 4096;
  limits.pids = 7;
  limits.cpu_millis = 1500;
  EXPECT_THAT(group_.SetLimits(limits), IsOk());
  EXPECT_EQ(Get("memory.max"), "4096");
  EXPECT_EQ(Get("memory.swap.max"), "0");
  EXPECT_EQ(Get("pids.max"), "7");
  EXPECT_EQ(Get("cpu.max"), "150000 100000");
  ::unlink(Path("memory.swap.max").c_str());
  EXPECT_THAT(group_.SetLimits(limits), IsOk()) << "a kernel without swap";
  limits.kill_all_on_oom = true;
  EXPECT_FALSE(group_.SetLimits(limits).ok());
  Put("memory.oom.group", "0");
  EXPECT_THAT(group_.SetLimits(limits), IsOk());
  EXPECT_EQ(Get("memory.oom.group"), "1");
}

TEST_F(CgroupFilesTest, ReportsALimitThatCannotBeSet) {
  CgroupLimits limits;
  limits.memory_bytes = 4096;
  limits.pids = 7;
  limits.cpu_millis = 1500;
  EXPECT_THAT(std::string(group_.SetLimits(limits).message()),
              HasSubstr("memory.max"));
  Put("memory.max", "");
  std::filesystem::create_directory(Path("memory.swap.max"));
  EXPECT_THAT(std::string(group_.SetLimits(limits).message()),
              HasSubstr("memory.swap.max"));
  std::filesystem::remove(Path("memory.swap.max"));
  EXPECT_THAT(std::string(group_.SetLimits(limits).message()),
              HasSubstr("pids.max"));
  Put("pids.max", "");
  EXPECT_THAT(std::string(group_.SetLimits(limits).message()),
              HasSubstr("cpu.max"));
}

TEST_F(CgroupFilesTest, LetsAUserMoveProcessesIn) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  EXPECT_FALSE(group_.Delegate(1234).ok());
  Put("cgroup.procs", "");
  EXPECT_THAT(group_.Delegate(1234), IsOk());
  struct stat status;
  ASSERT_EQ(::stat(Path("cgroup.procs").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 0u);
}

TEST_F(CgroupFilesTest, TakesAProcessFromOutside) {
  Put("cgroup.procs", "");
  EXPECT_THAT(group_.Enter(), IsOk());
  EXPECT_EQ(Get("cgroup.procs"), "");
  EXPECT_THAT(group_.Take(12), IsOk());
  EXPECT_EQ(Get("cgroup.procs"), "12");
}

TEST_F(CgroupFilesTest, ReadsItsProcesses) {
  EXPECT_TRUE(group_.Pids().empty());
  Put("cgroup.procs", "12\nx\n34\n");
  EXPECT_THAT(group_.Pids(), ElementsAre(12, 34));
}

TEST_F(CgroupFilesTest, KillsByTheKernel) {
  Put("cgroup.kill", "");
  EXPECT_TRUE(group_.Kill());
  EXPECT_EQ(Get("cgroup.kill"), "") << "nothing is there to kill";
  const pid_t child = StartChild();
  Put("cgroup.procs", absl::StrCat(child, "\n"));
  EXPECT_FALSE(group_.Kill());
  EXPECT_EQ(Get("cgroup.kill"), "1");
  EXPECT_EQ(End(child), SIGUSR1) << "the kernel would have killed it";
}

TEST_F(CgroupFilesTest, KillsOneByOneOnAKernelThatCannotKillAGroup) {
  Put("pids.max", "");
  const pid_t child = StartChild();
  Put("cgroup.procs", absl::StrCat(child, "\n"));
  EXPECT_FALSE(group_.Kill());
  EXPECT_EQ(Get("pids.max"), "0");
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, SIGKILL);
}

TEST_F(CgroupFilesTest, SignalsAProcessGroupAlone) {
  const pid_t one = StartChild();
  const pid_t other = StartChild();
  Put("cgroup.procs", absl::StrCat(one, "\n", other, "\n"));
  // The kernel delivers the pending signal with the lowest number first.
  group_.SignalProcessGroup(SIGHUP, one);
  EXPECT_EQ(End(one), SIGHUP);
  EXPECT_EQ(End(other), SIGUSR1);
}

TEST_F(CgroupFilesTest, CountsWhatItsProcessesUse) {
  EXPECT_THAT(group_.CpuTime().status(),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("CPU time")));
  PutCounters(4096, 1, 10, 20);
  const CgroupUsage usage = group_.Usage();
  EXPECT_EQ(usage.memory_peak_bytes, 4096u);
  EXPECT_EQ(usage.oom_kills, 1u);
  EXPECT_EQ(usage.user_time_ns, 10'000u);
  EXPECT_EQ(usage.system_time_ns, 20'000u);
  EXPECT_EQ(*group_.CpuTime(), absl::Microseconds(30));
}

TEST_F(CgroupFilesTest, CountsAnewWhenItIsRecycled) {
  Put("pids.max", "");
  Put("pids.current", "0\n");
  Put("memory.current", absl::StrCat(CgroupCounters::kMaxLeftBytes, "\n"));
  PutCounters(4096, 1, 10, 20);
  EXPECT_THAT(group_.Recycle(), IsOk());
  EXPECT_EQ(Get("memory.peak").substr(0, 1), "0");
  EXPECT_EQ(Get("pids.max"), "") << "it was not killed";
  EXPECT_EQ(*group_.CpuTime(), absl::ZeroDuration());
  PutCounters(5000, 3, 110, 220);
  const CgroupUsage usage = group_.Usage();
  EXPECT_EQ(usage.memory_peak_bytes, 5000u);
  EXPECT_EQ(usage.oom_kills, 2u);
  EXPECT_EQ(usage.user_time_ns, 100'000u);
  EXPECT_EQ(usage.system_time_ns, 200'000u);
  EXPECT_EQ(*group_.CpuTime(), absl::Microseconds(300));
}

TEST_F(CgroupFilesTest, CountsOnWhenItIsMoved) {
  Put("pids.current", "0\n");
  Put("memory.current", "0\n");
  PutCounters(4096, 1, 10, 20);
  EXPECT_THAT(group_.Recycle(), IsOk());
  EXPECT_EQ(*group_.CpuTime(), absl::ZeroDuration());
  PutCounters(5000, 3, 110, 220);
  Cgroup moved;
  moved = std::move(group_);
  EXPECT_EQ(moved.Usage().oom_kills, 2u);
  EXPECT_EQ(moved.Usage().user_time_ns, 100'000u);
  EXPECT_EQ(*moved.CpuTime(), absl::Microseconds(300));
  group_ = std::move(moved);
}

TEST_F(CgroupFilesTest, AllowsProcessesAgainAfterAKill) {
  Put("pids.max", "");
  Put("pids.current", "0\n");
  Put("memory.current", "0\n");
  PutCounters(4096, 0, 0, 0);
  const pid_t child = StartChild();
  Put("cgroup.procs", absl::StrCat(child, "\n"));
  group_.Kill();
  ::waitpid(child, nullptr, 0);
  Cgroup moved;
  moved = std::move(group_);
  EXPECT_EQ(moved.EntryFds().size(), 1u);
  EXPECT_THAT(moved.Recycle(), IsOk());
  EXPECT_EQ(Get("pids.max"), "max");
  // It is as good as a new one.
  Put("pids.max", "kept");
  EXPECT_THAT(moved.Recycle(), IsOk());
  EXPECT_EQ(Get("pids.max"), "kept");
}

TEST_F(CgroupFilesTest, RestoresItsLimitOfProcessesAfterAKill) {
  Put("pids.max", "");
  Put("pids.current", "0\n");
  Put("memory.current", "0\n");
  PutCounters(4096, 0, 0, 0);
  CgroupLimits limits;
  limits.pids = 7;
  EXPECT_THAT(group_.SetLimits(limits), IsOk());
  const pid_t child = StartChild();
  Put("cgroup.procs", absl::StrCat(child, "\n"));
  group_.Kill();
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(Get("pids.max"), "0");
  Cgroup moved;
  moved = std::move(group_);
  EXPECT_THAT(moved.Recycle(), IsOk());
  EXPECT_EQ(Get("pids.max"), "7");
}

TEST_F(CgroupFilesTest, IsNotRecycledWithProcessesOrMemory) {
  PutCounters(4096, 0, 0, 0);
  Put("pids.current", "1\n");
  Put("memory.current", "0\n");
  EXPECT_THAT(group_.Recycle(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("a process lives")));
  Put("pids.current", "0\n");
  Put("memory.current", absl::StrCat(CgroupCounters::kMaxLeftBytes + 1, "\n"));
  EXPECT_THAT(group_.Recycle(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("memory is charged")));
}

TEST_F(CgroupFilesTest, IsNotRecycledWhenTheKernelDoesNotResetThePeak) {
  Put("pids.current", "0\n");
  Put("memory.current", "0\n");
  EXPECT_THAT(group_.Recycle(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("peak")));
}

TEST_F(CgroupFilesTest, IsNotRecycledOnceItIsRemoved) {
  EXPECT_THAT(group_.Remove(), IsOk());
  EXPECT_FALSE(group_.valid());
  EXPECT_TRUE(group_.EntryFds().empty());
  EXPECT_THAT(group_.Recycle(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("no group")));
  EXPECT_THAT(
      group_.CpuTime().status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no group")));
  EXPECT_EQ(group_.Usage().memory_peak_bytes, 0u);
  EXPECT_TRUE(group_.Pids().empty());
}

TEST_F(CgroupFilesTest, MakesAndListsGroups) {
  EXPECT_THAT(Cgroup::List({CgroupVersion::kV2, {root_, "/nowhere"}}),
              ElementsAre("box"));
  const absl::StatusOr<Cgroup> child = group_.CreateChild("run");
  ASSERT_THAT(child.status(), IsOk());
  EXPECT_EQ(child->EntryFds().size(), 1u);
  EXPECT_TRUE(std::filesystem::is_directory(Path("run")));
  EXPECT_THAT(group_.CreateChild("run").status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("mkdir")));
}

}  // namespace
}  // namespace sandbox

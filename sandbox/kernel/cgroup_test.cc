// Tests on the real kernel, in groups of their own.

#include "sandbox/kernel/cgroup.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failing_calls.h"
#include "tests/network/loopback.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::_;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::IsOk;
using ::tests::StatusIs;

class CgroupTest : public ::testing::Test {
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

  // Starts a process in the group that calls `then` and exits with its result.
  pid_t StartIn(const Cgroup& cgroup, int (*then)()) {
    int entered[2];
    int go[2];
    EXPECT_EQ(::pipe(entered), 0);
    EXPECT_EQ(::pipe(go), 0);
    const pid_t child = ::fork();
    char byte = 'n';
    if (child == 0) {
      // v1: the process enters itself; v2: it is moved from outside.
      byte = cgroup.Enter().ok() ? 'y' : 'n';
      const bool sent = ::write(entered[1], &byte, 1) == 1;
      ::_exit(sent && ::read(go[0], &byte, 1) == 1 ? then() : 2);
    }
    EXPECT_EQ(::read(entered[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    EXPECT_THAT(cgroup.Take(child), IsOk());
    EXPECT_EQ(::write(go[1], "g", 1), 1);
    for (const int fd : {entered[0], entered[1], go[0], go[1]}) {
      ::close(fd);
    }
    return child;
  }
  // Starts a process that stays in the group.
  pid_t StartIn(const Cgroup& cgroup) { return StartIn(cgroup, ::pause); }

  static int Reap(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  bool v1() const { return host_.version == CgroupVersion::kV1; }
  // The first line of a file of the group; "" if no hierarchy has it.
  std::string Show(const std::string& file) const {
    std::string line;
    for (const std::string& parent : host_.parents) {
      std::ifstream stream(absl::StrCat(parent, "/corral/", name_, "/", file));
      if (std::getline(stream, line)) {
        return line;
      }
    }
    return "";
  }

  const std::string name_ = absl::StrCat("cgroup-test-", ::getpid());
  CgroupHost host_;
};

TEST_F(CgroupTest, ListsTheProcessesThatEntered) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  EXPECT_THAT(group->Pids(), IsEmpty());
  const pid_t child = StartIn(*group);
  EXPECT_THAT(group->Pids(), ElementsAre(child));
  EXPECT_THAT(group->Remove(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  group->Signal(SIGTERM);
  EXPECT_EQ(Reap(child), SIGTERM);
  EXPECT_THAT(group->Remove(), IsOk());
  EXPECT_THAT(group->Remove(), IsOk());
}

TEST_F(CgroupTest, KillsAllItsProcessesAndNoOthers) {
  absl::StatusOr<Cgroup> parent = Cgroup::Create(host_, name_);
  ASSERT_THAT(parent.status(), IsOk());
  absl::StatusOr<Cgroup> one = parent->CreateChild("one");
  absl::StatusOr<Cgroup> other = parent->CreateChild("other");
  ASSERT_THAT(one.status(), IsOk());
  ASSERT_THAT(other.status(), IsOk());
  const pid_t first = StartIn(*one);
  const pid_t second = StartIn(*one);
  const pid_t bystander = StartIn(*other);
  one->Kill();
  EXPECT_EQ(Reap(first), SIGKILL);
  EXPECT_EQ(Reap(second), SIGKILL);
  EXPECT_THAT(other->Pids(), ElementsAre(bystander));
  other->Kill();
  EXPECT_EQ(Reap(bystander), SIGKILL);
  EXPECT_TRUE(one->Kill());
}

TEST_F(CgroupTest, DoesNotWaitForTheProcessesThatItKills) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  const pid_t child = StartIn(*group);
  // This thread is the tracer, which keeps the process from ending.
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, child, nullptr, PTRACE_O_TRACEEXIT), 0);
  EXPECT_FALSE(group->Kill());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status >> 8, SIGTRAP | (PTRACE_EVENT_EXIT << 8));
  EXPECT_THAT(group->Pids(), ElementsAre(child));
  ASSERT_EQ(::ptrace(PTRACE_DETACH, child, nullptr, nullptr), 0);
  EXPECT_EQ(Reap(child), SIGKILL);
  EXPECT_TRUE(group->Kill());
}

TEST_F(CgroupTest, LimitsProcesses) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  CgroupLimits limits;
  limits.memory_bytes = uint64_t{64} << 20;
  limits.pids = 1;
  limits.cpu_millis = 500;
  ASSERT_THAT(group->SetLimits(limits), IsOk());
  EXPECT_EQ(Reap(StartIn(*group, [] { return ::fork() < 0 ? 0 : 1; })), 0);
  EXPECT_GT(group->Usage().memory_peak_bytes, 0u);
  EXPECT_LE(group->Usage().memory_peak_bytes, uint64_t{64} << 20);
}

TEST_F(CgroupTest, LimitsProcessorTime) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  CgroupLimits limits;
  limits.cpu_millis = 500;
  ASSERT_THAT(group->SetLimits(limits), IsOk());
  // Microseconds in each 100 ms.
  EXPECT_EQ(v1() ? Show("cpu.cfs_quota_us") : Show("cpu.max"),
            v1() ? "50000" : "50000 100000");
}

TEST_F(CgroupTest, SetsTheLimitsOfV1ThatAreGiven) {
  if (!v1()) {
    GTEST_SKIP() << "this host has v2";
  }
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  const std::string unlimited = Show("memory.limit_in_bytes");
  CgroupLimits limits;
  limits.pids = 7;
  ASSERT_THAT(group->SetLimits(limits), IsOk());
  EXPECT_EQ(Show("pids.max"), "7");
  EXPECT_EQ(Show("memory.limit_in_bytes"), unlimited);
  EXPECT_EQ(Show("cpu.cfs_quota_us"), "-1");
  limits = {};
  limits.memory_bytes = uint64_t{64} << 20;
  ASSERT_THAT(group->SetLimits(limits), IsOk());
  EXPECT_EQ(Show("pids.max"), "7");
  EXPECT_EQ(Show("memory.limit_in_bytes"), "67108864");
  // A kernel may lack these.
  EXPECT_THAT(Show("memory.memsw.limit_in_bytes"), AnyOf("67108864", ""));
  EXPECT_THAT(Show("memory.kmem.tcp.limit_in_bytes"), AnyOf("16777216", ""));
}

TEST_F(CgroupTest, ReportsALimitThatCannotBeSet) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  const std::pair<CgroupLimits, const char*> cases[] = {
      {{4096, 0, 0}, "memory."}, {{0, 7, 0}, "pids.max"}, {{0, 0, 9}, "cpu."}};
  for (const auto& [limits, file] : cases) {
    absl::Status set;
    ASSERT_TRUE(tests::WithFailingCalls(
        {SYS_write}, EIO,
        [&, wanted = &limits] { set = group->SetLimits(*wanted); }));
    EXPECT_THAT(std::string(set.message()), HasSubstr(file));
  }
}

TEST_F(CgroupTest, ReportsThatItCannotBeEntered) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  absl::Status entered;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_write}, EIO,
                                      [&] { entered = group->Enter(); }));
  EXPECT_EQ(entered.ok(), !v1()) << "a process is born in a group of v2";
}

TEST_F(CgroupTest, CountsTheProcessesThatItsMemoryLimitKills) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  CgroupLimits limits;
  limits.memory_bytes = uint64_t{32} << 20;
  ASSERT_THAT(group->SetLimits(limits), IsOk());
  EXPECT_EQ(group->Usage().oom_kills, 0u);
  EXPECT_EQ(Reap(StartIn(*group,
                         [] {
                           const std::vector<char> memory(size_t{256} << 20, 1);
                           return int{memory.back()};
                         })),
            SIGKILL);
  EXPECT_EQ(group->Usage().oom_kills, 1u);
}

TEST_F(CgroupTest, CountsTheBuffersOfSockets) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  constexpr char kUsage[] = "memory.kmem.tcp.usage_in_bytes";
  if (Show(kUsage).empty()) {
    GTEST_SKIP() << "this host counts them with other memory";
  }
  static std::string usage;
  usage = absl::StrCat(host_.parents[0], "/corral/", name_, "/", kUsage);
  EXPECT_EQ(Reap(StartIn(*group,
                         [] {
                           const auto [ours, theirs] = tests::MakeConnection();
                           const std::string data(size_t{1} << 20, 'x');
                           const ssize_t sent =
                               ::send(ours.get(), data.data(), data.size(),
                                      MSG_DONTWAIT);
                           uint64_t bytes = 0;
                           std::ifstream(usage) >> bytes;
                           return sent > 0 && bytes > 0 ? 0 : 1;
                         })),
            0);
}

TEST_F(CgroupTest, CountsTheTimeInTheKernel) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  EXPECT_EQ(Reap(StartIn(*group,
                         [] {
                           rusage usage = {};
                           while (usage.ru_stime.tv_sec == 0 &&
                                  usage.ru_stime.tv_usec < 60'000) {
                             ::getrusage(RUSAGE_SELF, &usage);
                           }
                           return 0;
                         })),
            0);
  EXPECT_GT(group->Usage().system_time_ns, 0u);
}

// Recycles the group once the kernel has taken the memory of processes that
// ended off it, which happens a moment after their end.
absl::Status RecycleOnceUncharged(Cgroup& group) {
  absl::Status recycled;
  do {
    recycled = group.Recycle();
  } while (absl::StrContains(recycled.message(), "memory is charged"));
  return recycled;
}

// Uses memory and processor time.
int Work() {
  std::vector<char> memory(size_t{32} << 20, 1);
  rusage usage = {};
  while (usage.ru_utime.tv_sec == 0 && usage.ru_utime.tv_usec < 60'000) {
    ::getrusage(RUSAGE_SELF, &usage);
  }
  return 0;
}

TEST_F(CgroupTest, CountsFromZeroWhenItIsRecycled) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  EXPECT_EQ(Reap(StartIn(*group, Work)), 0);
  const CgroupUsage first = group->Usage();
  EXPECT_GT(first.memory_peak_bytes, uint64_t{32} << 20);
  EXPECT_GT(first.user_time_ns, 50'000'000u);
  EXPECT_GT(*group->CpuTime(), absl::Milliseconds(50));
  const absl::Status recycled = RecycleOnceUncharged(*group);
  if (absl::IsUnimplemented(recycled)) {
    GTEST_SKIP() << recycled;
  }
  ASSERT_THAT(recycled, IsOk());
  EXPECT_EQ(*group->CpuTime(), absl::ZeroDuration());
  EXPECT_EQ(Reap(StartIn(*group, [] { return 0; })), 0);
  const CgroupUsage second = group->Usage();
  EXPECT_LT(second.memory_peak_bytes, uint64_t{4} << 20);
  EXPECT_LT(second.user_time_ns, 50'000'000u);
  EXPECT_LT(*group->CpuTime(), absl::Milliseconds(50));
  EXPECT_EQ(Reap(StartIn(*group, Work)), 0);
  EXPECT_GT(group->Usage().memory_peak_bytes, uint64_t{32} << 20);
  EXPECT_GT(group->Usage().user_time_ns, 50'000'000u);
}

TEST_F(CgroupTest, IsNotRecycledWhileAProcessIsNotReaped) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  const pid_t child = StartIn(*group);
  EXPECT_FALSE(group->Recycle().ok());
  EXPECT_FALSE(group->Remove().ok());
  group->Kill();
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(group->Recycle().ok());
  EXPECT_EQ(Reap(child), SIGKILL);
  const absl::Status recycled = RecycleOnceUncharged(*group);
  if (!absl::IsUnimplemented(recycled)) {
    EXPECT_THAT(recycled, IsOk());
    EXPECT_EQ(Reap(StartIn(*group, [] { return 0; })), 0);
  }
}

TEST_F(CgroupTest, AllowsProcessesAgainWhenItIsRecycled) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  const pid_t child = StartIn(*group);
  group->Kill();
  EXPECT_EQ(Reap(child), SIGKILL);
  const absl::Status recycled = RecycleOnceUncharged(*group);
  if (absl::IsUnimplemented(recycled)) {
    GTEST_SKIP() << recycled;
  }
  ASSERT_THAT(recycled, IsOk());
  EXPECT_EQ(Reap(StartIn(*group, [] { return ::fork() < 0 ? 1 : 0; })), 0);
}

TEST_F(CgroupTest, IsNotRecycledWhileMemoryIsCharged) {
  absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
  ASSERT_THAT(group.status(), IsOk());
  static int file;
  file = ::memfd_create("left", MFD_CLOEXEC);
  EXPECT_EQ(
      Reap(StartIn(*group,
                   [] {
                     const std::string data(size_t{1} << 20, 'x');
                     return ::write(file, data.data(), data.size()) < 0 ? 1 : 0;
                   })),
      0);
  EXPECT_FALSE(group->Recycle().ok());
  ::close(file);
  EXPECT_THAT(group->Remove(), IsOk());
}

TEST_F(CgroupTest, RemovesWhatAnEarlierGroupLeft) {
  pid_t child;
  {
    absl::StatusOr<Cgroup> group = Cgroup::Create(host_, name_);
    ASSERT_THAT(group.status(), IsOk());
    absl::StatusOr<Cgroup> below = group->CreateChild("run");
    absl::StatusOr<Cgroup> deepest = below->CreateChild("e-0");
    ASSERT_THAT(deepest.status(), IsOk());
    child = StartIn(*deepest);
  }
  ASSERT_THAT(Cgroup::Create(host_, name_).status(), IsOk());
  EXPECT_EQ(Reap(child), SIGKILL);
}

}  // namespace
}  // namespace sandbox

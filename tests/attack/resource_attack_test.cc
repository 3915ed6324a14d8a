// Attacks that use resources without end. Two limits bound each attack: the
// limit that is tested, and the most that the payload uses.

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/storage/output_log.h"
#include "tests/attack/attack_test.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

using ::sandbox::wire::ExecutionRecord;
using ::sandbox::wire::ExitRecord;

constexpr uint64_t kMiB = 1 << 20;
// The memory peak of a v2 group also counts what the parent group refused: up
// to 64 pages for each CPU that allocates at that time.
constexpr uint64_t kRefused = 2 * kMiB;

TEST_F(AttackTest, ForkBombEndsWithItsSandbox) {
  spec().set_pids(50);
  Create();
  sandbox::wire::StartExecution bomb = AttackRequest("bomb", "fork-bomb");
  bomb.mutable_command()->set_wall_timeout_ns(300'000'000);
  bomb.mutable_command()->set_kill_grace_ns(0);
  const ExecutionRecord end = sandbox_.Run(bomb);
  EXPECT_EQ(end.exit().cause(), ExitRecord::WALL_TIMEOUT);
  EXPECT_FALSE(end.exit().output_open());
  ExpectUsable();
  // Deletes a bomb that is at full strength, too.
  ASSERT_THAT(sandbox_.Start(AttackRequest("again", "fork-bomb")), IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("again", "stdout", "bomb"));
  EXPECT_THAT(sandbox_.DeleteExecution("again"), IsOk());
  ExpectUsable();
  ASSERT_THAT(sandbox_.Start(AttackRequest("last", "fork-bomb")), IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("last", "stdout", "bomb"));
  EXPECT_THAT(sandbox_.Delete(), IsOk());
}

TEST_F(AttackTest, ThreadsAndZombiesCountAsProcesses) {
  spec().set_pids(50);
  Create();
  EXPECT_EQ(Attack("thread-bomb"), "thread: EAGAIN\nmade: few\n");
  ExpectUsable();
  EXPECT_EQ(Attack("zombies 200"), "fork: EAGAIN\nmade: some\n");
  // Init has reaped the zombies.
  EXPECT_EQ(Attack("zombies 30"), "made: all\n");
  EXPECT_EQ(Attack("zombies 30"), "made: all\n");
}

TEST_F(AttackTest, MemoryBombIsKilledAndReported) {
  spec().set_memory_bytes(48 * kMiB);
  Create();
  for (const char* bomb :
       {"memory 200", "memfd-memory 200", "shared-memory 200", "pipes"}) {
    EXPECT_EQ(Attack(bomb), "") << bomb;
    EXPECT_EQ(last_.exit().wait_status(), SIGKILL) << bomb;
    EXPECT_EQ(last_.exit().cause(), ExitRecord::OUT_OF_MEMORY) << bomb;
    EXPECT_GT(last_.usage().oom_kills(), 0u) << bomb;
    EXPECT_LE(last_.usage().memory_peak_bytes(), 48 * kMiB + kRefused) << bomb;
    ExpectUsable();
  }
}

// cgroup v1 counts the buffers of sockets apart from other memory.
TEST_F(AttackTest, BuffersOfSocketsAreLimited) {
  spec().set_memory_bytes(32 * kMiB);
  Create();
  Shell("exit $(./attack socket-memory 12 | cut -d ' ' -f 2)");
  EXPECT_EQ(last_.state(), ExecutionRecord::EXITED);
  // Each of the 12 pairs takes more than 3 MiB if it can.
  EXPECT_LE(last_.exit().wait_status() >> 8, 32);
  ExpectUsable();
}

TEST_F(AttackTest, SharedMemoryDoesNotOutliveItsCommand) {
  spec().set_memory_bytes(64 * kMiB);
  Create();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Attack("leave-shared-memory 30"), "left\n");
  }
  EXPECT_EQ(Shell("ipcs -m | grep -c 0x"), "0\n");
}

TEST_F(AttackTest, KilledChildShowsInTheCount) {
  spec().set_memory_bytes(48 * kMiB);
  Create();
  Shell("./attack memory 200; exit 0");
  EXPECT_EQ(last_.exit().wait_status(), 0);
  EXPECT_EQ(last_.exit().cause(), ExitRecord::NORMAL);
  EXPECT_EQ(last_.usage().oom_kills(), 1u);
}

// tail keeps nothing of a file in which it can seek, for example /dev/zero.
TEST_F(AttackTest, StreamedBytesDoNotCountAsMemory) {
  spec().set_memory_bytes(32 * kMiB);
  Create();
  Shell("tail -c 64M /dev/zero | wc -c");
  EXPECT_EQ(last_.exit().wait_status(), 0);
  EXPECT_EQ(last_.usage().oom_kills(), 0u);
}

TEST_F(AttackTest, FilesInMemoryCountAsMemory) {
  spec().set_memory_bytes(64 * kMiB);
  Create();
  for (const char* directory : {"/tmp", "/dev/shm", "/home/corral"}) {
    Shell(absl::StrCat("head -c 300M /dev/zero > ", directory, "/bomb"));
    EXPECT_NE(last_.exit().wait_status(), 0) << directory;
    EXPECT_LE(last_.usage().memory_peak_bytes(), 64 * kMiB + kRefused);
  }
  // The memory of the files is in use until they are removed: commands may fail
  // because memory is missing, but the sandbox lives and can be deleted.
  for (int i = 0; i < 10; ++i) {
    Shell("true");
    ASSERT_NE(last_.state(), ExecutionRecord::STARTING) << i;
  }
  EXPECT_THAT(sandbox_.Delete(), IsOk());
}

TEST_F(AttackTest, OnlyTheCommandRunsOutOfDescriptors) {
  Create();
  EXPECT_EQ(Attack("descriptor-bomb"), "dup: EMFILE\nmade: 1021\n");
  EXPECT_EQ(Attack("descriptors-in-flight"), "send: ETOOMANYREFS\nsent: few\n");
}

TEST_F(AttackTest, MakesNoFileLargerThanItMay) {
  spec().set_file_bytes(kMiB);
  Create();
  EXPECT_EQ(Attack("file-size"),
            "up to the limit: 1\n"
            "beyond it: EFBIG\n"
            "truncate: EFBIG\n"
            "allocate: EFBIG\n"
            "sendfile: EFBIG\n"
            "in memory: EFBIG\n"
            "setrlimit: EPERM\n"
            "prlimit: EPERM\n");
  Shell("exec head -c 2M /dev/zero > large");
  EXPECT_EQ(last_.exit().wait_status(), SIGXFSZ);
  EXPECT_EQ(last_.exit().cause(), ExitRecord::NORMAL);
  EXPECT_EQ(std::filesystem::file_size(sandbox_.workspace() + "/large"), kMiB);
}

TEST_F(AttackTest, LeavesNoCore) {
  spec().set_memory_bytes(256 * kMiB);
  Create();
  Attack("crash");
  EXPECT_EQ(last_.exit().wait_status(),
            SIGSEGV);  // without the bit for a core dump
  EXPECT_EQ(Shell("ls"), "attack\n");
}

// With a limit other than 1, also with 0, the kernel runs the host's program
// for core dumps, as root and outside of the sandbox.
TEST_F(AttackTest, CannotChangeTheLimitThatStopsCoreDumps) {
  Create();
  EXPECT_EQ(Attack("core-limit"),
            "setrlimit: 0\n"
            "setrlimit, high bits: 0\n"
            "prlimit: 0\n"
            "prlimit, high bits: 0\n"
            "prlimit, with the old limit: EPERM\n"
            "limit: 1 1\n"
            "other limit: 5 6\n");
}

// Returns a limit of the groups of all sandboxes, or 0 if there is none.
uint64_t LimitOfAll(const std::string& file) {
  const absl::StatusOr<sandbox::CgroupHost> host = sandbox::CgroupHost::Find();
  for (const std::string& parent :
       host.ok() ? host->parents : std::vector<std::string>()) {
    uint64_t limit = 0;
    if (std::ifstream(absl::StrCat(parent, "/corral/", file)) >> limit) {
      return limit;
    }
  }
  return 0;
}

// A default sandbox may have three quarters of the memory.
TEST_F(AttackTest, AllSandboxesTogetherLeaveTheHostItsShare) {
  Create();
  struct sysinfo host = {};
  ASSERT_EQ(::sysinfo(&host), 0);
  const uint64_t memory =
      LimitOfAll("memory.max") + LimitOfAll("memory.limit_in_bytes");
  EXPECT_GT(memory, 0U);
  EXPECT_LT(memory, host.totalram * host.mem_unit / 100 * 91);
  uint64_t ids = 0;
  std::ifstream("/proc/sys/kernel/pid_max") >> ids;
  EXPECT_GT(LimitOfAll("pids.max"), 0U);
  EXPECT_LE(LimitOfAll("pids.max"), ids / 2);
}

// Returns how many pages of a file wait to be written to the disk; 0 also on a
// kernel before Linux 6.5 or without a disk.
uint64_t DirtyPages(int file) {
  // cachestat(2), which Debian 12's headers lack.
  constexpr long kNumber = 451;
  const uint64_t whole[2] = {0, 0};
  uint64_t counts[5] = {};  // cached, dirty, ...
  return ::syscall(kNumber, file, whole, counts, 0) == 0 ? counts[1] : 0;
}

TEST_F(AttackTest, CannotFlushTheHostsDisk) {
  Create();
  const std::string path = sandbox_.directory() + "/of-the-host";
  const sandbox::UniqueFd file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::string text(kMiB, 'x');
  // Others on the host may flush it, too.
  for (int tries = 0; tries < 20; ++tries) {
    ASSERT_EQ(::pwrite(file.get(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
    if (DirtyPages(file.get()) == 0) {
      GTEST_SKIP() << "this kernel or file system does not show unwritten "
                      "pages";
    }
    EXPECT_EQ(Shell("sync && sync --file-system . && echo done"), "done\n");
    if (DirtyPages(file.get()) != 0) {
      return;
    }
  }
  FAIL() << "the disk was flushed each time";
}

TEST_F(AttackTest, FloodOfOutputCostsOnlyWhatIsKept) {
  Create();
  sandbox::wire::StartExecution flood = sandbox_.Shell(
      "flood", "yes | head -c 16M & yes | head -c 16M >&2; wait");
  flood.mutable_command()->set_retain_bytes(kMiB);
  sandbox_.Run(flood);
  const std::string path = sandbox_.directory() + "/executions/flood";
  for (const auto& [stream, rest] :
       {std::pair(sandbox::wire::STDOUT, path + ".out"),
        std::pair(sandbox::wire::STDERR, path + ".err")}) {
    const auto log = sandbox::OutputLogReader::Open(path, stream);
    ASSERT_THAT(log.status(), IsOk());
    EXPECT_EQ(log->state()->end, 16 * kMiB);
    struct stat status;
    ASSERT_EQ(::stat(rest.c_str(), &status), 0);
    EXPECT_LT(static_cast<uint64_t>(status.st_blocks) * 512, 4 * kMiB);
  }
  ExpectUsable();
}

TEST_F(AttackTest, TheKernelsLimitsForArgumentsApply) {
  Create();
  sandbox::wire::StartExecution start =
      sandbox_.Command("one", {"/bin/echo", std::string(200'000, 'x')});
  ExecutionRecord end = sandbox_.Run(start);
  EXPECT_EQ(end.state(), ExecutionRecord::FAILED_TO_START);
  EXPECT_EQ(end.failure().errno_value(), E2BIG);
  std::vector<std::string> many(100'000, "x");
  many[0] = "/bin/true";
  end = sandbox_.Run(sandbox_.Command("many", many));
  EXPECT_EQ(end.exit().wait_status(), 0);
  many.assign(60, std::string(100'000, 'x'));
  many[0] = "/bin/true";
  end = sandbox_.Run(sandbox_.Command("large", many));
  EXPECT_EQ(end.failure().errno_value(), E2BIG);
  end = sandbox_.Run(
      sandbox_.Command("name", {"/bin/" + std::string(5000, 'x')}));
  EXPECT_EQ(end.failure().errno_value(), ENAMETOOLONG);
  ExpectUsable();
}

}  // namespace
}  // namespace tests

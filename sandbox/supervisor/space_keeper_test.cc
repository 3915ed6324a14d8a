// On the file systems of this host that enforce projects. A process of the test
// stands for init.

#include "sandbox/supervisor/space_keeper.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/disk_protection.h"
#include "sandbox/kernel/namespaces.h"
#include "sandbox/kernel/project_quota.h"
#include "sandbox/kernel/workspace.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::StartsWith;
using ::tests::FailsWith;
using ::tests::IsOk;

constexpr uint64_t kMiB = 1 << 20;

Child StartInit() {
  Child init;
  init.pid = ::fork();
  while (init.pid == 0) {
    ::pause();
  }
  init.pidfd.Reset(static_cast<int>(::syscall(SYS_pidfd_open, init.pid, 0)));
  return init;
}

void End(const Child& init) {
  ::kill(init.pid, SIGKILL);
  ::waitpid(init.pid, nullptr, 0);
}

// The capabilities of a process that are effective; 0 stands for this one.
uint64_t CapabilitiesOf(pid_t pid) {
  const std::string status = tests::ReadFile(
      pid == 0 ? "/proc/self/status" : absl::StrCat("/proc/", pid, "/status"));
  constexpr char kField[] = "\nCapEff:\t";
  return std::stoull(status.substr(status.find(kField) + sizeof(kField) - 1),
                     nullptr, 16);
}

TEST(SpaceKeeperTest, FailsIfNothingEnforcesALimit) {
  const Child init = StartInit();
  std::vector<UniqueFd> mounts;
  mounts.emplace_back(::open("/proc", O_PATH | O_CLOEXEC));
  EXPECT_THAT(
      SpaceKeeper::Begin(init, {{"/w", false, 0}}, mounts, {kMiB, 0}).status(),
      FailsWith(wire::Reply::ISOLATION,
                StartsWith("workspace /w: nothing enforces")));
  End(init);
}

class KeptSpaceTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    const std::vector<std::string> places = FindDiskFileSystems().with_projects;
    if (places.size() <= GetParam()) {
      GTEST_SKIP() << "no file system here enforces project quotas";
    }
    std::string path = places[GetParam()] + "/keeperXXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
    mounts_.emplace_back(
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    init_ = StartInit();
  }
  void TearDown() override {
    keeper_.reset();
    if (!path_.empty()) {
      End(init_);
      std::filesystem::remove_all(path_);
    }
  }

  absl::Status Begin() {
    absl::StatusOr<std::unique_ptr<SpaceKeeper>> begun =
        SpaceKeeper::Begin(init_, {{path_, false, 0}}, mounts_, {2 * kMiB, 50});
    if (begun.ok()) {
      keeper_ = *std::move(begun);
    }
    return begun.status();
  }
  SpaceLimits Limits() const {
    const int directory = mounts_[0].get();
    return *ReadProjectLimits(directory, ReadProject(directory)->number);
  }
  static pid_t Process() {
    std::ifstream children("/proc/thread-self/children");
    for (pid_t child; children >> child;) {
      if (tests::ReadFile(absl::StrCat("/proc/", child, "/comm")) ==
          "corral-space\n") {
        return child;
      }
    }
    return -1;
  }

  std::string path_;
  std::vector<UniqueFd> mounts_;
  Child init_;
  std::unique_ptr<SpaceKeeper> keeper_;
};

TEST_P(KeptSpaceTest, IsLimitedUntilTheSandboxEnds) {
  ASSERT_THAT(Begin(), IsOk());
  EXPECT_EQ(Limits().bytes, 2 * kMiB);
  EXPECT_EQ(Limits().inodes, 50u);
  keeper_.reset();
  EXPECT_FALSE(Limits().limited());
}

TEST_P(KeptSpaceTest, IsKeptWithTheRightsThatItNeeds) {
  ASSERT_THAT(Begin(), IsOk());
  EXPECT_EQ(CapabilitiesOf(Process()),
            CapabilitiesOf(0) & uint64_t{1} << CAP_SYS_ADMIN);
}

TEST_P(KeptSpaceTest, IsLimitedUntilTheSandboxOfAKilledSupervisorEnds) {
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    if (Begin().ok()) {
      ::raise(SIGKILL);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(supervisor, &status, 0), supervisor);
  ASSERT_EQ(status, SIGKILL);
  EXPECT_TRUE(Limits().limited());
  ::kill(init_.pid, SIGKILL);
  while (Limits().limited()) {
    ::sched_yield();
  }
}

INSTANTIATE_TEST_SUITE_P(FileSystem, KeptSpaceTest,
                         ::testing::Values(size_t{0}, size_t{1}));

}  // namespace
}  // namespace sandbox

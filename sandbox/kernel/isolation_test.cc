#include "sandbox/kernel/isolation.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/disk_protection.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/record_space.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

IsolationFeature Find(const std::vector<IsolationFeature>& features,
                      const std::string& name) {
  for (const IsolationFeature& feature : features) {
    if (feature.name == name) {
      return feature;
    }
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(IsolationTest, ListsEachProtectionAndWhetherASandboxNeedsIt) {
  std::vector<std::string> required;
  std::vector<std::string> others;
  for (const IsolationFeature& feature : ProbeIsolation()) {
    (feature.required ? required : others).push_back(feature.name);
    EXPECT_NE(feature.detail, "") << feature.name;
  }
  EXPECT_THAT(
      required,
      ElementsAre("root", "user namespace", "mount namespace", "pid namespace",
                  "network namespace", "ipc namespace", "uts namespace",
                  "cgroup namespace", "mounts by descriptor", "seccomp",
                  "memory limit", "pids limit", "cpu limit", "kill of a tree"));
  EXPECT_THAT(others, ElementsAre("landlock", "limits shown inside",
                                  "disk limit", "disk speed limit"));
}

TEST(IsolationTest, ReportsWhereSpaceIsLimited) {
  const IsolationFeature feature = Find(ProbeIsolation(), "disk limit");
  const DiskFileSystems systems = FindDiskFileSystems();
  EXPECT_EQ(feature.enforced, !systems.with_projects.empty());
  EXPECT_THAT(feature.detail, HasSubstr("project quotas"));
  for (const std::string& place : systems.with_projects) {
    EXPECT_THAT(feature.detail, HasSubstr(place));
  }
  EXPECT_EQ(feature.gap != "", feature.enforced && !systems.others.empty());
}

TEST(IsolationTest, ReportsTheLimitOfTheSpeedOfDisksAsItWasTried) {
  const IsolationFeature speed = Find(ProbeIsolation(), "disk speed limit");
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  const absl::Status tried = host.ok() ? TryDiskSpeed(*host) : host.status();
  EXPECT_EQ(speed.enforced, tried.ok());
  if (tried.ok()) {
    const bool v1 = host->version == CgroupVersion::kV1;
    EXPECT_THAT(speed.detail, HasSubstr(v1 ? "blkio.throttle" : "io.max"));
    EXPECT_EQ(speed.gap != "", v1);
  } else {
    EXPECT_EQ(speed.detail, tried.message());
    EXPECT_EQ(speed.gap, "");
  }
}

TEST(IsolationTest, ReportsWhereRecordsFindRoom) {
  const std::string directory = ::testing::TempDir() + "/state";
  const IsolationFeature feature = ProbeRecordSpace(directory);
  EXPECT_EQ(feature.name, "room for records");
  EXPECT_FALSE(feature.required);
  EXPECT_THAT(feature.detail, HasSubstr(directory));
  const RecordSpace space = FindRecordSpace(directory);
  EXPECT_EQ(feature.enforced, space != RecordSpace::kShared);
  EXPECT_EQ(feature.gap != "", space == RecordSpace::kReservedBlocks);
}

TEST(IsolationTest, TriesLandlockWithoutAnEffectOnTheCaller) {
  const IsolationFeature landlock = Find(ProbeIsolation(), "landlock");
  EXPECT_EQ(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
  absl::Status entered;
  std::thread thread([&entered] {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    entered = EnterLandlockDomain();
  });
  thread.join();
  EXPECT_EQ(landlock.enforced, entered.ok());
  EXPECT_EQ(landlock.detail,
            entered.ok()
                ? "signals and abstract sockets stay within the sandbox"
                : entered.message());
  EXPECT_EQ(landlock.gap, "");
}

TEST(IsolationTest, ReportsAKernelWithoutLandlock) {
  IsolationFeature landlock;
  if (!tests::WithFailingCalls({SYS_landlock_create_ruleset}, EOPNOTSUPP, [&] {
        landlock = Find(ProbeIsolation(), "landlock");
      })) {
    GTEST_SKIP() << "this host allows no filter";
  }
  EXPECT_FALSE(landlock.enforced);
  EXPECT_FALSE(landlock.required);
  EXPECT_THAT(landlock.detail, HasSubstr("landlock"));
}

TEST(IsolationTest, ReportsAProbeThatFails) {
  std::vector<IsolationFeature> features;
  const auto probe = [&features](int call, int error) {
    return tests::WithFailingCalls({call}, error,
                                   [&] { features = ProbeIsolation(); });
  };
  if (!probe(SYS_seccomp, ENOSYS)) {
    GTEST_SKIP() << "this host allows no filter";
  }
  EXPECT_FALSE(Find(features, "seccomp").enforced);
  EXPECT_TRUE(Find(features, "seccomp").required);
  EXPECT_THAT(Find(features, "seccomp").detail, HasSubstr("seccomp: "));
  ASSERT_TRUE(probe(SYS_seccomp, 524));
  EXPECT_FALSE(Find(features, "seccomp").enforced);
  EXPECT_THAT(Find(features, "seccomp").detail,
              HasSubstr("net.core.bpf_jit_limit"));
  ASSERT_TRUE(probe(SYS_unshare, ENOSPC));
  EXPECT_FALSE(Find(features, "user namespace").enforced);
  EXPECT_THAT(Find(features, "user namespace").detail, HasSubstr("unshare: "));
  // fork(2) calls it.
  ASSERT_TRUE(probe(SYS_clone, EAGAIN));
  EXPECT_FALSE(Find(features, "pid namespace").enforced);
  EXPECT_EQ(Find(features, "pid namespace").detail, "the probe did not run");
  // The files that show the control groups.
  ASSERT_TRUE(probe(SYS_openat, EMFILE));
  for (const char* name :
       {"memory limit", "pids limit", "cpu limit", "kill of a tree"}) {
    EXPECT_FALSE(Find(features, name).enforced) << name;
    EXPECT_TRUE(Find(features, name).required) << name;
    EXPECT_THAT(Find(features, name).detail, HasSubstr("open ")) << name;
    EXPECT_EQ(Find(features, name).gap, "") << name;
  }
}

TEST(IsolationTest, ReportsHowThisHostEnforcesThem) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const std::vector<IsolationFeature> features = ProbeIsolation();
  for (const char* name :
       {"root", "user namespace", "pid namespace", "network namespace",
        "mounts by descriptor", "seccomp"}) {
    EXPECT_TRUE(Find(features, name).enforced) << name;
    EXPECT_EQ(Find(features, name).gap, "") << name;
  }
  EXPECT_EQ(Find(features, "pid namespace").detail, "one for each sandbox");
  EXPECT_THAT(Find(features, "seccomp").detail, HasSubstr("default-deny"));
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok()) {
    EXPECT_EQ(Find(features, "pids limit").detail, host.status().message());
    EXPECT_FALSE(Find(features, "memory limit").enforced);
    EXPECT_FALSE(Find(features, "limits shown inside").enforced);
    return;
  }
  const bool v1 = host->version == CgroupVersion::kV1;
  for (const char* name :
       {"memory limit", "pids limit", "cpu limit", "kill of a tree"}) {
    EXPECT_TRUE(Find(features, name).enforced) << name;
    EXPECT_THAT(Find(features, name).detail,
                HasSubstr(v1 ? "cgroup v1" : "cgroup v2 below /"));
  }
  EXPECT_EQ(Find(features, "memory limit").gap != "", v1);
  EXPECT_EQ(Find(features, "kill of a tree").gap != "", v1);
  EXPECT_TRUE(Find(features, "limits shown inside").enforced);
  const std::string gap = Find(features, "limits shown inside").gap;
  EXPECT_EQ(absl::StrContains(gap, "cpuset"), v1 && host->cpuset.empty());
  EXPECT_EQ(Find(features, "pids limit").gap, "");
}

TEST(IsolationTest, ReportsWhatAUserWithoutPrivilegesLacks) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const bool landlock = Find(ProbeIsolation(), "landlock").enforced;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) {
      ::_exit(1);
    }
    const std::vector<IsolationFeature> features = ProbeIsolation();
    const IsolationFeature root = Find(features, "root");
    const IsolationFeature mounts = Find(features, "mount namespace");
    const bool right = !root.enforced &&
                       root.detail == "corrald does not run as root" &&
                       !mounts.enforced && mounts.detail.find("unshare") == 0 &&
                       !Find(features, "mounts by descriptor").enforced &&
                       Find(features, "seccomp").enforced &&
                       Find(features, "landlock").enforced == landlock;
    ::_exit(right ? 0 : 2);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sandbox

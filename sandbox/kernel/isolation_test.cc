#include "sandbox/kernel/isolation.h"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/disk_protection.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/record_space.h"
#include "sandbox/kernel/user_namespace.h"
#include "tests/failing_calls.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
      ElementsAre("user ids", "user namespace", "mount namespace",
                  "pid namespace", "network namespace", "ipc namespace",
                  "uts namespace", "cgroup namespace", "mounts by descriptor",
                  "proc", "seccomp", "memory limit", "pids limit", "cpu limit",
                  "kill of a tree"));
  EXPECT_THAT(others, ElementsAre("supplementary groups", "landlock",
                                  "limits shown inside", "disk limit",
                                  "disk speed limit"));
}

TEST(IsolationTest, ReportsWhereSpaceIsLimited) {
  const IsolationFeature feature = Find(ProbeIsolation(), "disk limit");
  const DiskFileSystems systems = FindDiskFileSystems();
  EXPECT_EQ(feature.enforced,
            !systems.with_projects.empty() && !CommandsAreThisUser());
  EXPECT_THAT(feature.detail, HasSubstr("project quotas"));
  for (const std::string& place : systems.with_projects) {
    if (feature.enforced) {
      EXPECT_THAT(feature.detail, HasSubstr(place));
    }
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
       {"user ids", "user namespace", "pid namespace", "network namespace",
        "ipc namespace", "mounts by descriptor", "proc", "seccomp",
        "supplementary groups"}) {
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

// Returns what a child writes that runs `probe`.
std::string InChild(const std::function<std::string()>& probe) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = probe();
    ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  char text[4096];
  const ssize_t size = ::read(ends[0], text, sizeof(text));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return {text, size > 0 ? static_cast<size_t>(size) : 0};
}

// One line for each: "name: state, required".
std::string Summary(const std::vector<IsolationFeature>& features) {
  std::string lines;
  for (const IsolationFeature& feature : features) {
    const char* const state = !feature.enforced     ? "missing"
                              : feature.gap.empty() ? "enforced"
                                                    : "degraded";
    absl::StrAppend(&lines, feature.name, ": ", state,
                    feature.required ? ", required" : "", "\n");
  }
  return lines;
}

TEST(IsolationTest, ReportsWhatAUserWithoutPrivilegesHas) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const std::string lines = InChild([]() -> std::string {
    const gid_t group = 20001;
    if (::setgroups(1, &group) != 0 || ::setresgid(12345, 12345, 12345) != 0 ||
        ::setresuid(12345, 12345, 12345) != 0 ||
        ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
      return "it is not a user";
    }
    return Summary(ProbeIsolation());
  });
  if (absl::StrContains(lines, "user namespace: missing")) {
    GTEST_SKIP() << "this host allows users no user namespaces";
  }
  EXPECT_THAT(lines, StartsWith("user ids: degraded, required\n"
                                "user namespace: enforced, required\n"
                                "mount namespace: enforced, required\n"
                                "pid namespace: enforced, required\n"
                                "network namespace: enforced, required\n"
                                "ipc namespace: degraded, required\n"
                                "uts namespace: enforced, required\n"
                                "cgroup namespace: enforced, required\n"
                                "mounts by descriptor: enforced, required\n"
                                "proc: enforced, required\n"
                                "seccomp: enforced, required\n"
                                "memory limit: degraded\n"
                                "pids limit: degraded\n"
                                "cpu limit: missing\n"
                                "kill of a tree: degraded\n"
                                "supplementary groups: missing\n"));
}

TEST(IsolationTest, NamesTheRemedyForAProcThatAContainerHasCovered) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const std::string detail = InChild([]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", "/proc/fs", "tmpfs", 0, nullptr) != 0) {
      return "it is not covered";
    }
    const IsolationFeature proc = Find(ProbeIsolation(), "proc");
    return absl::StrCat(proc.enforced, " ", proc.required, " ", proc.detail);
  });
  EXPECT_THAT(detail, StartsWith("0 1 a /proc of its own: "));
  EXPECT_THAT(detail, HasSubstr("systempaths=unconfined"));
}

TEST(IsolationTest, NeedsRoomForMarksWhereAUserHasNoControlGroups) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const std::string detail = InChild([]() -> std::string {
    const rlimit none = {0, 0};
    if (::setrlimit(RLIMIT_CORE, &none) != 0 ||
        ::setresuid(12345, 12345, 12345) != 0 ||
        ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
      return "it is not a user";
    }
    const IsolationFeature kill = Find(ProbeIsolation(), "kill of a tree");
    return absl::StrCat(kill.enforced, " ", kill.required, " ", kill.detail);
  });
  EXPECT_THAT(detail, StartsWith("0 1 the hard limit of core dumps"));
}

}  // namespace
}  // namespace sandbox

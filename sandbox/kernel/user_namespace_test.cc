#include "sandbox/kernel/user_namespace.h"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/small_file.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::tests::FailsWith;

// A user of no importance.
constexpr uid_t kUser = 12345;

class UserNamespaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }
};

// Returns what `check`, which runs in a child, returns: "" if all is well.
std::string InChild(const std::function<std::string()>& check) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = check();
    const ssize_t sent = ::write(ends[1], text.data(), text.size());
    ::_exit(sent == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t got; (got = ::read(ends[0], bytes, sizeof(bytes))) > 0;) {
    text.append(bytes, static_cast<size_t>(got));
  }
  ::close(ends[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : absl::StrCat(text, " status ", status);
}

// Drops all privileges, but keeps two supplementary groups.
bool BecomeUser() {
  const gid_t groups[] = {20001, 20002};
  return ::setgroups(2, groups) == 0 && ::setresgid(kUser, kUser, kUser) == 0 &&
         ::setresuid(kUser, kUser, kUser) == 0 &&
         // The change of user has cleared it, and then the files of the process
         // in /proc would belong to root.
         ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

std::string CheckRights(bool own_user, bool may_mount, bool host_root) {
  std::string wrong;
  if (CommandsAreThisUser() != own_user) {
    absl::StrAppend(&wrong, "commands are this user: ", !own_user, "; ");
  }
  if (MayMount() != may_mount) {
    absl::StrAppend(&wrong, "may mount: ", !may_mount, "; ");
  }
  const absl::Status root = CheckIsNotHostRoot();
  if (root.ok() == host_root) {
    absl::StrAppend(&wrong, "host root: ", root.ToString(), "; ");
  }
  return wrong;
}

TEST_F(UserNamespaceTest, OfTheHostHasAllIds) {
  EXPECT_FALSE(CommandsAreThisUser());
  EXPECT_TRUE(MayMount());
  EXPECT_TRUE(HasId(0));
  EXPECT_TRUE(HasId(0x7fffffff));
  EXPECT_THAT(CheckIsNotHostRoot(),
              FailsWith(wire::Reply::ISOLATION, HasSubstr("host's root")));
}

TEST_F(UserNamespaceTest, MakesAUserRootOfItsOwn) {
  EXPECT_EQ(InChild([]() -> std::string {
              if (!BecomeUser()) {
                return "no user";
              }
              std::string wrong = CheckRights(true, false, false);
              const absl::Status entered = EnterOwnUserNamespace();
              if (!entered.ok()) {
                return entered.ToString();
              }
              wrong += CheckRights(true, true, false);
              if (::geteuid() != 0 || ::getegid() != 0 || !HasId(0) ||
                  ::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) != 0) {
                wrong += "it is not root";
              }
              return wrong;
            }),
            "");
}

TEST_F(UserNamespaceTest, OfOneIdKeepsTheGroupsOfItsUser) {
  EXPECT_EQ(InChild([]() -> std::string {
              if (!BecomeUser() || !EnterOwnUserNamespace().ok()) {
                return "not entered";
              }
              if (HasId(1)) {
                return "";  // this host has subordinate ids for the user
              }
              DropGroups();
              return absl::StrCat(::getgroups(0, nullptr));
            }),
            "2");
}

TEST_F(UserNamespaceTest, HasTheSubordinateIdsOfItsUserAndNoGroups) {
  if (::access("/usr/bin/newuidmap", X_OK) != 0) {
    GTEST_SKIP() << "newuidmap is missing (package uidmap)";
  }
  EXPECT_EQ(
      InChild([]() -> std::string {
        // An /etc of its own.
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", "/etc", "tmpfs", 0, "mode=755") != 0) {
          return "no /etc";
        }
        std::ofstream("/etc/passwd") << "person:x:12345:12345::/:/bin/sh\n";
        std::ofstream("/etc/group") << "person:x:12345:\n";
        std::ofstream("/etc/subuid") << "person:600000:65536\n";
        std::ofstream("/etc/subgid") << "person:700000:65536\n";
        if (!BecomeUser()) {
          return "no user";
        }
        const absl::Status entered = EnterOwnUserNamespace();
        return absl::StrCat(entered.ToString(), " ", HasId(0), HasId(1),
                            HasId(65536), HasId(65537), " ",
                            ::getgroups(0, nullptr));
      }),
      "OK 1110 0");
}

TEST_F(UserNamespaceTest, OfAContainerLosesTheGroups) {
  EXPECT_EQ(InChild([]() -> std::string {
              const gid_t groups[] = {20001};
              if (::setgroups(1, groups) != 0) {
                return "no groups";
              }
              DropGroups();
              return absl::StrCat(::getgroups(0, nullptr));
            }),
            "0");
}

TEST_F(UserNamespaceTest, IsRefusedToTheHostsRoot) {
  // Root of the host without the capability to make mounts would give commands
  // its own id.
  EXPECT_THAT(InChild([] { return EnterOwnUserNamespace().ToString(); }),
              HasSubstr("commands would be the host's root"));
}

// The map of a user namespace that root has made shows 0, but so does that of a
// container whose root is a user of the host.
TEST_F(UserNamespaceTest, RecognizesTheHostsRootInAnotherUserNamespace) {
  EXPECT_EQ(InChild([]() -> std::string {
              if (::unshare(CLONE_NEWUSER) != 0 ||
                  !WriteSmallFile("/proc/self/uid_map", "0 0 1").ok()) {
                return "no namespace";
              }
              return CheckRights(true, true, true);
            }),
            "");
}

TEST_F(UserNamespaceTest, NamesTheRemedyIfTheHostRefusesIt) {
  const auto enter = [](int error) {
    return InChild([error]() -> std::string {
      if (!BecomeUser() || !tests::FailCalls({SYS_unshare}, error)) {
        return "skip";
      }
      return std::string(EnterOwnUserNamespace().message());
    });
  };
  const std::string refused = enter(EPERM);
  if (refused == "skip") {
    GTEST_SKIP() << "this host allows no filter";
  }
  EXPECT_THAT(refused, AllOf(HasSubstr("a user namespace of its own: unshare"),
                             HasSubstr("; ")));
  EXPECT_THAT(enter(ENOSPC), HasSubstr("/proc/sys/user/max_user_namespaces"));
}

}  // namespace
}  // namespace sandbox

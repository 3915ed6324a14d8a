// Confines children of the test. tests/supervisor looks at whole supervisors.

#include "sandbox/supervisor/confinement.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/filter_error.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

constexpr uid_t kNobody = 65534;

// Stays in the network where it is.
absl::Status ConfineHere(Listeners listeners = Listeners::kNone) {
  const UniqueFd self(
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  return Confine(self.get(), listeners);
}

// Returns the status of a child that does `act`.
int StatusOf(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Dumps no core, which would show in the status.
    ::prctl(PR_SET_DUMPABLE, 0);
    ::_exit(act());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

// The value of a field of /proc/PID/status.
std::string FieldOf(pid_t pid, const std::string& field) {
  const std::string text =
      tests::ReadFile(absl::StrCat("/proc/", pid, "/status"));
  const std::string key = absl::StrCat("\n", field, ":\t");
  const size_t begin = text.find(key) + key.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

uint64_t SetOf(pid_t pid, const std::string& field) {
  return std::stoull(FieldOf(pid, field), nullptr, 16);
}

// The capabilities that a supervisor keeps.
uint64_t NeededFor(Listeners listeners) {
  std::set<int> needed = {CAP_CHOWN, CAP_DAC_READ_SEARCH, CAP_KILL,
                          CAP_SYS_RESOURCE, CAP_SYSLOG};
  if (listeners == Listeners::kOfWayOut) {
    needed.insert(CAP_NET_BIND_SERVICE);
  }
  uint64_t all = 0;
  for (const int capability : needed) {
    all |= uint64_t{1} << capability;
  }
  return all;
}

// Writes 'y' when this process is confined, and waits for the end of `go`.
// Returns the status to exit with.
int ConfineAndWait(Listeners listeners, const UniqueFd& ready,
                   const UniqueFd& go) {
  char byte = ConfineHere(listeners).ok() ? 'y' : 'n';
  return ::write(ready.get(), &byte, 1) == 1 && ::read(go.get(), &byte, 1) == 0
             ? 0
             : 1;
}

class ConfinementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer makes calls of its own";
#endif
  }
};

TEST_F(ConfinementTest, LeavesTheCapabilitiesThatSupervisorsNeed) {
  for (const Listeners listeners : {Listeners::kNone, Listeners::kOfWayOut}) {
    int ready[2];
    int go[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(go), 0);
    const UniqueFd ready_reader(ready[0]);
    const UniqueFd ready_writer(ready[1]);
    const UniqueFd go_reader(go[0]);
    UniqueFd go_writer(go[1]);
    const pid_t child = ::fork();
    if (child == 0) {
      go_writer.Reset();
      ::_exit(ConfineAndWait(listeners, ready_writer, go_reader));
    }
    char confined = 'n';
    EXPECT_EQ(::read(ready_reader.get(), &confined, 1), 1);
    EXPECT_EQ(confined, 'y');
    const uint64_t needed = NeededFor(listeners);
    for (const char* set : {"CapPrm", "CapEff", "CapBnd"}) {
      EXPECT_EQ(SetOf(child, set), needed & SetOf(::getpid(), set)) << set;
    }
    EXPECT_EQ(FieldOf(child, "NoNewPrivs"), "1");
    EXPECT_EQ(FieldOf(child, "Seccomp"), "2");
    go_writer.Reset();
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(ConfinementTest, ConfinesAUserInANamespaceOfItsOwn) {
  constexpr int kNoNamespace = 2;
  const auto confine = [](const std::function<int()>& act) {
    return StatusOf([&act] {
      if (::setresuid(kNobody, kNobody, kNobody) != 0 ||
          ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return kNoNamespace;
      }
      return ConfineHere().ok() ? act() : 1;
    });
  };
  const int confined = confine([] { return 0; });
  if (confined == kNoNamespace << 8) {
    GTEST_SKIP() << "this host gives users no namespaces";
  }
  EXPECT_EQ(confined, 0);
  EXPECT_EQ(confine([] { return ::getppid(); }), SIGSYS);
}

TEST_F(ConfinementTest, EndsAProcessThatMakesAnotherCall) {
  EXPECT_EQ(StatusOf([] { return ConfineHere().ok() ? 0 : 1; }), 0);
  EXPECT_EQ(StatusOf([] { return ConfineHere().ok() ? ::getppid() : 1; }),
            SIGSYS);
  EXPECT_EQ(StatusOf([] {
              return ConfineHere().ok() ? ::execl("/bin/true", "true", nullptr)
                                        : 1;
            }),
            SIGSYS);
}

TEST_F(ConfinementTest, FailsIfTheHostRefusesAStep) {
  const auto fails = [](int call, const char* message) {
    return StatusOf([=] {
             const bool prepared = tests::FailCalls({call}, EINVAL);
             const absl::Status confined = ConfineHere();
             return prepared && absl::StrContains(confined.message(), message)
                        ? 0
                        : 1;
           }) == 0;
  };
  EXPECT_TRUE(fails(SYS_setns, "setns(net)"));
  EXPECT_TRUE(fails(SYS_capset, "capset"));
  EXPECT_TRUE(fails(SYS_seccomp, "seccomp(SET_MODE_FILTER)"));
}

TEST_F(ConfinementTest, SaysThatTheHostHasNoMemoryForFilters) {
  EXPECT_EQ(
      StatusOf([] {
        const bool prepared = tests::FailCalls({SYS_seccomp}, kNoFilterMemory);
        const absl::Status confined = ConfineHere();
        return prepared && FailureOf(confined) == wire::Reply::ISOLATION &&
                       absl::StrContains(confined.message(), "bpf_jit_limit")
                   ? 0
                   : 1;
      }),
      0);
}

}  // namespace
}  // namespace sandbox

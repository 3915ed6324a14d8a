// Attacks on other processes: init, the spawner, the supervisor.

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"
#include "tests/attack/host_processes.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"
#include "tests/tracer.h"

namespace tests {
namespace {

using ::sandbox::wire::ExecutionRecord;
using ::sandbox::wire::ExitRecord;
using ::sandbox::wire::SandboxEnd;
using ::testing::AnyOf;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProcessAttackTest : public AttackTest {
 protected:
  // Starts a command that stays. Returns the process as the host sees it.
  HostProcess StartWitness() {
    const std::string mark = absl::StrCat("corral-witness-", ::getpid());
    sandbox::wire::StartExecution start =
        sandbox_.Shell("witness", "sleep 1000 & echo here; wait; : " + mark);
    EXPECT_THAT(sandbox_.Start(start), IsOk());
    EXPECT_TRUE(sandbox_.WaitForText("witness", "stdout", "here"));
    const std::optional<HostProcess> witness = FindProcess(mark);
    EXPECT_TRUE(witness.has_value());
    return witness.value_or(HostProcess());
  }
};

TEST_F(ProcessAttackTest, CannotTouchInitOrTheSpawner) {
  Create();
  for (const char* pid : {"1", "2", "3"}) {
    const std::string report = Attack(absl::StrCat("assault ", pid));
    EXPECT_THAT(report, testing::Not(testing::ContainsRegex(": [0-9]"))) << pid;
  }
  EXPECT_EQ(Attack("assault 1"),
            RefusedAssault() + "affinity: EPERM\nsetpgid: ESRCH\n");
  EXPECT_EQ(Shell("set -- /proc/[0-9]*; echo $#"), "1\n");
  ExpectUsable();
}

TEST_F(ProcessAttackTest, CanTraceItsOwnChildren) {
  Create();
  EXPECT_EQ(Attack("own-child"), "seize: 0\n");
}

TEST_F(ProcessAttackTest, HasHostIdsThatNoOtherUserHas) {
  Create();
  const HostProcess witness = StartWitness();
  EXPECT_GE(witness.user, 0x70000000u);
  for (const HostProcess& process : ProcessesOfSandbox(witness.user)) {
    EXPECT_NE(process.user, ::getuid());
  }
}

// Returns the value of a field of /proc/PID/status.
std::string FieldOf(pid_t pid, const std::string& field) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::string line;
  while (std::getline(status, line) && line.rfind(field, 0) != 0) {
  }
  return line.substr(line.find('\t') + 1);
}

// Returns a set of capabilities of a process.
uint64_t CapabilitiesOf(pid_t pid, const std::string& set) {
  return std::stoull(FieldOf(pid, set), nullptr, 16);
}

// A supervisor with a sanitizer keeps its rights; see Confine().
bool IsSanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

// It reads what processes of the sandbox send.
TEST_F(ProcessAttackTest, TheSupervisorCannotChangeTheKernel) {
  if (IsSanitized()) {
    GTEST_SKIP() << "a sanitizer makes calls of its own";
  }
  Create();
  const pid_t supervisor = StartWitness().parent;
  uint64_t needed = 0;
  for (const int capability : {CAP_CHOWN, CAP_DAC_READ_SEARCH, CAP_KILL,
                               CAP_SYS_RESOURCE, CAP_SYSLOG}) {
    needed |= uint64_t{1} << capability;
  }
  for (const char* set : {"CapPrm:", "CapEff:", "CapBnd:"}) {
    EXPECT_EQ(CapabilitiesOf(supervisor, set),
              needed & CapabilitiesOf(::getpid(), set))
        << set;
  }
  EXPECT_EQ(FieldOf(supervisor, "NoNewPrivs:"), "1");
  EXPECT_EQ(FieldOf(supervisor, "Seccomp:"), "2");
}

TEST_F(ProcessAttackTest, TheSupervisorReachesNoNetworkButThatOfTheSandbox) {
  Create();
  const HostProcess witness = StartWitness();
  const auto network_of = [](const std::string& process) {
    return std::filesystem::read_symlink(
        absl::StrCat("/proc/", process, "/ns/net"));
  };
  EXPECT_EQ(network_of(absl::StrCat(witness.parent)),
            network_of(absl::StrCat(witness.pid)));
  EXPECT_NE(network_of(absl::StrCat(witness.parent)), network_of("self"));
}

TEST_F(ProcessAttackTest, ASupervisorThatMakesAnotherCallDiesWithItsSandbox) {
  if (IsSanitized()) {
    GTEST_SKIP() << "a sanitizer makes calls of its own";
  }
  if (!Tracer::IsPermitted()) {
    GTEST_SKIP() << "this host lets no process trace another one";
  }
  Create();
  const HostProcess witness = StartWitness();
  const std::string record = sandbox_.directory() + "/strace";
  {
    // In place of a call for the next command, the supervisor makes one that it
    // never makes.
    const Tracer tracer(witness.parent, {"pipe2", "retval=0:syscall=getppid"},
                        record);
    EXPECT_FALSE(sandbox_.Start(sandbox_.Shell("e1", "true")).ok());
    while (!absl::StrContains(ReadFile(record), "killed by SIGSYS")) {
      ::sched_yield();
    }
  }
  EXPECT_EQ(sandbox_.recorder().WaitForGone().cause(),
            SandboxEnd::SUPERVISOR_DIED);
  sandbox_.Forget();
  WaitForEnd({witness});
  WaitForEnd(ProcessesOfSandbox(witness.user));
  EXPECT_THAT(ProcessesOfSandbox(witness.user), IsEmpty());
}

// When the host has no memory left, its kernel ends these first.
TEST_F(ProcessAttackTest, AllProcessesAreTheOomKillersFirstVictims) {
  Create();
  const HostProcess witness = StartWitness();
  for (const HostProcess& process : ProcessesOfSandbox(witness.user)) {
    std::ifstream file(absl::StrCat("/proc/", process.pid, "/oom_score_adj"));
    int score = 0;
    file >> score;
    EXPECT_EQ(score, 1000) << process.pid;
  }
  if (::prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE) != 1) {
    GTEST_SKIP() << "this host's root lacks CAP_SYS_RESOURCE, without which "
                    "commands can undo it";
  }
  EXPECT_EQ(Shell("echo 0 2>/dev/null > /proc/$$/oom_score_adj; "
                  "cat /proc/$$/oom_score_adj"),
            "1000\n");
}

TEST_F(ProcessAttackTest, KillingEverythingKillsOnlyCommands) {
  Create();
  StartWitness();
  Attack("kill-all");
  EXPECT_EQ(sandbox_.WaitForEnd("witness").exit().wait_status(), SIGKILL);
  ExpectUsable();
}

TEST_F(ProcessAttackTest, ChildrenOfItsSupervisorAreReapedAndDieWithIt) {
  Create();
  const HostProcess witness = StartWitness();
  const size_t before = ProcessesOfSandbox(witness.user).size();
  EXPECT_EQ(Attack("parents-child"), "clone: EPERM\nreaped: 100\n");
  EXPECT_EQ(last_.exit().wait_status(), 7 << 8);
  EXPECT_THAT(ProcessesOfSandbox(witness.user), SizeIs(before + 1));
  EXPECT_THAT(sandbox_.DeleteExecution("e1"), IsOk());
  EXPECT_THAT(ProcessesOfSandbox(witness.user), SizeIs(before));
  Attack("parents-child");
  EXPECT_THAT(sandbox_.Delete(), IsOk());
  EXPECT_THAT(ProcessesOfSandbox(witness.user), IsEmpty());
}

TEST_F(ProcessAttackTest, ChildrenOfItsSupervisorLeaveEachCommandItsEnd) {
  // On a slow machine, all of them exist at the same time.
  spec().set_pids(4000);
  Create();
  // Commands that start and end while the supervisor's strange children end.
  const int rounds = std::getenv("TEST_EMULATED") == nullptr ? 20 : 5;
  std::vector<std::string> ids;
  for (int i = 0; i < rounds; ++i) {
    ids.push_back(absl::StrCat("many", i));
    ASSERT_THAT(
        sandbox_.Start(AttackRequest(ids.back(), "many-parents-children")),
        IsOk());
    EXPECT_EQ(Shell("exit 5"), "");
    EXPECT_EQ(last_.exit().wait_status(), 5 << 8);
  }
  for (const std::string& id : ids) {
    EXPECT_EQ(sandbox_.WaitForEnd(id).exit().wait_status(), 7 << 8);
  }
  EXPECT_THAT(sandbox_.Delete(), IsOk());
}

TEST_F(ProcessAttackTest, CannotBlockItsSupervisorWithATracer) {
  Create();
  ASSERT_THAT(sandbox_.Start(AttackRequest("traced", "traced-end")), IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("traced", "stdout", "traced end: 0"));
  ExpectUsable();
  // The deletion kills the tracer with the tree; then the end becomes visible.
  EXPECT_THAT(sandbox_.DeleteExecution("traced"), IsOk());
  const ExecutionRecord end = sandbox_.WaitForEnd("traced");
  EXPECT_EQ(end.state(), ExecutionRecord::EXITED);
  EXPECT_EQ(end.exit().wait_status(), 5 << 8);
}

TEST_F(ProcessAttackTest, CannotHideADescendantFromADeletion) {
  Create();
  const HostProcess witness = StartWitness();
  const size_t before = ProcessesOfSandbox(witness.user).size();
  EXPECT_EQ(Attack("daemon"), "daemon: 0\n");
  EXPECT_THAT(ProcessesOfSandbox(witness.user), SizeIs(before + 1));
  EXPECT_THAT(sandbox_.DeleteExecution("e1"), IsOk());
  EXPECT_THAT(ProcessesOfSandbox(witness.user), SizeIs(before));
  EXPECT_EQ(Attack("daemon"), "daemon: 0\n");
  EXPECT_THAT(sandbox_.Delete(), IsOk());
  EXPECT_THAT(ProcessesOfSandbox(witness.user), IsEmpty());
}

TEST_F(ProcessAttackTest, TimeoutKillsDescendantsInEveryState) {
  Create();
  for (const char* attack : {"vfork-parent", "stopped", "daemon"}) {
    sandbox::wire::StartExecution start =
        AttackRequest(attack, absl::StrCat(attack, "; exec sleep 1000"));
    if (std::string(attack) == "daemon") {
      start = sandbox_.Shell(attack,
                             "trap '' TERM; ./attack daemon; "
                             "while :; do sleep 1000; done");
    }
    start.mutable_command()->set_wall_timeout_ns(200'000'000);
    start.mutable_command()->set_kill_grace_ns(100'000'000);
    const ExecutionRecord end = sandbox_.Run(start);
    EXPECT_EQ(end.exit().cause(), ExitRecord::WALL_TIMEOUT) << attack;
    EXPECT_FALSE(end.exit().output_open()) << attack;
  }
  ExpectUsable();
}

TEST_F(ProcessAttackTest, StoppingNewCommandsLeavesNoStartUnanswered) {
  Create();
  const HostProcess witness = StartWitness();
  ASSERT_THAT(sandbox_.Start(AttackRequest("stopper", "stop-all")), IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("stopper", "stdout", "stopping"));
  sandbox::Outcome outcomes[5];
  for (int i = 0; i < 5; ++i) {
    sandbox_.connection().Start(sandbox_.Shell(absl::StrCat("s", i), "echo hi"),
                                outcomes[i].Callback());
  }
  for (sandbox::Outcome& outcome : outcomes) {
    EXPECT_THAT(outcome.Wait(), IsOk());
  }
  EXPECT_THAT(sandbox_.Delete(), IsOk());
  EXPECT_THAT(ProcessesOfSandbox(witness.user), IsEmpty());
}

TEST_F(ProcessAttackTest, KillingNewCommandsLeavesEachATrueEnd) {
  Create();
  ASSERT_THAT(sandbox_.Start(AttackRequest("killer", "kill-others")), IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("killer", "stdout", "shooting"));
  for (int i = 0; i < 50; ++i) {
    const std::string id = absl::StrCat("s", i);
    EXPECT_THAT(sandbox_.Start(sandbox_.Shell(id, "exit 0")), IsOk());
    const sandbox::wire::ExecutionRecord end = sandbox_.WaitForEnd(id);
    if (end.state() == sandbox::wire::ExecutionRecord::FAILED_TO_START) {
      EXPECT_EQ(end.failure().errno_value(), EINTR);
    } else {
      EXPECT_THAT(end.exit().wait_status(), AnyOf(0, SIGKILL));
    }
  }
}

TEST_F(ProcessAttackTest, NothingOutlivesTheSupervisor) {
  Create();
  const HostProcess witness = StartWitness();
  EXPECT_EQ(Attack("daemon"), "daemon: 0\n");
  const std::vector<HostProcess> processes = ProcessesOfSandbox(witness.user);
  ASSERT_EQ(::kill(witness.parent, SIGKILL), 0);
  EXPECT_EQ(sandbox_.recorder().WaitForGone().cause(),
            SandboxEnd::SUPERVISOR_DIED);
  sandbox_.Forget();
  // The kernel kills init with its parent, and all other processes with init.
  WaitForEnd(processes);
  EXPECT_THAT(ProcessesOfSandbox(witness.user), IsEmpty());
}

TEST_F(ProcessAttackTest, SandboxEndsWithItsInit) {
  Create();
  const HostProcess witness = StartWitness();
  for (const HostProcess& process : ProcessesOfSandbox(witness.user)) {
    if (process.user % 65536 == 0) {
      ::kill(process.pid, SIGKILL);
    }
  }
  const SandboxEnd::Cause cause = sandbox_.recorder().WaitForGone().cause();
  EXPECT_TRUE(cause == SandboxEnd::INIT_DIED ||
              cause == SandboxEnd::SPAWNER_DIED);
  // The supervisor may have seen this command's end before the sandbox's. Then
  // it reports that end.
  const ExecutionRecord end = sandbox_.WaitForEnd("witness");
  EXPECT_TRUE(end.state() != ExecutionRecord::EXITED ||
              end.exit().wait_status() == SIGKILL);
  sandbox_.Forget();
  EXPECT_THAT(ProcessesOfSandbox(witness.user), IsEmpty());
}

}  // namespace
}  // namespace tests

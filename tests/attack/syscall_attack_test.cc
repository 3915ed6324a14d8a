// System calls that a command must not be able to make.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"

namespace tests {
namespace {

using ::testing::HasSubstr;

TEST_F(AttackTest, CannotMakeAnAdministratorsSystemCalls) {
  Create();
  // The payload prints each call that is not refused with EPERM.
  EXPECT_EQ(Attack("refused"), "55 calls\n");
}

TEST_F(AttackTest, NewAndUnknownSystemCallsLookAbsent) {
  Create();
  EXPECT_EQ(Attack("absent"), "17 calls\n");
}

// Returns true if `int $0x80` enters the kernel. Without IA32 emulation it is a
// fault, which kills with SIGSEGV.
bool HostHasSystemCallsOfI386() {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(SIGSEGV, SIG_DFL);
    constexpr long kGetpid = 20;
    long result = kGetpid;
    asm volatile("int $0x80"
                 : "+a"(result)
                 :
                 : "memory", "r8", "r9", "r10", "r11");
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  const bool faults = WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
  EXPECT_TRUE(faults || status == 0) << status;
  return !faults;
}

TEST_F(AttackTest, CannotMakeSystemCallsOfI386) {
  if (!HostHasSystemCallsOfI386()) {
    GTEST_SKIP() << "this kernel has no system calls of i386";
  }
  Create();
  EXPECT_EQ(Attack("i386"),
            "i386 getpid: ENOSYS\n"
            "i386 open: ENOSYS\n"
            "i386 mount: ENOSYS\n"
            "i386 socketcall: ENOSYS\n"
            "i386 socket(AF_VSOCK): ENOSYS\n"
            "i386 ptrace: ENOSYS\n");
}

TEST_F(AttackTest, CannotMakeSystemCallsOfX32) {
  Create();
  EXPECT_EQ(Attack("x32"),
            "x32 getpid: ENOSYS\n"
            "x32 ptrace: ENOSYS\n"
            "x32 ioctl: ENOSYS\n");
}

// Thousands of filters that are freed together have stopped a kernel.
TEST_F(AttackTest, CannotLoadASystemCallFilter) {
  Create();
  EXPECT_EQ(Attack("system-call-filters"),
            "no_new_privs: 0\n"
            "seccomp: EINVAL\n"
            "seccomp, high bits: EINVAL\n"
            "seccomp, all threads: EINVAL\n"
            "seccomp, with a listener: EINVAL\n"
            "prctl: EINVAL\n"
            "prctl, high bits: EINVAL\n"
            "new filters: 0\n");
}

// They load a filter of their own where they can.
TEST_F(AttackTest, LetsProgramsRunThatWantToFilterThemselves) {
  Create();
  Shell(
      "command -v man >/dev/null || exit 9; "
      "printf '.TH X 1\\n.SH NAME\\nthe page\\n' | gzip > x.1.gz; "
      "man -l ./x.1.gz 2>&1 | grep 'the page' && file /bin/true");
  if (last_.exit().wait_status() == 9 << 8) {
    GTEST_SKIP() << "man is not installed";
  }
  EXPECT_EQ(last_.exit().wait_status(), 0);
}

TEST_F(AttackTest, CannotAttachAFilterToASocket) {
  Create();
  EXPECT_EQ(Attack("socket-filters"),
            "filter: EPERM\n"
            "filter, high bits: EPERM\n"
            "reuseport: EPERM\n"
            "bpf: EPERM\n"
            "reuseport bpf: EPERM\n"
            "received: 1\n"
            "other option: 0\n");
}

// Merged pages show what other tenants have in memory; no limit of a sandbox
// counts huge pages.
TEST_F(AttackTest, SharesNoPagesWithOtherTenants) {
  Create();
  EXPECT_EQ(Attack("shared-pages"),
            "merge all: EINVAL\n"
            "merge: EINVAL\n"
            "plain advice: 0\n"
            "huge mmap: ENOMEM\n"
            "huge memfd: ENOMEM\n"
            "huge segment: ENOMEM\n");
}

TEST_F(AttackTest, CannotMakeNamespaces) {
  Create();
  const std::string report = Attack("namespaces");
  EXPECT_THAT(report, HasSubstr("clone user, mount and net: EPERM\n"));
  for (const char* name :
       {"time", "mount", "cgroup", "uts", "ipc", "user", "pid", "net"}) {
    EXPECT_THAT(report,
                HasSubstr(std::string("unshare ") + name + ": EPERM\n"));
    EXPECT_THAT(report, HasSubstr(std::string("clone ") + name + ": EPERM\n"));
  }
}

// No filter sees the flags of clone3, so the kernel refuses namespaces that
// need no privilege by their number.
TEST_F(AttackTest, CannotMakeNamespacesWithFlagsThatNoFilterSees) {
  Create();
  const std::string report = Attack("namespaces");
  for (const char* name : {"user", "user, mount and net", "user, as vfork"}) {
    EXPECT_THAT(report,
                HasSubstr(std::string("clone3 ") + name + ": ENOSPC\n"));
  }
  for (const char* name :
       {"time", "mount", "cgroup", "uts", "ipc", "pid", "net"}) {
    EXPECT_THAT(report, HasSubstr(std::string("clone3 ") + name + ": EPERM\n"));
  }
  EXPECT_THAT(report, HasSubstr("clone3 into a group: EBADF\n"));
  EXPECT_EQ(Shell("cd /proc/sys/user; "
                  "cat max_user_namespaces max_mnt_namespaces; "
                  "(echo 9 > max_user_namespaces) 2>/dev/null || echo kept"),
            "0\n0\nkept\n");
}

TEST_F(AttackTest, CannotJoinNamespaces) {
  Create();
  const std::string report = Attack("namespaces");
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts"}) {
    EXPECT_THAT(report, HasSubstr(std::string("setns ") + name + ": EPERM\n"));
  }
}

TEST_F(AttackTest, CannotBecomeAnotherUserOrGainACapability) {
  Create();
  EXPECT_EQ(Attack("identity"),
            "setuid(0): EPERM\n"
            "setuid(1): EPERM\n"
            "setresuid(-1,0,-1): EPERM\n"
            "setresgid(0,0,0): EPERM\n"
            "setgroups: EPERM\n"
            "setfsuid(0): 1000\n"
            "setfsuid(again): 1000\n"
            "capset: EPERM\n"
            "ambient: EPERM\n"
            "securebits: EPERM\n"
            "no_new_privs off: EINVAL\n"
            "PR_SET_MM: EPERM\n"
            "seccomp off: EINVAL\n");
  EXPECT_EQ(Shell("grep -E '^(Groups|Cap|NoNewPrivs|Seccomp:)' "
                  "/proc/self/status | tr -d '\\t '"),
            "Groups:\n"
            "CapInh:0000000000000000\n"
            "CapPrm:0000000000000000\n"
            "CapEff:0000000000000000\n"
            "CapBnd:0000000000000000\n"
            "CapAmb:0000000000000000\n"
            "NoNewPrivs:1\n"
            "Seccomp:2\n");
}

TEST_F(AttackTest, GainsNothingFromASetuidProgram) {
  Create();
  const std::filesystem::path program = sandbox_.workspace() + "/id";
  std::filesystem::copy("/usr/bin/id", program);
  std::filesystem::permissions(program, std::filesystem::perms::all |
                                            std::filesystem::perms::set_uid |
                                            std::filesystem::perms::set_gid);
  EXPECT_EQ(Shell("./id"),
            "uid=1000(corral) gid=1000(corral) groups=1000(corral)\n");
}

TEST_F(AttackTest, CannotRaiseItsPriorityOrItsLimits) {
  Create();
  EXPECT_EQ(Attack("priorities"),
            "SCHED_FIFO: EPERM\n"
            "nice -10: EACCES\n"
            "ioprio RT: EPERM\n"
            "raise NOFILE: EPERM\n"
            "raise MEMLOCK: EPERM\n");
  EXPECT_EQ(Shell("echo -1000 2>/dev/null > /proc/self/oom_score_adj; "
                  "cat /proc/self/oom_score_adj"),
            "1000\n");
}

TEST_F(AttackTest, IsFilteredInAProgramWithoutAFile) {
  Create();
  EXPECT_EQ(Attack("memfd"), "55 calls\n");
}

}  // namespace
}  // namespace tests

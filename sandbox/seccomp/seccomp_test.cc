// Loads the compiled profile into a child. tests/attack tests it from inside
// commands.

#include "sandbox/seccomp/seccomp.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"

namespace sandbox::seccomp {
namespace {

// Returns the result of `check` in a child process, since a filter cannot be
// removed.
bool HoldsInChild(bool (*check)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(check() ? 0 : 1);
  }
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

bool Load(Profile profile = Profile::kDefault) {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         LoadProfile(profile).ok();
}

// Returns the errno of a call with invalid arguments, or 0.
int ErrnoOf(long number, long first = -1) {
  return ::syscall(number, first, -1L, -1L, -1L, -1L, -1L) == -1 ? errno : 0;
}

TEST(SeccompTest, NeedsNoNewPrivileges) {
  if (::getuid() == 0) {
    GTEST_SKIP() << "root may do without";
  }
  EXPECT_FALSE(LoadProfile(Profile::kDefault).ok());
}

TEST(SeccompTest, RefusesByPolicyWithEperm) {
  EXPECT_TRUE(HoldsInChild([] {
    return Load() && ErrnoOf(SYS_mount) == EPERM &&
           ErrnoOf(SYS_unshare) == EPERM && ErrnoOf(SYS_bpf) == EPERM &&
           ErrnoOf(SYS_keyctl) == EPERM;
  }));
}

TEST(SeccompTest, ReportsUnknownCallsAsAbsent) {
  EXPECT_TRUE(HoldsInChild([] {
    return Load() && ErrnoOf(SYS_io_uring_setup) == ENOSYS &&
           ErrnoOf(SYS_openat2) == ENOSYS && ErrnoOf(600) == ENOSYS;
  }));
}

TEST(SeccompTest, AllowsTheCallsThatProgramsNeed) {
  EXPECT_TRUE(HoldsInChild([] {
    return Load() && ErrnoOf(SYS_read) == EBADF &&
           ::open("/dev/null", O_RDWR) >= 0 && ErrnoOf(SYS_execve) == EFAULT &&
           ErrnoOf(SYS_futex) != EPERM && ::getpid() > 0 && ::fork() >= 0;
  }));
}

TEST(SeccompTest, MakesCallsWithoutAnEffectSucceed) {
  EXPECT_TRUE(HoldsInChild([] {
    return ErrnoOf(SYS_syncfs) == EBADF && Load() && ErrnoOf(SYS_syncfs) == 0 &&
           ErrnoOf(SYS_sync) == 0 && ErrnoOf(SYS_fsync) == EBADF;
  }));
}

TEST(SeccompTest, RefusesSocketFamiliesByArgument) {
  EXPECT_TRUE(HoldsInChild([] {
    return Load() && ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 &&
           ::socket(AF_INET6, SOCK_DGRAM, 0) >= 0 &&
           ErrnoOf(SYS_socket, AF_VSOCK) == EPERM &&
           ErrnoOf(SYS_socket, AF_PACKET) == EPERM &&
           ErrnoOf(SYS_socketpair, AF_TIPC) == EPERM;
  }));
}

TEST(SeccompTest, RefusesFlagsOfClone) {
  EXPECT_TRUE(HoldsInChild([] {
    bool refused = Load();
    for (const long flag : {CLONE_NEWTIME, CLONE_PARENT, CLONE_NEWNS,
                            CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                            CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
      refused = refused && ErrnoOf(SYS_clone, flag) == EPERM &&
                ErrnoOf(SYS_clone, flag | CLONE_THREAD) == EPERM;
    }
    // The kernel refuses this one.
    return refused && ErrnoOf(SYS_clone, CLONE_THREAD) == EINVAL;
  }));
}

TEST(SeccompTest, RefusesPairsOfOtherFamiliesWhateverTheUpperBits) {
  EXPECT_TRUE(HoldsInChild([] {
    int fds[2];
    return Load() && ::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 &&
           ErrnoOf(SYS_socketpair, AF_INET) == EPERM &&
           ErrnoOf(SYS_socketpair, AF_UNIX | 1L << 32) == EPERM;
  }));
}

// Returns true if the kernel is asked for the personality.
bool Becomes(long persona) { return ErrnoOf(SYS_personality, persona) == 0; }

TEST(SeccompTest, AllowsPersonalitiesThatChangeNoProtection) {
  EXPECT_TRUE(HoldsInChild([] {
    return Load() && Becomes(8) && Becomes(0x20000) && Becomes(0x20008) &&
           Becomes(0) && Becomes(0xffffffff) && !Becomes(READ_IMPLIES_EXEC) &&
           !Becomes(1) && !Becomes(ADDR_NO_RANDOMIZE | 8);
  }));
  EXPECT_TRUE(HoldsInChild([] {
    return Load(Profile::kDebug) && Becomes(ADDR_NO_RANDOMIZE | 8) &&
           Becomes(8) && !Becomes(READ_IMPLIES_EXEC);
  }));
}

rlim_t CoreLimit() {
  rlimit limit = {};
  return ::prlimit(0, RLIMIT_CORE, nullptr, &limit) == 0 ? limit.rlim_cur : 0;
}

TEST(SeccompTest, KeepsTheLimitOfCoreDumps) {
  EXPECT_TRUE(HoldsInChild([] {
    const rlimit one = {1, 1};
    const rlimit none = {0, 0};
    rlimit old = {};
    const rlim_t before = CoreLimit();
    const rlimit other = before == 0 ? one : none;
    return Load() && ::syscall(SYS_setrlimit, RLIMIT_CORE, &other) == 0 &&
           ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &other, nullptr) == 0 &&
           CoreLimit() == before &&
           ::prlimit(0, RLIMIT_CORE, &other, &old) == -1 && errno == EPERM &&
           // Other limits are the program's own.
           ::setrlimit(RLIMIT_FSIZE, &one) == 0 &&
           ::prlimit(0, RLIMIT_FSIZE, &none, &old) == 0 && old.rlim_cur == 1;
  }));
}

TEST(SeccompTest, RefusesFiltersOfAProgramsOwn) {
  EXPECT_TRUE(HoldsInChild([] {
    return Load() && ErrnoOf(SYS_seccomp, SECCOMP_SET_MODE_FILTER) == EINVAL &&
           ErrnoOf(SYS_prctl, PR_SET_SECCOMP) == EINVAL;
  }));
}

TEST(SeccompTest, StrictProfileRefusesSocketsAndTracing) {
  EXPECT_TRUE(HoldsInChild([] {
    int fds[2];
    return Load(Profile::kStrict) && ::socket(AF_INET, SOCK_STREAM, 0) == -1 &&
           errno == EPERM && ErrnoOf(SYS_ptrace) == EPERM &&
           ErrnoOf(SYS_mlockall) == EPERM && ErrnoOf(SYS_unshare) == EPERM &&
           ::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0;
  }));
}

// Returns the errno of fcntl(2) for a file of the host that others see, too.
int ErrnoOfFcntl(int command, long argument) {
  const int file = ::open("/usr/bin/env", O_RDONLY | O_CLOEXEC);
  return ::fcntl(file, command, argument) == -1 ? errno : 0;
}

int ErrnoOfLock(int command) {
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  return ErrnoOfFcntl(command, reinterpret_cast<long>(&lock));
}

TEST(SeccompTest, OnlyTheStrictProfileRefusesLocksThatOthersSee) {
  EXPECT_TRUE(HoldsInChild([] {
    return Load(Profile::kStrict) && ErrnoOfLock(F_SETLK) == EPERM &&
           ErrnoOfLock(F_SETLKW) == EPERM &&
           ErrnoOfLock(F_OFD_SETLK) == EPERM &&
           ErrnoOfLock(F_OFD_SETLKW) == EPERM &&
           ErrnoOfFcntl(F_SETLEASE, F_RDLCK) == EPERM &&
           ErrnoOfFcntl(F_NOTIFY, DN_ACCESS) == EPERM &&
           ErrnoOfLock(F_GETLK) == 0 && ErrnoOfFcntl(F_GETFD, 0) == 0;
  }));
  EXPECT_TRUE(HoldsInChild([] { return Load() && ErrnoOfLock(F_SETLK) == 0; }));
}

TEST(SeccompTest, OnlyTheDebugProfileTurnsRandomAddressesOff) {
  constexpr long kNotRandom = 0x0040000;
  EXPECT_TRUE(HoldsInChild([] {
    return Load(Profile::kDebug) &&
           ::syscall(SYS_personality, kNotRandom) >= 0 &&
           ErrnoOf(SYS_kcmp) != EPERM && ErrnoOf(SYS_unshare) == EPERM;
  }));
  EXPECT_TRUE(HoldsInChild([] {
    return Load() && ::syscall(SYS_personality, kNotRandom) < 0 &&
           ErrnoOf(SYS_kcmp) == EPERM;
  }));
}

TEST(SeccompTest, OnlyTheNestedProfileMakesNamespaces) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan's own thread keeps a process from a user namespace";
#endif
  EXPECT_TRUE(HoldsInChild([] {
    return Load(Profile::kNested) &&
           ::syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           // The kernel refuses this one.
           ErrnoOf(SYS_clone, CLONE_NEWNS | CLONE_FS) == EINVAL &&
           ErrnoOf(SYS_bpf) == EPERM && ErrnoOf(SYS_keyctl) == EPERM;
  }));
  EXPECT_TRUE(HoldsInChild(
      [] { return Load() && ::syscall(SYS_unshare, CLONE_NEWUSER) < 0; }));
}

TEST(SeccompTest, AllowsClone3) {
  EXPECT_TRUE(HoldsInChild([] {
    clone_args arguments = {};
    arguments.exit_signal = SIGCHLD;
    const bool loaded = Load();
    const long child = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
    return loaded && child >= 0;
  }));
}

TEST(SeccompTest, NamesTheSettingThatLimitsCompiledFilters) {
  EXPECT_TRUE(HoldsInChild([] {
    // The errno of a host whose memory for compiled filters is used up.
    return tests::FailCalls({SYS_seccomp}, 524) &&
           absl::StrContains(LoadProfile(Profile::kDefault).status().message(),
                             "net.core.bpf_jit_limit");
  }));
  EXPECT_TRUE(HoldsInChild([] {
    return tests::FailCalls({SYS_seccomp}, ENOMEM) &&
           LoadProfile(Profile::kDefault).status() ==
               absl::ErrnoToStatus(ENOMEM, "seccomp(SET_MODE_FILTER)");
  }));
}

// Loads a profile, and has a child set the setgid bit of its directory while
// nobody answers, or somebody with `error`. Returns the errno of the child.
int ErrnoOfSetgid(Profile profile, int error) {
  absl::StatusOr<UniqueFd> listener = LoadProfile(profile);
  const pid_t child = listener.ok() ? ::fork() : -1;
  if (child == 0) {
    ::_exit(::chmod(".", 02755) == 0 ? 0 : errno);
  }
  seccomp_notif call = {};
  if (error != 0 &&
      ::ioctl(listener->get(), SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
    seccomp_notif_resp answer = {};
    answer.id = call.id;
    answer.error = call.data.nr == SYS_chmod && call.data.args[1] == 02755
                       ? -error
                       : -EBADMSG;
    ::ioctl(listener->get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(SeccompTest, LeavesSetgidBitsToItsListener) {
  for (const Profile profile : {Profile::kDefault, Profile::kDebug}) {
    EXPECT_TRUE(HasListener(profile));
  }
  EXPECT_TRUE(HoldsInChild([] {
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ErrnoOfSetgid(Profile::kDefault, EISDIR) == EISDIR;
  }));
  EXPECT_TRUE(HoldsInChild([] {
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ErrnoOfSetgid(Profile::kStrict, 0) == EPERM;
  }));
  EXPECT_TRUE(HoldsInChild([] {
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ErrnoOfSetgid(Profile::kNested, 0) == EPERM;
  }));
}

TEST(SeccompTest, DoesWithoutAListenerWhereThereIsOneAlready) {
  EXPECT_TRUE(HoldsInChild([] {
    const bool can = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program = {1, allow};
    const UniqueFd first(static_cast<int>(
        ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                  SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)));
    const absl::StatusOr<UniqueFd> second = LoadProfile(Profile::kDefault);
    return can && first.valid() && second.ok() && !second->valid() &&
           ErrnoOf(SYS_mount) == EPERM && ::chmod(".", 02755) == -1 &&
           errno == ENOSYS;
  }));
}

TEST(SeccompTest, IsInheritedByChildren) {
  EXPECT_TRUE(HoldsInChild([] {
    const bool loaded = Load();
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(ErrnoOf(SYS_mount) == EPERM ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    return loaded && status == 0;
  }));
}

}  // namespace
}  // namespace sandbox::seccomp

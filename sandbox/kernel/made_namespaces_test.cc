// Namespaces with a process that waits in them, as a sandbox's init does.

#include <fcntl.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
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
#include "sandbox/base/small_file.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/namespaces.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uint32_t kFirstId = 0x70000000;

[[noreturn]] void Wait() {
  for (;;) {
    ::pause();
  }
}

// Returns true if `check` holds in a child.
bool HoldsInChild(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(check() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// The namespace of a process, `pid` or "self": "net:[4026531840]".
template <typename Pid>
std::string Namespace(Pid pid, const char* kind) {
  return std::filesystem::read_symlink(
      absl::StrCat("/proc/", pid, "/ns/", kind));
}

// A map of ids: "FIRST-INSIDE FIRST-OUTSIDE COUNT".
std::string ReadMap(const std::string& path) {
  std::ifstream map(path);
  std::string inside;
  std::string outside;
  std::string count;
  map >> inside >> outside >> count;
  return absl::StrCat(inside, " ", outside, " ", count);
}

// The user, of the host, to whom the user namespace of a process belongs.
uid_t OwnerOf(pid_t pid) {
  const UniqueFd its(::open(absl::StrCat("/proc/", pid, "/ns/user").c_str(),
                            O_RDONLY | O_CLOEXEC));
  uid_t owner = static_cast<uid_t>(-1);
  EXPECT_EQ(::ioctl(its.get(), NS_GET_OWNER_UID, &owner), 0);
  return owner;
}

UniqueFd OpenProcess(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// Waits for the end of a child, without reaping it.
void AwaitEnd(pid_t pid) {
  siginfo_t info = {};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
}

class MadeNamespacesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    absl::StatusOr<Child> child = CloneIntoNamespaces(-1, kFirstId);
    ASSERT_THAT(child.status(), IsOk());
    if (child->pid == 0) {
      Wait();
    }
    init_ = *std::move(child);
  }
  void TearDown() override { End(init_); }

  static void End(const Child& child) {
    if (child.pid > 0) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
    }
  }

  Child init_;
};

TEST_F(MadeNamespacesTest, BelongToAnotherUserThanTheirMaker) {
  EXPECT_EQ(OwnerOf(init_.pid), kFirstId);
  EXPECT_EQ(::geteuid(), 0u);
  EXPECT_EQ(::prctl(PR_GET_SECUREBITS), 0);
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts"}) {
    EXPECT_NE(Namespace(init_.pid, kind), Namespace("self", kind)) << kind;
  }
  EXPECT_EQ(::kill(init_.pid, 0), 0);
  EXPECT_TRUE(init_.pidfd.valid());
}

TEST_F(MadeNamespacesTest, BelongToTheirMakerWhereItCannotKeepItsRights) {
  absl::StatusOr<Child> child;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_prctl}, EPERM, [&child] {
    child = CloneIntoNamespaces(-1, kFirstId);
    if (child.ok() && child->pid == 0) {
      Wait();
    }
  }));
  ASSERT_THAT(child.status(), IsOk());
  EXPECT_EQ(OwnerOf(child->pid), 0u);
  End(*child);
}

TEST_F(MadeNamespacesTest, AreNotMadeByAHostThatRefusesThem) {
  absl::Status made;
  int bits = -1;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_clone3}, EAGAIN, [&] {
    made = CloneIntoNamespaces(-1, kFirstId).status();
    bits = ::prctl(PR_GET_SECUREBITS);
  }));
  EXPECT_EQ(made.message(), "clone3: Resource temporarily unavailable");
  EXPECT_EQ(bits, 0);
  EXPECT_EQ(::geteuid(), 0u);
  ASSERT_TRUE(tests::WithFailingCalls({SYS_clone3}, ENOSPC, [&] {
    made = CloneIntoNamespaces(-1, kFirstId).status();
  }));
  EXPECT_THAT(std::string(made.message()),
              HasSubstr("a limit in /proc/sys/user/ is reached"));
}

TEST_F(MadeNamespacesTest, HaveARangeOfIds) {
  ASSERT_THAT(MapIds(init_.pid, kFirstId), IsOk());
  for (const char* file : {"uid_map", "gid_map"}) {
    EXPECT_EQ(ReadMap(absl::StrCat("/proc/", init_.pid, "/", file)),
              absl::StrCat("0 ", kFirstId, " ", kIdRange))
        << file;
  }
  EXPECT_THAT(std::string(MapIds(init_.pid, kFirstId).message()),
              HasSubstr("uid_map"));
}

TEST_F(MadeNamespacesTest, RemoveSharedMemoryThatNobodyUses) {
  constexpr char kSetting[] = "/proc/sys/kernel/shm_rmid_forced";
  const std::string before = *ReadSmallFile(kSetting);
  const std::string own = Namespace("self", "ipc");
  EXPECT_THAT(RemoveUnusedSharedMemory(init_.pidfd.get()), IsOk());
  EXPECT_EQ(Namespace("self", "ipc"), own);
  EXPECT_EQ(*ReadSmallFile(kSetting), before);
  std::thread([&] {
    ASSERT_EQ(::setns(init_.pidfd.get(), CLONE_NEWIPC), 0);
    EXPECT_EQ(*ReadSmallFile(kSetting), "1\n");
  }).join();
  EXPECT_THAT(std::string(RemoveUnusedSharedMemory(-1).message()),
              HasSubstr("setns(ipc)"));
}

TEST_F(MadeNamespacesTest, ReportThatSharedMemoryWillOutliveItsUsers) {
  const std::string own = Namespace("self", "ipc");
  absl::Status written;
  std::string after;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_write}, EPERM, [&] {
    written = RemoveUnusedSharedMemory(init_.pidfd.get());
    after = Namespace("thread-self", "ipc");
  }));
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kPermissionDenied,
                                HasSubstr("shm_rmid_forced")));
  EXPECT_EQ(after, own);
}

TEST_F(MadeNamespacesTest, AreJoinedByAnotherProcess) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const absl::StatusOr<Child> child = ForkInto(init_.pidfd.get(), -1);
  ASSERT_THAT(child.status(), IsOk());
  if (child->pid == 0) {
    [[maybe_unused]] const ssize_t sent = ::write(writer.get(), "x", 1);
    Wait();
  }
  char byte;
  ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
  for (const char* kind :
       {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    EXPECT_EQ(Namespace(child->pid, kind), Namespace(init_.pid, kind)) << kind;
  }
  // The caller's next child is one of its own namespace.
  EXPECT_EQ(Namespace("self", "pid_for_children"), Namespace("self", "pid"));
  End(*child);
  EXPECT_THAT(std::string(ForkInto(-1, -1).status().message()),
              HasSubstr("setns(pid)"));
}

TEST_F(MadeNamespacesTest, AreJoinedByAProcessThatNobodyInsideSees) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const absl::StatusOr<Child> child = ForkBeside(init_.pidfd.get(), -1);
  ASSERT_THAT(child.status(), IsOk());
  if (child->pid == 0) {
    [[maybe_unused]] const ssize_t sent = ::write(writer.get(), "x", 1);
    Wait();
  }
  char byte;
  ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
  for (const char* kind : {"user", "mnt", "net", "ipc", "uts", "cgroup"}) {
    EXPECT_EQ(Namespace(child->pid, kind), Namespace(init_.pid, kind)) << kind;
  }
  EXPECT_EQ(Namespace(child->pid, "pid"), Namespace("self", "pid"));
  EXPECT_EQ(Namespace(child->pid, "pid_for_children"),
            Namespace(init_.pid, "pid"));
  End(*child);
}

TEST_F(MadeNamespacesTest, AreExitingOnceTheirProcessIsKilled) {
  const UniqueFd stat = OpenStat(init_.pid);
  EXPECT_FALSE(IsExiting(init_.pid));
  EXPECT_FALSE(IsExiting(stat));
  ::kill(init_.pid, SIGKILL);
  AwaitEnd(init_.pid);
  EXPECT_TRUE(IsExiting(init_.pid));
  EXPECT_TRUE(IsExiting(stat));
  ::waitpid(init_.pid, nullptr, 0);
  EXPECT_FALSE(IsExiting(init_.pid)) << "it is no process any more";
  EXPECT_FALSE(IsExiting(stat));
  EXPECT_FALSE(IsExiting(UniqueFd()));
  init_ = Child();
}

TEST(ProcessTest, IsExitingWhateverItsName) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, "a) S 1 (b");
    ::_exit(0);
  }
  AwaitEnd(child);
  EXPECT_TRUE(IsExiting(child));
  ::waitpid(child, nullptr, 0);
}

TEST(ProcessTest, DiesWithItsParent) {
  EXPECT_TRUE(HoldsInChild([] {
    int signal = 0;
    return DieWithParent().ok() && ::prctl(PR_GET_PDEATHSIG, &signal) == 0 &&
           signal == SIGKILL;
  }));
}

TEST(ProcessTest, SaysThatItMayOutliveItsParent) {
  absl::Status set;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_prctl}, EINVAL,
                                      [&set] { set = DieWithParent(); }));
  EXPECT_EQ(set.message(), "prctl(PDEATHSIG): Invalid argument");
}

TEST(ProcessTest, HasNoChildThatEnteredOnlySomeNamespaces) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  EXPECT_TRUE(HoldsInChild([] {
    // Nobody may enter the user namespace in which he is.
    ::unshare(CLONE_NEWPID);
    const pid_t init = ::fork();
    if (init == 0) {
      Wait();
    }
    const absl::StatusOr<Child> child = ForkInto(OpenProcess(init).get(), -1);
    if (child.ok() && child->pid == 0) {
      ::_exit(0);
    }
    int status = -1;
    const bool ended = child.ok() && child->pid > 0 &&
                       ::waitpid(child->pid, &status, 0) == child->pid;
    // Its end is that of the namespace.
    return init > 0 && ::kill(init, SIGKILL) == 0 && ended &&
           WIFEXITED(status) && WEXITSTATUS(status) == 1;
  }));
}

bool LoopbackIsUp() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::string("lo").copy(request.ifr_name, IFNAMSIZ - 1);
  return ::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 &&
         (request.ifr_flags & IFF_UP) != 0;
}

TEST(ProcessTest, FinishesItsNamespaces) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  EXPECT_TRUE(HoldsInChild([] {
    const std::string before = Namespace("self", "cgroup");
    char name[64] = {};
    return ::unshare(CLONE_NEWNET | CLONE_NEWUTS) == 0 && !LoopbackIsUp() &&
           FinishNamespaces("box").ok() && LoopbackIsUp() &&
           ::gethostname(name, sizeof(name)) == 0 &&
           std::string(name) == "box" && Namespace("self", "cgroup") != before;
  }));
}

// Returns what FinishNamespaces() says where each of the calls fails.
std::string FinishWithout(const std::vector<int>& calls) {
  std::string text;
  EXPECT_TRUE(tests::WithFailingCalls(calls, EPERM, [&text] {
    // The name is not to be the host's.
    ::unshare(CLONE_NEWUTS);
    text = std::string(FinishNamespaces("box").message());
  }));
  return text;
}

TEST(ProcessTest, NamesWhatItCannotFinish) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  EXPECT_THAT(FinishWithout({SYS_unshare, SYS_sethostname, SYS_socket}),
              StartsWith("unshare(cgroup): "));
  EXPECT_THAT(FinishWithout({SYS_sethostname, SYS_socket}),
              StartsWith("sethostname: "));
  EXPECT_THAT(FinishWithout({SYS_socket}), StartsWith("bring up lo: "));
}

}  // namespace
}  // namespace sandbox

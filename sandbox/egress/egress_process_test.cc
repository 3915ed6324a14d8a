// The life and the privileges of the program. What it does is in proxy_test.

#include "sandbox/egress/egress_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/egress_fixture.h"
#include "tests/failing_calls.h"
#include "tests/ignored_signal.h"

namespace egress {
namespace {

using ::testing::HasSubstr;

class EgressProcessTest : public EgressTest {
 protected:
  std::string Path(const std::string& file) const {
    return absl::StrCat("/proc/", process_.pid, "/", file);
  }
  std::string Read(const std::string& file) const {
    std::ifstream stream(Path(file));
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // Waits for the end of the program, and returns its status.
  int Reap() {
    int status = 0;
    EXPECT_EQ(::waitpid(process_.pid, &status, 0), process_.pid);
    process_.pid = 0;
    return status;
  }
};

TEST_F(EgressProcessTest, EndsWhenItsSupervisorCloses) {
  Allow("a.example", 443);
  Start();
  EXPECT_EQ(Lookup("a.example"), "198.18.0.1");
  pollfd ended = {process_.pidfd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 0), 0);
  process_.socket.Reset();
  EXPECT_EQ(::poll(&ended, 1, -1), 1);
  EXPECT_EQ(Reap(), 0);
}

TEST_F(EgressProcessTest, EndsWithTheThreadThatStartedIt) {
  Allow("a.example", 443);
  std::thread thread([this] {
    Start();
    EXPECT_EQ(Lookup("a.example"), "198.18.0.1");
  });
  thread.join();
  const int status = Reap();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(EgressProcessTest, EndsWhenItsStartIsWrong) {
  start_.mutable_policy()->add_private_networks("nonsense");
  Start();
  EXPECT_EQ(Reap(), 1 << 8);
}

TEST_F(EgressProcessTest, IsNotStartedIfACallFails) {
  const std::map<int, std::string> calls = {
      {SYS_memfd_create, "memfd of corral-egress"},
      {SYS_socketpair, "socket of corral-egress"},
      {SYS_fcntl, "descriptors of corral-egress"},
      {SYS_clone3, "start corral-egress"}};
  for (const auto& [call, message] : calls) {
    absl::Status started;
    if (!tests::WithFailingCalls({call}, ENOMEM, [&] {
          started = StartEgress(65533, Parent::kCaller).status();
        })) {
      GTEST_SKIP() << "this host allows no filter";
    }
    EXPECT_THAT(std::string(started.message()), HasSubstr(message));
    EXPECT_EQ(::waitpid(-1, nullptr, 0), -1) << message << " left a process";
  }
}

TEST_F(EgressProcessTest, CanBeAChildOfTheParentOfTheProcessThatStartsIt) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const sandbox::UniqueFd ours(ends[0]);
  const sandbox::UniqueFd theirs(ends[1]);
  const pid_t starter = ::fork();
  if (starter == 0) {
    const absl::StatusOr<EgressProcess> process =
        StartEgress(65533, Parent::kParentOfCaller);
    ::_exit(process.ok() &&
                    sandbox::SendWithFds(
                        theirs.get(), &process->pid, sizeof(process->pid),
                        {process->pidfd.get(), process->socket.get()})
                        .ok()
                ? 0
                : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(starter, &status, 0), starter);
  ASSERT_EQ(status, 0);
  absl::StatusOr<sandbox::ReceivedPacket> packet =
      sandbox::ReceiveWithFds(ours.get(), &process_.pid, sizeof(process_.pid));
  ASSERT_TRUE(packet.ok() && packet->fds.size() == 2);
  process_.socket = std::move(packet->fds[1]);
  EgressProcess process = {process_.pid, std::move(packet->fds[0]),
                           sandbox::UniqueFd()};
  // It lives on without the process that started it.
  char byte;
  EXPECT_EQ(::recv(process_.socket.get(), &byte, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
  const pid_t pid = std::exchange(process_.pid, 0);
  process.End();
  EXPECT_EQ(::kill(pid, 0), -1) << "it was not reaped";
}

TEST_F(EgressProcessTest, TakesNothingFromTheProcessThatStartsIt) {
  const sandbox::UniqueFd passed(::open("/dev/zero", O_RDONLY));
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  const tests::IgnoredSignal user(SIGUSR1);
  const tests::IgnoredSignal library(tests::kLibrarySignal);
  Allow("a.example", 443);
  Start();
  ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  Lookup("a.example");
  EXPECT_EQ(Status("SigBlk"), "0000000000000000");
  EXPECT_EQ(Status("SigIgn"), "0000000000001000") << "SIGPIPE alone";
  EXPECT_EQ(Read("cmdline"), std::string("corral-egress\0", 14));
  EXPECT_EQ(Read("environ"), "");
  std::error_code error;
  std::map<std::string, std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(Path("fd"), error)) {
    files[entry.path().filename()] =
        std::filesystem::read_symlink(entry.path(), error);
  }
  if (error) {
    GTEST_SKIP() << "this process may not see the descriptors of another one";
  }
  EXPECT_EQ(files["0"], "/dev/null");
  EXPECT_EQ(files["1"], "/dev/null");
  for (const auto& [number, file] : files) {
    EXPECT_NE(file, "/dev/zero") << number;
    EXPECT_THAT(file, ::testing::Not(HasSubstr("memfd:corral-egress")))
        << number;
  }
}

TEST_F(EgressProcessTest, HasNoPrivilegesAndAFilter) {
  Allow("a.example", 443);
  Start();
  Lookup("a.example");
  EXPECT_EQ(Status("Uid"), "65533\t65533\t65533\t65533");
  EXPECT_EQ(Status("Gid"), "65533\t65533\t65533\t65533");
  EXPECT_EQ(Status("Groups"), " ");
  EXPECT_EQ(Status("CapPrm"), "0000000000000000");
  EXPECT_EQ(Status("NoNewPrivs"), "1");
  EXPECT_EQ(Status("Seccomp"), "2");
  EXPECT_EQ(Status("Name"), "corral-egress");
  // The files of a process that cannot be dumped belong to root.
  struct stat file = {};
  ASSERT_EQ(::stat(Path("status").c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, 0U);
}

}  // namespace
}  // namespace egress

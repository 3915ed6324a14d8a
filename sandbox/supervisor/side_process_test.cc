#include "sandbox/supervisor/side_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;

// Sends the number of its process, and waits until the other end is closed.
int SendPid(const UniqueFd& socket) {
  const pid_t pid = ::getpid();
  char byte;
  return ::write(socket.get(), &pid, sizeof(pid)) == sizeof(pid) &&
                 ::read(socket.get(), &byte, 1) == 0
             ? 0
             : 1;
}

pid_t ReceivePid(const SideProcess& process) {
  pid_t pid = -1;
  EXPECT_EQ(::read(process.socket(), &pid, sizeof(pid)),
            static_cast<ssize_t>(sizeof(pid)));
  return pid;
}

TEST(SideProcessTest, HasItsNameAndNoDescriptorButThoseItKeeps) {
  const UniqueFd kept(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const UniqueFd other(::open("/dev/full", O_RDONLY | O_CLOEXEC));
  const absl::StatusOr<SideProcess> process = SideProcess::Start(
      "corral-side", {kept.get()},
      [](const UniqueFd& socket) { return SendPid(socket); });
  ASSERT_THAT(process.status(), IsOk());
  const pid_t pid = ReceivePid(*process);
  EXPECT_EQ(process->pid(), pid);
  std::string name;
  std::ifstream(absl::StrCat("/proc/", pid, "/comm")) >> name;
  EXPECT_EQ(name, "corral-side");
  std::map<int, std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/fd"), error)) {
    const int number = std::stoi(entry.path().filename().string());
    if (number > 2) {
      files[number] = std::filesystem::read_symlink(entry.path(), error);
    }
  }
  ASSERT_FALSE(error) << error.message();
  EXPECT_EQ(files.size(), 2u);
  EXPECT_EQ(files[kept.get()], "/dev/zero");
  for (const auto& [number, file] : files) {
    EXPECT_NE(file, "/dev/full");
  }
}

TEST(SideProcessTest, EndsWhenItIsDestroyed) {
  pid_t pid = -1;
  {
    const absl::StatusOr<SideProcess> process = SideProcess::Start(
        "corral-side", {},
        [](const UniqueFd& socket) { return SendPid(socket); });
    ASSERT_THAT(process.status(), IsOk());
    pid = ReceivePid(*process);
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(SideProcessTest, AwaitsTheEndOfTheSandbox) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const UniqueFd running(
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  ASSERT_EQ(::write(ours.get(), "e", 1), 1);
  EXPECT_TRUE(SideProcess::AwaitSandboxEnd(theirs, running));
  ours.Reset();
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  const UniqueFd init(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  EXPECT_TRUE(SideProcess::AwaitSandboxEnd(theirs, init));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(SideProcessTest, LearnsThatTheSandboxHasEnded) {
  const UniqueFd running(
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  const absl::StatusOr<SideProcess> process = SideProcess::Start(
      "corral-side", {running.get()}, [&running](const UniqueFd& socket) {
        const bool over = SideProcess::AwaitSandboxEnd(socket, running);
        return ::write(socket.get(), over ? "y" : "n", 1) == 1 ? 0 : 1;
      });
  ASSERT_THAT(process.status(), IsOk());
  process->ReportSandboxEnd();
  char over = '?';
  EXPECT_EQ(::read(process->socket(), &over, 1), 1);
  EXPECT_EQ(over, 'y');
}

TEST(SideProcessTest, IsFoundByNobodyWhoWaitsForChildren) {
  const absl::StatusOr<SideProcess> process =
      SideProcess::Start("corral-side", {}, [](const UniqueFd&) { return 7; });
  ASSERT_THAT(process.status(), IsOk());
  // The end of the stream: it has ended, or is about to.
  char byte;
  EXPECT_EQ(::read(process->socket(), &byte, 1), 0);
  EXPECT_EQ(::waitpid(-1, nullptr, 0), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(SideProcessTest, IsKilledWhenItDoesNotEnd) {
  pid_t pid = -1;
  {
    const absl::StatusOr<SideProcess> process = SideProcess::Start(
        "corral-side", {},
        [](const UniqueFd& socket) {
          SendPid(socket);
          for (;;) {
            ::pause();
          }
          return 0;
        },
        absl::Milliseconds(1));
    ASSERT_THAT(process.status(), IsOk());
    pid = ReceivePid(*process);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(SideProcessTest, IsNotStartedIfACallFails) {
  const std::map<int, std::string> calls = {
      {SYS_socketpair, "socket of corral-side"},
      {SYS_clone3, "start corral-side"}};
  for (const auto& [call, message] : calls) {
    absl::Status started;
    if (!tests::WithFailingCalls({call}, ENOMEM, [&] {
          started = SideProcess::Start("corral-side", {}, [](const UniqueFd&) {
                      return 0;
                    }).status();
        })) {
      GTEST_SKIP() << "this host allows no filter";
    }
    EXPECT_THAT(std::string(started.message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace sandbox

#include "sandbox/client/supervisor_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/program_image.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::corral::supervisor::v1::SandboxSpec;
using ::testing::StartsWith;
using ::tests::IsOk;

// The program at `path`, in place of that of supervisors.
UniqueFd ImageOf(const std::string& path) {
  return *MakeProgramImage("image", *ReadSmallFile(path));
}

// How the process ended, and by which signal or with which code; see wait(2).
std::pair<int, int> EndOf(const UniqueFd& pidfd) {
  siginfo_t info = {};
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED);
  return {info.si_code, info.si_status};
}

TEST(SupervisorProcessTest, HasTheOtherEndOfItsSocket) {
  const absl::StatusOr<SupervisorProcess> process = StartSupervisor(
      ImageOf("sandbox/base/reporting_program"), SandboxSpec::NESTED);
  ASSERT_THAT(process.status(), IsOk());
  pollfd readable = {process->socket.fd(), POLLIN, 0};
  while (::poll(&readable, 1, -1) != 1) {
  }
  char report[256];
  const ssize_t size =
      ::recv(process->socket.fd(), report, sizeof(report), MSG_DONTWAIT);
  ASSERT_GT(size, 0);
  // Its arguments and its descriptors; the fifth is that of its image.
  EXPECT_THAT(std::string(report, static_cast<size_t>(size)),
              StartsWith("corral-supervisor NESTED 0 1 2 3 4 null "));
  EXPECT_EQ(EndOf(*process->pidfd), std::make_pair(int{CLD_EXITED}, 0));
}

TEST(SupervisorProcessTest, IsKilled) {
  const absl::StatusOr<SupervisorProcess> process =
      StartSupervisor(ImageOf("/usr/bin/yes"), SandboxSpec::DEFAULT);
  ASSERT_THAT(process.status(), IsOk());
  KillSupervisor(*process->pidfd);
  EXPECT_EQ(EndOf(*process->pidfd), std::make_pair(int{CLD_KILLED}, SIGKILL));
}

TEST(SupervisorProcessTest, LeavesNoProcessThatItCannotWatch) {
  const UniqueFd image = ImageOf("/usr/bin/yes");
  absl::Status started;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pidfd_open}, EMFILE, [&] {
    started = StartSupervisor(image, SandboxSpec::DEFAULT).status();
  }));
  EXPECT_EQ(started.message(), "pidfd_open: Too many open files");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(SupervisorProcessTest, IsNotAliveOnceItHasEnded) {
  SupervisorProcess none;
  EXPECT_FALSE(IsAlive(none));
  auto pair = *PacketSocket::Pair();
  SupervisorProcess first{std::move(pair.first), nullptr};
  EXPECT_TRUE(IsAlive(first));
  pair.second = PacketSocket();
  EXPECT_FALSE(IsAlive(first));
}

TEST(SupervisorProcessTest, IsAliveIfItHasCompletedItsSandbox) {
  auto pair = *PacketSocket::Pair();
  SupervisorProcess first{std::move(pair.first), nullptr};
  ::corral::supervisor::v1::FromSupervisor answer;
  answer.mutable_reply()->set_request_id(1);
  EXPECT_TRUE(IsAlive(first));
  EXPECT_FALSE(first.answered);
  ASSERT_THAT(pair.second.Send(answer), IsOk());
  EXPECT_TRUE(IsAlive(first));
  EXPECT_TRUE(first.answered);
  EXPECT_TRUE(IsAlive(first)) << "the answer is read once";
  ASSERT_THAT(pair.second.Send(answer), IsOk());
  pair.second = PacketSocket();
  EXPECT_FALSE(IsAlive(first));
}

TEST(SupervisorProcessTest, IsNotAliveIfItCannotCompleteItsSandbox) {
  auto pair = *PacketSocket::Pair();
  SupervisorProcess first{std::move(pair.first), nullptr};
  ::corral::supervisor::v1::FromSupervisor answer;
  answer.mutable_reply()->set_failure(
      ::corral::supervisor::v1::Reply::WORKSPACE);
  ASSERT_THAT(pair.second.Send(answer), IsOk());
  EXPECT_FALSE(IsAlive(first));
  EXPECT_FALSE(IsAlive(first)) << "the answer is read once";
  EXPECT_FALSE(first.answered);
}

}  // namespace
}  // namespace sandbox

#include "sandbox/base/fd_passing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/status_matchers.h"
#include "tests/waiting_thread.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::tests::IsOk;
using ::tests::StatusIs;

class FdPassingTest : public ::testing::Test {
 protected:
  FdPassingTest() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    ours_.Reset(fds[0]);
    theirs_.Reset(fds[1]);
  }

  UniqueFd ours_;
  UniqueFd theirs_;
  char data_[8] = {};
};

TEST_F(FdPassingTest, PassesAPacketWithoutDescriptors) {
  ASSERT_THAT(SendWithFds(ours_.get(), "abc", 3, {}), IsOk());
  const absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(theirs_.get(), data_, sizeof(data_));
  ASSERT_THAT(packet.status(), IsOk());
  EXPECT_EQ(packet->size, 3u);
  EXPECT_STREQ(data_, "abc");
  EXPECT_THAT(packet->fds, IsEmpty());
}

TEST_F(FdPassingTest, PassesDescriptorsThatCloseOnExec) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const UniqueFd read_end(pipe[0]);
  const UniqueFd write_end(pipe[1]);
  const std::vector<int> sent(kMaxPassedFds, write_end.get());
  ASSERT_THAT(SendWithFds(ours_.get(), "x", 1, sent), IsOk());
  const absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(theirs_.get(), data_, sizeof(data_));
  ASSERT_THAT(packet.status(), IsOk());
  ASSERT_THAT(packet->fds, SizeIs(kMaxPassedFds));
  EXPECT_EQ(::fcntl(packet->fds.back().get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write(packet->fds.back().get(), "y", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
}

TEST_F(FdPassingTest, ReceivesNothingOfAPeerThatIsGone) {
  ours_.Reset();
  const absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(theirs_.get(), data_, sizeof(data_));
  ASSERT_THAT(packet.status(), IsOk());
  EXPECT_EQ(packet->size, 0u);
  EXPECT_EQ(SendPacket(theirs_.get(), "x", 1, {}, 0), EPIPE);
}

TEST_F(FdPassingTest, ReportsThatNothingIsThere) {
  const ReceivedPacket packet =
      ReceivePacket(theirs_.get(), data_, 1, MSG_DONTWAIT);
  EXPECT_EQ(packet.error, EAGAIN);
  EXPECT_EQ(packet.size, 0u);
  EXPECT_THAT(packet.fds, IsEmpty());
}

TEST_F(FdPassingTest, WaitsOnAfterASignal) {
  static std::atomic<bool> handled = false;
  // Without SA_RESTART, it ends a call that waits.
  struct sigaction action = {};
  action.sa_handler = [](int) { handled = true; };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  std::atomic<pid_t> receiver = 0;
  ReceivedPacket packet;
  std::thread thread([&] {
    receiver = ::gettid();
    packet = ReceivePacket(theirs_.get(), data_, sizeof(data_), 0);
  });
  while (!tests::WaitsIn(receiver, SYS_recvmsg)) {
    std::this_thread::yield();
  }
  ::syscall(SYS_tgkill, ::getpid(), receiver.load(), SIGUSR1);
  while (!handled) {
    std::this_thread::yield();
  }
  EXPECT_THAT(SendWithFds(ours_.get(), "abc", 3, {}), IsOk());
  thread.join();
  EXPECT_EQ(packet.error, 0);
  EXPECT_EQ(packet.size, 3u);
  EXPECT_STREQ(data_, "abc");
}

TEST_F(FdPassingTest, TakesOnlyDescriptorsOutOfAPacket) {
  // The identity of the sender then comes with each packet.
  const int on = 1;
  ASSERT_EQ(
      ::setsockopt(theirs_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
  ASSERT_THAT(SendWithFds(ours_.get(), "x", 1, {ours_.get()}), IsOk());
  const ReceivedPacket packet =
      ReceivePacket(theirs_.get(), data_, sizeof(data_), 0);
  EXPECT_EQ(packet.size, 1u);
  ASSERT_THAT(packet.fds, SizeIs(1));
  EXPECT_THAT(SendWithFds(packet.fds[0].get(), "y", 1, {}), IsOk());
}

TEST_F(FdPassingTest, ShowsThatBytesOfAPacketWereLost) {
  ASSERT_THAT(SendWithFds(ours_.get(), "12345678", 8, {}), IsOk());
  EXPECT_FALSE(
      ReceivePacket(theirs_.get(), data_, sizeof(data_), 0).bytes_lost);
  ASSERT_THAT(SendWithFds(ours_.get(), "123456789", 9, {}), IsOk());
  const ReceivedPacket longer =
      ReceivePacket(theirs_.get(), data_, sizeof(data_), 0);
  EXPECT_TRUE(longer.bytes_lost);
  EXPECT_FALSE(longer.fds_lost);
  EXPECT_EQ(longer.size, sizeof(data_));
}

TEST_F(FdPassingTest, ShowsThatDescriptorsOfAPacketWereLost) {
  // SendPacket() does not send so many.
  constexpr size_t kMany = kMaxPassedFds + 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMany * sizeof(int))] = {};
  char byte = 'x';
  iovec vector = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(kMany * sizeof(int));
  const std::vector<int> numbers(kMany, ours_.get());
  std::memcpy(CMSG_DATA(header), numbers.data(), kMany * sizeof(int));
  ASSERT_EQ(::sendmsg(ours_.get(), &message, 0), 1);
  const ReceivedPacket packet =
      ReceivePacket(theirs_.get(), data_, sizeof(data_), 0);
  EXPECT_TRUE(packet.fds_lost);
  EXPECT_FALSE(packet.bytes_lost);
  EXPECT_THAT(packet.fds, SizeIs(kMaxPassedFds));
}

TEST_F(FdPassingTest, NamesTheCallThatFails) {
  ours_.Reset();
  EXPECT_THAT(
      SendWithFds(theirs_.get(), "x", 1, {}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("send: ")));
  EXPECT_THAT(
      ReceiveWithFds(ours_.get(), data_, 1).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("receive: ")));
}

}  // namespace
}  // namespace sandbox

// Packet sockets whose peer is gone, and on a host that is short of something.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/base/unix_address.h"
#include "tests/failing_calls.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::_;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr size_t kLargestPacket = 64 << 10;

wire::WriteInput Message(size_t size) {
  wire::WriteInput message;
  message.set_data(std::string(size, 'x'));
  return message;
}

// A message that takes `size` bytes.
wire::WriteInput MessageOf(size_t size) {
  wire::WriteInput message = Message(size);
  while (message.ByteSizeLong() > size) {
    message.mutable_data()->pop_back();
  }
  return message;
}

class BrokenPacketSocketTest : public ::testing::Test {
 protected:
  BrokenPacketSocketTest() { std::tie(ours_, theirs_) = *PacketSocket::Pair(); }

  // The result of sending a message where a system call fails.
  absl::Status SendWithFailing(int call, int error, size_t size) {
    absl::Status sent;
    EXPECT_TRUE(tests::WithFailingCalls(
        {call}, error, [&] { sent = ours_.Send(Message(size)); }));
    return sent;
  }
  // Binds a socket to a name in TempDir().
  static UniqueFd Bind(int type, const std::string& name) {
    const UniqueFd directory(
        ::open(::testing::TempDir().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ::unlinkat(directory.get(), name.c_str(), 0);
    UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    const sockaddr_un address = UnixAddress(directory.get(), name);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof(address)),
              0);
    return socket;
  }

  PacketSocket ours_;
  PacketSocket theirs_;
  wire::WriteInput received_;
};

TEST_F(BrokenPacketSocketTest, NoticesAPeerThatLeftMessagesUnread) {
  ASSERT_THAT(ours_.Send(Message(1)), IsOk());
  theirs_ = PacketSocket();
  EXPECT_THAT(ours_.Send(Message(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(BrokenPacketSocketTest, HasNoPeerWithoutAConnection) {
  PacketSocket unconnected(
      UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
  PacketSocket file(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  PacketSocket none;
  for (PacketSocket* socket : {&unconnected, &file, &none}) {
    EXPECT_THAT(socket->Send(Message(1)),
                StatusIs(absl::StatusCode::kFailedPrecondition, _));
    EXPECT_THAT(socket->Receive(&received_).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition, _));
  }
}

TEST_F(BrokenPacketSocketTest, SaysThatAMessageCanNeverBeSent) {
  const int bytes = 4096;
  ASSERT_EQ(
      ::setsockopt(ours_.fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)),
      0);
  EXPECT_THAT(ours_.Send(Message(60'000)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("send: Message too long")));
}

TEST_F(BrokenPacketSocketTest, SaysThatAMessageMayBeSentLater) {
  for (const int call : {SYS_memfd_create, SYS_write, SYS_fcntl}) {
    EXPECT_THAT(
        SendWithFailing(call, ENOMEM, 1 << 20),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("memfd")));
  }
  EXPECT_THAT(
      SendWithFailing(SYS_sendmsg, ENOBUFS, 1),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("send: ")));
  EXPECT_FALSE(*theirs_.Receive(&received_));
}

TEST_F(BrokenPacketSocketTest, KeepsAMessageThatCannotBeReceivedNow) {
  ASSERT_THAT(ours_.Send(Message(3)), IsOk());
  absl::StatusOr<bool> received;
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_recvmsg}, ENOMEM, [&] { received = theirs_.Receive(&received_); }));
  EXPECT_FALSE(*received);
  ASSERT_TRUE(*theirs_.Receive(&received_));
  EXPECT_EQ(received_.data(), "xxx");
}

TEST_F(BrokenPacketSocketTest, KeepsALargeMessageForWhichNoDescriptorIsLeft) {
  ASSERT_THAT(ours_.Send(Message(1 << 20)), IsOk());
  UniqueFd fd(::fcntl(theirs_.fd(), F_DUPFD_CLOEXEC, 0));
  absl::StatusOr<bool> received;
  PacketSocket late;
  {
    const tests::NoDescriptors none;
    late = PacketSocket(std::move(fd));
    received = late.Receive(&received_);
  }
  ASSERT_THAT(received.status(), IsOk());
  EXPECT_FALSE(*received);
  ASSERT_TRUE(*late.Receive(&received_));
  EXPECT_EQ(received_.data().size(), size_t{1} << 20);
}

TEST_F(BrokenPacketSocketTest, ReportsALargeMessageThatCannotBeRead) {
  ASSERT_THAT(ours_.Send(Message(1 << 20)), IsOk());
  absl::Status received;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pread64}, EIO, [&] {
    received = theirs_.Receive(&received_).status();
  }));
  EXPECT_THAT(std::string(received.message()), HasSubstr("message memfd"));
}

TEST_F(BrokenPacketSocketTest, ReadsAMessageOfExactlyItsBound) {
  const UniqueFd memfd(
      ::memfd_create("largest", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memfd.get(), off_t{128} << 20), 0);
  ASSERT_EQ(::fcntl(memfd.get(), F_ADD_SEALS,
                    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
            0);
  ASSERT_THAT(SendWithFds(ours_.fd(), "", 0, {memfd.get()}), IsOk());
  // It has only zeros.
  EXPECT_THAT(theirs_.Receive(&received_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parse")));
}

TEST_F(BrokenPacketSocketTest, PassesDescriptorsWithTheLargestPacket) {
  const wire::WriteInput message = MessageOf(kLargestPacket);
  ASSERT_EQ(message.ByteSizeLong(), kLargestPacket);
  ASSERT_THAT(ours_.Send(message, {ours_.fd()}), IsOk());
  std::vector<UniqueFd> fds;
  ASSERT_TRUE(*theirs_.Receive(&received_, &fds));
  EXPECT_EQ(received_.data(), message.data());
  EXPECT_EQ(fds.size(), 1u);
}

TEST_F(BrokenPacketSocketTest, ReportsWhyItCannotConnect) {
  absl::Status connected;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_socket}, EMFILE, [&] {
    connected = PacketSocket::Connect(::testing::TempDir(), "x").status();
  }));
  EXPECT_THAT(connected, StatusIs(absl::StatusCode::kResourceExhausted,
                                  HasSubstr("socket(AF_UNIX)")));
  // Somebody listens, in another way.
  const UniqueFd listener = Bind(SOCK_STREAM, "stream");
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  connected = PacketSocket::Connect(::testing::TempDir(), "stream").status();
  EXPECT_FALSE(absl::IsNotFound(connected));
  EXPECT_THAT(std::string(connected.message()),
              HasSubstr("connect " + ::testing::TempDir()));
}

TEST_F(BrokenPacketSocketTest, ReportsThatTheProcessThatListenedHasEnded) {
  const UniqueFd listener = Bind(SOCK_SEQPACKET, "left");
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(::listen(listener.get(), 1));
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const absl::StatusOr<PacketSocket> connected =
      PacketSocket::Connect(::testing::TempDir(), "left");
  ASSERT_THAT(connected.status(), IsOk());
  EXPECT_THAT(connected->PeerProcess().status(),
              StatusIs(absl::StatusCode::kUnavailable, "the peer has ended"));
}

TEST_F(BrokenPacketSocketTest, ReportsThatThePeerCannotBeOpened) {
  absl::Status opened;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_pidfd_open}, EMFILE, [&] {
    opened = ours_.PeerProcess().status();
  }));
  EXPECT_THAT(opened, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("pidfd_open")));
}

}  // namespace
}  // namespace sandbox

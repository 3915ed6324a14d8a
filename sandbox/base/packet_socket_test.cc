#include "sandbox/base/packet_socket.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/base/unix_address.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::_;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

wire::WriteInput Message(size_t size) {
  wire::WriteInput message;
  message.set_offset(7);
  message.set_data(std::string(size, 'x'));
  return message;
}

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// Sends a packet that PacketSocket::Send() would not send.
void SendRaw(int socket, const std::string& data, const std::vector<int>& fds) {
  ASSERT_THAT(SendWithFds(socket, data.data(), data.size(), fds), IsOk());
}

class PacketSocketTest : public ::testing::Test {
 protected:
  PacketSocketTest() { std::tie(ours_, theirs_) = *PacketSocket::Pair(); }

  PacketSocket ours_;
  PacketSocket theirs_;
  wire::WriteInput received_;
};

TEST_F(PacketSocketTest, PassesMessagesWholeAndInOrder) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{64} << 10,
                            (size_t{64} << 10) + 1, size_t{4} << 20}) {
    ASSERT_THAT(ours_.Send(Message(size)), IsOk()) << size;
  }
  for (const size_t size : {size_t{0}, size_t{1}, size_t{64} << 10,
                            (size_t{64} << 10) + 1, size_t{4} << 20}) {
    ASSERT_TRUE(*theirs_.Receive(&received_)) << size;
    EXPECT_EQ(received_.data().size(), size);
    EXPECT_EQ(received_.offset(), 7u);
  }
  EXPECT_FALSE(*theirs_.Receive(&received_));
}

TEST_F(PacketSocketTest, PassesAMessageWithoutAnyFields) {
  received_ = Message(1);
  ASSERT_THAT(ours_.Send(wire::WriteInput()), IsOk());
  const auto got = theirs_.Receive(&received_);
  ASSERT_THAT(got.status(), IsOk());
  EXPECT_TRUE(*got);
  EXPECT_EQ(received_.ByteSizeLong(), 0U);
}

TEST_F(PacketSocketTest, PassesASnapshotOfTheMostExecutions) {
  wire::FromSupervisor message;
  for (int i = 0; i < 100'000; ++i) {
    wire::ExecutionRecord* record =
        message.mutable_snapshot()->add_executions();
    record->set_id(std::string(63, 'e'));
    record->set_create_time_ns(int64_t{1} << 60);
    record->set_start_time_ns(int64_t{1} << 60);
    record->set_end_time_ns(int64_t{1} << 60);
    record->mutable_request()->set_request_id(std::string(128, 'r'));
    for (int k = 0; k < 16; ++k) {
      record->mutable_exit()->add_killed()->set_command(std::string(15, 'k'));
    }
  }
  ASSERT_GT(message.ByteSizeLong(), size_t{32} << 20);
  ASSERT_THAT(ours_.Send(message), IsOk());
  wire::FromSupervisor received;
  ASSERT_TRUE(*theirs_.Receive(&received));
  EXPECT_EQ(received.snapshot().executions_size(), 100'000);
}

TEST_F(PacketSocketTest, PassesDescriptorsOnlyToAReceiverThatTakesThem) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ASSERT_THAT(ours_.Send(Message(1), {writer.get()}), IsOk());
  ASSERT_THAT(ours_.Send(Message(2), {writer.get(), reader.get()}), IsOk());
  writer.Reset();
  const size_t before = OpenDescriptors();
  ASSERT_TRUE(*theirs_.Receive(&received_));
  EXPECT_EQ(OpenDescriptors(), before);
  std::vector<UniqueFd> fds;
  ASSERT_TRUE(*theirs_.Receive(&received_, &fds));
  EXPECT_EQ(received_.data().size(), 2u);
  ASSERT_EQ(fds.size(), 2u);
  EXPECT_EQ(::write(fds[0].get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(PacketSocketTest, ReceivesAMessageWithoutDescriptorsWhenNoneIsLeft) {
  ASSERT_THAT(ours_.Send(Message(1), {ours_.fd()}), IsOk());
  std::vector<UniqueFd> fds;
  bool received;
  {
    const tests::NoDescriptors none;
    received = *theirs_.Receive(&received_, &fds);
  }
  EXPECT_TRUE(received);
  EXPECT_EQ(received_.data().size(), 1u);
  EXPECT_TRUE(fds.empty());
}

TEST_F(PacketSocketTest, ReceivesALargeMessageWhenNoDescriptorIsLeft) {
  ASSERT_THAT(ours_.Send(Message(1 << 20)), IsOk());
  ASSERT_THAT(ours_.Send(Message(2 << 20)), IsOk());
  bool first;
  bool second;
  {
    const tests::NoDescriptors none;
    first = *theirs_.Receive(&received_);
    second = *theirs_.Receive(&received_);
  }
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_EQ(received_.data().size(), size_t{2} << 20);
}

TEST_F(PacketSocketTest, KeepsADescriptorForTheNextLargeMessage) {
  ASSERT_THAT(ours_.Send(Message(1 << 20)), IsOk());
  bool received;
  UniqueFd another;
  {
    const tests::NoDescriptors none;
    received = *theirs_.Receive(&received_);
    another.Reset(::fcntl(theirs_.fd(), F_DUPFD_CLOEXEC, 0));
  }
  EXPECT_TRUE(received);
  EXPECT_FALSE(another.valid());
}

TEST_F(PacketSocketTest, ReportsThatTheHostIsShortOfDescriptors) {
  absl::Status sent;
  {
    const tests::NoDescriptors none;
    sent = ours_.Send(Message(1 << 20));
  }
  EXPECT_THAT(
      sent, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("memfd")));
  EXPECT_FALSE(*theirs_.Receive(&received_));
}

TEST_F(PacketSocketTest, ReportsThatThePeerDoesNotRead) {
  absl::Status sent;
  for (int i = 0; i < 100'000 && sent.ok(); ++i) {
    sent = ours_.Send(Message(1000));
  }
  EXPECT_THAT(sent, StatusIs(absl::StatusCode::kUnavailable, _));
  ASSERT_TRUE(*theirs_.Receive(&received_));
}

TEST_F(PacketSocketTest, ReportsThatThePeerIsGone) {
  ASSERT_THAT(ours_.Send(Message(1)), IsOk());
  ours_ = PacketSocket();
  EXPECT_TRUE(*theirs_.Receive(&received_));
  EXPECT_THAT(theirs_.Receive(&received_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(theirs_.Send(Message(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(PacketSocketTest, ClosesDescriptorsThatNoMessageNeeds) {
  const std::string data = Message(1).SerializeAsString();
  const size_t before = OpenDescriptors();
  SendRaw(ours_.fd(), data, {0});
  SendRaw(ours_.fd(), data, {0, 1, 2, 0, 1, 2, 0, 1, 2});
  ASSERT_TRUE(*theirs_.Receive(&received_));
  ASSERT_TRUE(*theirs_.Receive(&received_));
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(PacketSocketTest, ReadsNoDescriptorThatCouldChangeOrBlock) {
  UniqueFd memfd(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  SendRaw(ours_.fd(), "", {memfd.get()});
  EXPECT_THAT(
      theirs_.Receive(&received_).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sealed")));
  UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  SendRaw(ours_.fd(), "", {zero.get()});
  EXPECT_THAT(
      theirs_.Receive(&received_).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sealed")));
}

TEST_F(PacketSocketTest, ReadsNoMessageAboveItsBound) {
  UniqueFd memfd(::memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memfd.get(), (off_t{128} << 20) + 1), 0);
  ASSERT_EQ(::fcntl(memfd.get(), F_ADD_SEALS,
                    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
            0);
  SendRaw(ours_.fd(), "", {memfd.get()});
  EXPECT_THAT(
      theirs_.Receive(&received_).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("128 MiB")));
}

TEST_F(PacketSocketTest, RefusesWhatDoesNotParse) {
  SendRaw(ours_.fd(), "\xff\xff\xff", {});
  EXPECT_THAT(theirs_.Receive(&received_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parse")));
}

TEST_F(PacketSocketTest, FindsTheProcessThatListens) {
  UniqueFd directory(
      ::open(::testing::TempDir().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  ::unlinkat(directory.get(), "listens", 0);
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = UnixAddress(directory.get(), "listens");
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const absl::StatusOr<PacketSocket> connected =
      PacketSocket::Connect(::testing::TempDir(), "listens");
  ASSERT_THAT(connected.status(), IsOk());
  const absl::StatusOr<UniqueFd> process = connected->PeerProcess();
  ASSERT_THAT(process.status(), IsOk());
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", process->get()));
  const std::string text(std::istreambuf_iterator<char>(info), {});
  EXPECT_THAT(text, HasSubstr(absl::StrCat("Pid:\t", ::getpid(), "\n")));
  listener.Reset();
  EXPECT_THAT(connected->PeerProcess().status(),
              StatusIs(absl::StatusCode::kUnavailable, _));
  // The socket's file is still there, as after a supervisor's crash.
  EXPECT_THAT(PacketSocket::Connect(::testing::TempDir(), "listens").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("listens")));
}

TEST_F(PacketSocketTest, ReportsThatNobodyListens) {
  EXPECT_THAT(PacketSocket::Connect(::testing::TempDir(), "nobody").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nobody")));
}

TEST_F(PacketSocketTest, ReadsNoMessageThatOnlySomeSealsProtect) {
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE}) {
    UniqueFd memfd(::memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE |
                      F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    ASSERT_EQ(::fcntl(memfd.get(), F_ADD_SEALS, seals & ~missing), 0);
    SendRaw(ours_.fd(), "", {memfd.get()});
    EXPECT_THAT(
        theirs_.Receive(&received_).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sealed")))
        << missing;
  }
}

TEST_F(PacketSocketTest, RefusesALargeMessageThatDoesNotParse) {
  UniqueFd memfd(::memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::write(memfd.get(), "\xff\xff", 2), 2);
  ASSERT_EQ(::fcntl(memfd.get(), F_ADD_SEALS,
                    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
            0);
  SendRaw(ours_.fd(), "", {memfd.get()});
  EXPECT_THAT(theirs_.Receive(&received_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parse")));
  // The next message is whole.
  ASSERT_THAT(ours_.Send(Message(3)), IsOk());
  ASSERT_TRUE(*theirs_.Receive(&received_));
  EXPECT_EQ(received_.data(), "xxx");
}

TEST_F(PacketSocketTest, FindsTheProcessThatMadeBothEnds) {
  const absl::StatusOr<UniqueFd> process = ours_.PeerProcess();
  ASSERT_THAT(process.status(), IsOk());
  EXPECT_TRUE(process->valid());
  const PacketSocket none(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  EXPECT_THAT(std::string(none.PeerProcess().status().message()),
              HasSubstr("SO_PEERCRED"));
}

TEST_F(PacketSocketTest, ReportsADirectoryThatIsNotThere) {
  EXPECT_THAT(
      PacketSocket::Connect("/nowhere", "x").status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("open /nowhere")));
}

}  // namespace
}  // namespace sandbox

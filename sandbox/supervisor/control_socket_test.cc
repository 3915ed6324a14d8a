#include "sandbox/supervisor/control_socket.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

class ControlSocketTest : public ::testing::Test {
 protected:
  ControlSocketTest() {
    std::pair<PacketSocket, PacketSocket> pair = *PacketSocket::Pair();
    server_ = std::move(pair.first);
    first_ = pair.second.fd();
    control_ = std::make_unique<ControlSocket>(
        loop_.get(), std::move(pair.second),
        [this](const wire::ToSupervisor& request) {
          got_ += request.acknowledge().execution_id();
        },
        [this] {
          got_ += "connected ";
          wire::FromSupervisor hello;
          hello.mutable_snapshot();
          control_->Send(std::move(hello));
        },
        [this] { got_ += "gone "; });
  }
  static void Send(PacketSocket& socket, const std::string& id) {
    wire::ToSupervisor request;
    request.mutable_acknowledge()->set_execution_id(id);
    EXPECT_THAT(socket.Send(request), IsOk());
  }
  void RunOnce() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  PacketSocket server_;
  // The other end, owned by control_.
  int first_ = -1;
  std::unique_ptr<ControlSocket> control_;
  std::string got_;
};

TEST_F(ControlSocketTest, HandlesAllRequestsOfAServerThatIsReplaced) {
  const std::string directory = ::testing::TempDir();
  ASSERT_THAT(control_->Open(), IsOk());
  ASSERT_THAT(control_->Listen(directory), IsOk());
  // The new connection is ready first.
  absl::StatusOr<PacketSocket> next =
      PacketSocket::Connect(directory, "control.sock");
  ASSERT_THAT(next.status(), IsOk());
  Send(server_, "e1 ");
  Send(server_, "e2 ");
  Send(*next, "e3 ");
  RunOnce();
  EXPECT_EQ(got_, "e1 e2 connected e3 ");
}

TEST_F(ControlSocketTest, RefusesPeersOfAnotherUser) {
  constexpr uid_t kOther = 65534;
  // Another user can reach a directory in /tmp.
  std::string path = "/tmp/controlXXXXXX";
  const std::string directory = ::mkdtemp(path.data());
  ASSERT_THAT(control_->Open(), IsOk());
  ASSERT_THAT(control_->Listen(directory), IsOk());
  // The permissions let it connect.
  ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
  ASSERT_EQ(::chmod((directory + "/control.sock").c_str(), 0777), 0);
  if (::seteuid(kOther) != 0) {
    std::filesystem::remove_all(directory);
    GTEST_SKIP() << "only root can become another user";
  }
  absl::StatusOr<PacketSocket> other =
      PacketSocket::Connect(directory, "control.sock");
  ASSERT_EQ(::seteuid(::getuid()), 0);
  ASSERT_THAT(other.status(), IsOk());
  Send(*other, "e1 ");
  RunOnce();
  // The stranger got no message and none was accepted from it; the server is
  // still connected.
  EXPECT_EQ(got_, "");
  wire::FromSupervisor message;
  EXPECT_FALSE(other->Receive(&message).ok());
  Send(server_, "e2 ");
  RunOnce();
  EXPECT_EQ(got_, "e2 ");
}

TEST_F(ControlSocketTest,
       HandlesTheLastRequestsOfAServerBeforeItReportsItsEnd) {
  Send(server_, "e1 ");
  server_ = PacketSocket();
  RunOnce();
  EXPECT_EQ(got_, "e1 gone ");
}

TEST_F(ControlSocketTest, SendsNoOutputChangeOfAnExecutionWhoseEndHasIt) {
  wire::OutputChange change;
  change.set_execution_id("e1");
  control_->SendOutputChange(change);
  wire::FromSupervisor end;
  end.mutable_execution()->set_id("e1");
  end.mutable_execution()->mutable_exit();
  control_->Send(end);
  RunOnce();
  wire::FromSupervisor message;
  ASSERT_TRUE(server_.Receive(&message).value());
  EXPECT_TRUE(message.has_execution());
  EXPECT_FALSE(server_.Receive(&message).value());
}

TEST_F(ControlSocketTest, SendsTheChangesOfEventsThatCameTogetherAtOnce) {
  const UniqueFd first(::eventfd(1, EFD_CLOEXEC));
  const UniqueFd second(::eventfd(1, EFD_CLOEXEC));
  uint64_t end = 0;
  for (const UniqueFd* event : {&first, &second}) {
    loop_->Watch(event->get(), EPOLLIN, [this, event, &end](uint32_t) {
      loop_->Unwatch(event->get());
      wire::OutputChange change;
      change.set_execution_id("e1");
      change.add_streams()->set_end(++end);
      control_->SendOutputChange(change);
    });
  }
  RunOnce();
  wire::FromSupervisor message;
  ASSERT_TRUE(server_.Receive(&message).value());
  EXPECT_EQ(message.output_changed().changes(0).streams(0).end(), 2);
  EXPECT_FALSE(server_.Receive(&message).value());
}

TEST_F(ControlSocketTest, SendsOnlyTheLastOutputChangeOfEachExecution) {
  for (const uint64_t end : {1, 2}) {
    wire::OutputChange change;
    change.set_execution_id("e1");
    change.add_streams()->set_end(end);
    control_->SendOutputChange(change);
    change.set_execution_id("e2");
    control_->SendOutputChange(change);
  }
  RunOnce();
  wire::FromSupervisor message;
  ASSERT_TRUE(server_.Receive(&message).value());
  ASSERT_EQ(message.output_changed().changes_size(), 2);
  EXPECT_EQ(message.output_changed().changes(0).execution_id(), "e1");
  EXPECT_EQ(message.output_changed().changes(0).streams(0).end(), 2);
  EXPECT_EQ(message.output_changed().changes(1).execution_id(), "e2");
  EXPECT_FALSE(server_.Receive(&message).value());
}

TEST_F(ControlSocketTest, SendsWhatASocketDoesNotTakeLaterInOrder) {
  constexpr int kCount = 2000;
  wire::FromSupervisor message;
  message.mutable_reply()->set_message(std::string(1000, 'x'));
  for (int i = 1; i <= kCount; ++i) {
    message.mutable_reply()->set_request_id(static_cast<uint64_t>(i));
    control_->Send(message);
  }
  EXPECT_FALSE(control_->idle());
  for (int i = 1; i <= kCount; ++i) {
    wire::FromSupervisor received;
    if (!server_.Receive(&received).value()) {
      RunOnce();
      ASSERT_TRUE(server_.Receive(&received).value()) << i;
    }
    ASSERT_EQ(received.reply().request_id(), static_cast<uint64_t>(i));
  }
  EXPECT_TRUE(control_->idle());
  // It no longer waits for room, which there is.
  bool quiet = false;
  loop_->WhenIdle([&quiet] { quiet = true; });
  for (int turn = 0; turn < 5 && !quiet; ++turn) {
    loop_->After(absl::ZeroDuration(), [this] { loop_->Stop(); });
    loop_->Run();
  }
  EXPECT_TRUE(quiet);
}

// The descriptor of this process that listens.
int Listener() {
  for (int fd = 0;; ++fd) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    const int got =
        ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
    if ((got == 0 && listens == 1) || fd == 1000) {
      return fd;
    }
  }
}

TEST_F(ControlSocketTest, ForgetsItsSocketsAtItsEnd) {
  ASSERT_THAT(control_->Open(), IsOk());
  ASSERT_THAT(control_->Listen(::testing::TempDir()), IsOk());
  const int listener = Listener();
  for (const int socket : {listener, first_}) {
    loop_->SetEvents(socket, EPOLLIN);
  }
  control_.reset();
  for (const int socket : {listener, first_}) {
    EXPECT_DEATH(loop_->SetEvents(socket, 0), "is not watched");
  }
}

TEST_F(ControlSocketTest, SendsALargeMessageOnceADescriptorIsFree) {
  wire::FromSupervisor message;
  message.mutable_reply()->set_message(std::string(1 << 20, 'x'));
  {
    const tests::NoDescriptors none;
    control_->Send(message);
  }
  EXPECT_FALSE(control_->idle());
  while (!control_->idle()) {
    loop_->After(absl::Milliseconds(1), [this] { loop_->Stop(); });
    loop_->Run();
  }
  ASSERT_TRUE(server_.Receive(&message).value());
  EXPECT_EQ(message.reply().message().size(), size_t{1} << 20);
}

TEST_F(ControlSocketTest, KeepsNothingForAServerThatIsGone) {
  server_ = PacketSocket();
  RunOnce();
  EXPECT_EQ(got_, "gone ");
  wire::FromSupervisor message;
  message.mutable_reply();
  control_->Send(message);
  control_->SendOutputChange(wire::OutputChange());
  RunOnce();
  EXPECT_TRUE(control_->idle());
}

TEST_F(ControlSocketTest, GivesAnotherServerTheSnapshotFirst) {
  const std::string directory = ::testing::TempDir();
  ASSERT_THAT(control_->Open(), IsOk());
  ASSERT_THAT(control_->Listen(directory), IsOk());
  PacketSocket next = *PacketSocket::Connect(directory, "control.sock");
  // Meant for the first server: the snapshot will have it.
  wire::OutputChange change;
  change.set_execution_id("e1");
  control_->SendOutputChange(change);
  control_->SendOutputChange(change);
  RunOnce();
  wire::FromSupervisor message;
  ASSERT_TRUE(next.Receive(&message).value());
  EXPECT_TRUE(message.has_snapshot());
  EXPECT_FALSE(next.Receive(&message).value());
  // The first one is disconnected, after what was sent to it.
  while (server_.Receive(&message).ok()) {
  }
  message.mutable_reply()->set_message("for the second one");
  control_->Send(message);
  ASSERT_TRUE(next.Receive(&message).value());
  EXPECT_EQ(message.reply().message(), "for the second one");
}

TEST_F(ControlSocketTest, ReplacesWhatAnEarlierAttemptToListenLeft) {
  const std::string directory = ::testing::TempDir() + "/again";
  std::filesystem::create_directory(directory);
  std::ofstream(directory + "/control.sock.new") << "left";
  ASSERT_THAT(control_->Open(), IsOk());
  ASSERT_THAT(control_->Listen(directory), IsOk());
  EXPECT_THAT(PacketSocket::Connect(directory, "control.sock").status(),
              IsOk());
  EXPECT_FALSE(std::filesystem::exists(directory + "/control.sock.new"));
}

TEST_F(ControlSocketTest, FailsToListenWhereThereIsNoDirectory) {
  ASSERT_THAT(control_->Open(), IsOk());
  EXPECT_FALSE(control_->Listen("/nowhere").ok());
}

TEST_F(ControlSocketTest, DisconnectsAServerThatCannotBeSentTo) {
  server_ = PacketSocket();
  wire::FromSupervisor message;
  message.mutable_reply();
  control_->Send(message);
  EXPECT_TRUE(control_->idle());
  EXPECT_DEATH(loop_->SetEvents(first_, 0), "is not watched");
  // The caller of Send() does not expect it before its own next step.
  EXPECT_EQ(got_, "");
  RunOnce();
  EXPECT_EQ(got_, "gone ");
}

TEST_F(ControlSocketTest, DropsWhatAServerThatIsGoneDidNotRead) {
  wire::FromSupervisor message;
  message.mutable_reply()->set_message(std::string(1000, 'x'));
  for (int i = 0; i < 2000; ++i) {
    control_->Send(message);
  }
  control_->SendOutputChange(wire::OutputChange());
  EXPECT_FALSE(control_->idle());
  server_ = PacketSocket();
  RunOnce();
  EXPECT_TRUE(control_->idle());
}

}  // namespace
}  // namespace sandbox

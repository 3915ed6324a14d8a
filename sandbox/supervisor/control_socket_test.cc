#include "sandbox/supervisor/control_socket.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

class ControlSocketTest : public ::testing::Test {
 protected:
  ControlSocketTest() {
    std::pair<PacketSocket, PacketSocket> pair = *PacketSocket::Pair();
    server_ = std::move(pair.first);
    control_ = std::make_unique<ControlSocket>(
        loop_.get(), std::move(pair.second),
        [this](const wire::ToSupervisor& request) {
          got_ += request.acknowledge().execution_id();
        },
        [this] {
          got_ += "snapshot ";
          return wire::Snapshot();
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
  std::unique_ptr<ControlSocket> control_;
  std::string got_;
};

TEST_F(ControlSocketTest, HandlesAllRequestsOfAServerThatIsReplaced) {
  const std::string directory = ::testing::TempDir();
  ASSERT_THAT(control_->Listen(directory), IsOk());
  // The new connection is ready first.
  absl::StatusOr<PacketSocket> next =
      PacketSocket::Connect(directory, "control.sock");
  ASSERT_THAT(next.status(), IsOk());
  Send(server_, "e1 ");
  Send(server_, "e2 ");
  Send(*next, "e3 ");
  RunOnce();
  EXPECT_EQ(got_, "e1 e2 snapshot e3 ");
}

TEST_F(ControlSocketTest, RefusesPeersOfAnotherUser) {
  constexpr uid_t kOther = 65534;
  // Where another user can get to.
  std::string path = "/tmp/controlXXXXXX";
  const std::string directory = ::mkdtemp(path.data());
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
  // Nothing was said to it or taken from it, and the server is still there.
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

}  // namespace
}  // namespace sandbox

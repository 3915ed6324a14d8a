// The answer to a request for sockets, of a supervisor that the test plays.

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

class MadeSocketsTest : public ::testing::Test {
 protected:
  using Sockets = absl::StatusOr<std::vector<UniqueFd>>;

  MadeSocketsTest() {
    auto pair = PacketSocket::Pair();
    supervisor_ = std::move(pair->second);
    connection_ = std::make_unique<LocalSupervisorConnection>(
        loop_.get(), thread_.get_id(), std::move(pair->first), &recorder_,
        &let_go_, [] {});
    connection_->Listen(nullptr);
  }
  ~MadeSocketsTest() override {
    connection_.reset();
    loop_->Stop();
    thread_.join();
  }

  std::future<Sockets> Ask() {
    auto answer = std::make_shared<std::promise<Sockets>>();
    std::future<Sockets> sockets = answer->get_future();
    connection_->MakeSockets([answer = std::move(answer)](Sockets made) {
      answer->set_value(std::move(made));
    });
    return sockets;
  }
  // Answers the next request, which must be one for sockets.
  void Reply(wire::Reply::Failure failure, const std::vector<int>& fds) {
    pollfd readable = {supervisor_.fd(), POLLIN, 0};
    while (::poll(&readable, 1, -1) != 1) {
    }
    wire::ToSupervisor request;
    ASSERT_TRUE(*supervisor_.Receive(&request));
    EXPECT_TRUE(request.has_make_sockets());
    wire::FromSupervisor message;
    message.mutable_reply()->set_request_id(request.request_id());
    message.mutable_reply()->set_failure(failure);
    message.mutable_reply()->set_message("why");
    EXPECT_THAT(supervisor_.Send(message, fds), IsOk());
  }

  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create().value();
  std::thread thread_ = std::thread([this] { loop_->Run(); });
  Recorder recorder_;
  std::atomic<bool> let_go_ = false;
  PacketSocket supervisor_;
  std::unique_ptr<LocalSupervisorConnection> connection_;
};

TEST_F(MadeSocketsTest, ComeWithTheReply) {
  std::future<Sockets> answer = Ask();
  Reply(wire::Reply::NONE, {STDERR_FILENO, STDERR_FILENO});
  const Sockets sockets = answer.get();
  ASSERT_THAT(sockets.status(), IsOk());
  EXPECT_EQ(sockets->size(), 2u);
}

TEST_F(MadeSocketsTest, AreMissingForWantOfDescriptors) {
  std::future<Sockets> answer = Ask();
  Reply(wire::Reply::NONE, {});
  EXPECT_THAT(answer.get().status(),
              FailsWith(wire::Reply::SHORTAGE, HasSubstr("descriptor")));
}

TEST_F(MadeSocketsTest, AreRefusedByAnOldSupervisor) {
  std::future<Sockets> answer = Ask();
  Reply(wire::Reply::UNKNOWN_REQUEST, {});
  EXPECT_THAT(answer.get().status(),
              FailsWith(wire::Reply::UNKNOWN_REQUEST, "why"));
}

TEST_F(MadeSocketsTest, AreLostWithTheSupervisor) {
  std::future<Sockets> answer = Ask();
  supervisor_ = PacketSocket();
  EXPECT_THAT(answer.get().status(),
              FailsWith(wire::Reply::SUPERVISOR_GONE, _));
}

}  // namespace
}  // namespace sandbox

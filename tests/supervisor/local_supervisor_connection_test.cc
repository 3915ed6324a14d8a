// A connection to a supervisor that the test plays on a socketpair.

#include "sandbox/client/local_supervisor_connection.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/sandbox_creation.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_process.h"
#include "tests/failure_matchers.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

// A process that does nothing until it is killed.
class IdleProcess {
 public:
  IdleProcess() : pid_(::fork()) {
    while (pid_ == 0) {
      ::pause();
    }
    pidfd_ = std::make_shared<UniqueFd>(
        static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~IdleProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  IdleProcess(const IdleProcess&) = delete;
  IdleProcess& operator=(const IdleProcess&) = delete;

  const std::shared_ptr<UniqueFd>& pidfd() const { return pidfd_; }
  void AwaitEnd() const {
    pollfd ended = {pidfd_->get(), POLLIN, 0};
    while (::poll(&ended, 1, -1) != 1) {
    }
  }

 private:
  const pid_t pid_;
  std::shared_ptr<UniqueFd> pidfd_;
};

class LocalSupervisorConnectionTest : public ::testing::Test {
 protected:
  LocalSupervisorConnectionTest() {
    auto pair = PacketSocket::Pair();
    first_ = std::move(pair->second);
    connection_ = MakeConnection(thread_.get_id(), std::move(pair->first));
  }
  ~LocalSupervisorConnectionTest() override {
    connection_.reset();
    loop_->Stop();
    thread_.join();
  }

  std::unique_ptr<LocalSupervisorConnection> MakeConnection(
      std::thread::id loop_thread, PacketSocket socket) {
    return std::make_unique<LocalSupervisorConnection>(
        loop_.get(), loop_thread, std::move(socket), &recorder_, &let_go_,
        [] {});
  }

  SandboxCreation::Replace WithOther() {
    return [this]() -> absl::StatusOr<SupervisorProcess> {
      auto pair = PacketSocket::Pair();
      second_ = std::move(pair->second);
      replaced_.Callback()(absl::OkStatus());
      return SupervisorProcess{std::move(pair->first), other_.pidfd()};
    };
  }

  static wire::ToSupervisor Read(PacketSocket& socket) {
    pollfd readable = {socket.fd(), POLLIN, 0};
    while (::poll(&readable, 1, -1) != 1) {
    }
    wire::ToSupervisor request;
    EXPECT_TRUE(*socket.Receive(&request));
    return request;
  }

  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create().value();
  std::thread thread_ = std::thread([this] { loop_->Run(); });
  Recorder recorder_;
  const std::atomic<bool> let_go_ = false;
  // The supervisors' ends of the sockets, and processes that stand for them.
  PacketSocket first_;
  PacketSocket second_;
  const IdleProcess process_;
  const IdleProcess other_;
  Outcome created_;
  Outcome replaced_;
  std::unique_ptr<LocalSupervisorConnection> connection_;
};

TEST_F(LocalSupervisorConnectionTest,
       AsksAnotherSupervisorWhenOneDoesNotAnswer) {
  wire::SandboxSpec spec;
  spec.set_id("box");
  connection_->Create(spec, process_.pidfd(), absl::Milliseconds(1),
                      WithOther(), created_.Callback());
  EXPECT_EQ(Read(first_).create_sandbox().id(), "box");
  process_.AwaitEnd();
  first_ = PacketSocket();  // the kernel closes it at the end of a process
  ASSERT_THAT(replaced_.Wait(), IsOk());
  const wire::ToSupervisor request = Read(second_);
  EXPECT_EQ(request.create_sandbox().id(), "box");
  wire::FromSupervisor answer;
  answer.mutable_reply()->set_request_id(request.request_id());
  ASSERT_THAT(second_.Send(answer), IsOk());
  EXPECT_THAT(created_.Wait(), IsOk());
}

TEST_F(LocalSupervisorConnectionTest, ReplacesASupervisorOnce) {
  connection_->Create(
      {}, process_.pidfd(), absl::Hours(1),
      [this]() -> absl::StatusOr<SupervisorProcess> {
        // Its other end is closed when this returns.
        auto pair = PacketSocket::Pair();
        return SupervisorProcess{std::move(pair->first), other_.pidfd()};
      },
      created_.Callback());
  first_ = PacketSocket();
  EXPECT_THAT(created_.Wait(),
              FailsWith(wire::Reply::SUPERVISOR_GONE, HasSubstr("gone")));
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
}

TEST_F(LocalSupervisorConnectionTest,
       SendsLaterWhenTheHostIsShortOfDescriptors) {
  connection_->Listen(process_.pidfd());
  wire::WriteInput input;
  input.set_data(std::string(1 << 20, 'x'));
  {
    const tests::NoDescriptors none;
    connection_->WriteInput(input,
                            [](absl::Status, const wire::InputState&) {});
  }
  EXPECT_EQ(Read(first_).write_input().data(), input.data());
}

TEST_F(LocalSupervisorConnectionTest, KillsASupervisorWhoseConnectionFails) {
  connection_->Listen(process_.pidfd());
  ASSERT_GE(::send(first_.fd(), "\xff", 1, 0), 0);  // no message
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
  process_.AwaitEnd();
}

TEST_F(LocalSupervisorConnectionTest, ReportsASupervisorThatEndsUnasked) {
  auto pair = PacketSocket::Pair();
  ASSERT_THAT(pair.status(), IsOk());
  Outcome lost;
  LocalSupervisorConnection connection(
      loop_.get(), thread_.get_id(), std::move(pair->first), &recorder_,
      &let_go_, [&lost] { lost.Callback()(absl::OkStatus()); });
  connection.Listen(process_.pidfd());
  pair->second = PacketSocket();
  EXPECT_THAT(lost.Wait(), IsOk());
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
}

TEST_F(LocalSupervisorConnectionTest,
       KillsASupervisorThatDoesNotEndItsSandbox) {
  auto pair = PacketSocket::Pair();
  ASSERT_THAT(pair.status(), IsOk());
  LocalSupervisorConnection connection(
      loop_.get(), thread_.get_id(), std::move(pair->first), &recorder_,
      &let_go_, [] {}, absl::Milliseconds(1));
  connection.Listen(process_.pidfd());
  Outcome deleted;
  connection.DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                           deleted.Callback());
  process_.AwaitEnd();
  pair->second = PacketSocket();  // the kernel closes it then
  EXPECT_FALSE(deleted.Wait().ok());
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
}

TEST_F(LocalSupervisorConnectionTest,
       CanBeDestroyedOnTheLoopWithUnsentMessages) {
  auto pair = PacketSocket::Pair();
  ASSERT_THAT(pair.status(), IsOk());
  Outcome destroyed;
  loop_->Post([&, callback = destroyed.Callback()]() mutable {
    auto connection =
        MakeConnection(std::this_thread::get_id(), std::move(pair->first));
    connection->Listen(nullptr);
    wire::Acknowledge acknowledge;
    acknowledge.set_execution_id(std::string(1000, 'x'));
    // More than a socket takes.
    for (int i = 0; i < 2000; ++i) {
      connection->Acknowledge(acknowledge);
    }
    connection.reset();
    // After what it has posted.
    loop_->Post([callback = std::move(callback)]() mutable {
      callback(absl::OkStatus());
    });
  });
  EXPECT_THAT(destroyed.Wait(), IsOk());
}

}  // namespace
}  // namespace sandbox

// A connection whose supervisor is gone, whose server lets go, or that is
// destroyed.

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/connection_fixture.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/waiting_thread.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

// More than the delay before another attempt to send.
constexpr absl::Duration kFlushed = absl::Milliseconds(50);

// A thread that gets SIGUSR1 is held until this is true.
std::atomic<bool> released = false;

class EndedConnectionTest : public ConnectionFixture {
 protected:
  // Sends input, for which this process needs a descriptor.
  void SendMebibyte() {
    wire::WriteInput input;
    input.set_data(std::string(1 << 20, 'x'));
    connection_->WriteInput(input,
                            [](absl::Status, const wire::InputState&) {});
    // It has tried.
    AwaitIdle();
  }
  static wire::FromSupervisor StorageReport() {
    wire::FromSupervisor message;
    message.mutable_storage()->set_failure("full");
    return message;
  }
};

TEST_F(EndedConnectionTest, CanBeDestroyedOnTheLoopWithUnsentMessages) {
  auto pair = PacketSocket::Pair();
  ASSERT_THAT(pair.status(), IsOk());
  Outcome destroyed;
  loop_->Post([&, callback = destroyed.Callback()]() mutable {
    auto connection =
        MakeConnection(std::this_thread::get_id(), std::move(pair->first));
    connection->Listen(nullptr);
    Fill(*connection);
    connection.reset();
    // After what it has posted.
    loop_->Post([callback = std::move(callback)]() mutable {
      callback(absl::OkStatus());
    });
  });
  EXPECT_THAT(destroyed.Wait(), IsOk());
}

TEST_F(EndedConnectionTest, IsDestroyedAfterACallbackAndDoesNothingLater) {
  connection_->Listen(process_.pidfd());
  AwaitIdle();
  LocalSupervisorConnection* const connection = connection_.get();
  const pid_t owner = ::gettid();
  const pthread_t owner_thread = ::pthread_self();
  struct sigaction hold = {};
  struct sigaction before = {};
  hold.sa_handler = [](int) {
    while (!released) {
      ::sched_yield();
    }
  };
  ::sigaction(SIGUSR1, &hold, &before);
  std::atomic<bool> destroying = false;
  std::atomic<bool> destroyed = false;
  Outcome called;
  loop_->Post([&, done = called.Callback()]() mutable {
    while (!destroyed && !(destroying && tests::WaitsForALock(owner))) {
      std::this_thread::yield();
    }
    EXPECT_FALSE(destroyed);
    if (!destroyed) {
      // The loop is asked to send the rest when the connection has left it, but
      // its owner has not destroyed it.
      ::pthread_kill(owner_thread, SIGUSR1);
      Fill(*connection);
      loop_->Post([] { released = true; });
    }
    done(absl::OkStatus());
  });
  destroying = true;
  connection_.reset();
  destroyed = true;
  EXPECT_THAT(called.Wait(), IsOk());
  AwaitIdle();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(EndedConnectionTest, ForgetsItsSocketWhenItsLoopDestroysIt) {
  const std::unique_ptr<EventLoop> loop = EventLoop::Create().value();
  auto pair = PacketSocket::Pair();
  const int socket = pair->first.fd();
  auto connection = std::make_unique<LocalSupervisorConnection>(
      loop.get(), std::this_thread::get_id(), std::move(pair->first),
      &recorder_, &let_go_, [] {});
  connection->Listen(process_.pidfd());
  loop->Stop();
  loop->Run();
  loop->SetEvents(socket, EPOLLIN);
  connection.reset();
  EXPECT_DEATH(loop->SetEvents(socket, 0), "is not watched");
}

TEST_F(EndedConnectionTest, ForgetsItsSocketWhenAnotherThreadDestroysIt) {
  const std::unique_ptr<EventLoop> loop = EventLoop::Create().value();
  std::thread thread([&loop] { loop->Run(); });
  auto pair = PacketSocket::Pair();
  const int socket = pair->first.fd();
  auto connection = std::make_unique<LocalSupervisorConnection>(
      loop.get(), thread.get_id(), std::move(pair->first), &recorder_, &let_go_,
      [] {});
  connection->Listen(process_.pidfd());
  connection.reset();
  loop->Stop();
  thread.join();
  EXPECT_DEATH(loop->SetEvents(socket, 0), "is not watched");
}

TEST_F(EndedConnectionTest, WaitsForNoRoomOnceTheConnectionHasFailed) {
  connection_->Listen(process_.pidfd());
  AwaitIdle();
  loop_->Post([this] {
    // The loop hears of this before it is asked to wait for room.
    EXPECT_GE(::send(first_.fd(), "\xff", 1, 0), 0);  // no message
    Fill(*connection_);
  });
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
  AwaitIdle();
}

TEST_F(EndedConnectionTest, SendsNothingLaterOnceTheSupervisorIsGone) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan opens a pipe to look at the first object of a class";
#endif
  connection_->Listen(process_.pidfd());
  AwaitIdle();
  {
    const tests::NoDescriptors none;
    SendMebibyte();
    first_ = PacketSocket();
    AwaitIdle();
  }
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
  AwaitTimers(kFlushed);
}

TEST_F(EndedConnectionTest, DoesNothingOnceItsSupervisorIsLetGo) {
  connection_->Listen(process_.pidfd());
  Outcome never;
  connection_->Resize({}, never.Callback());
  Read(first_);
  let_go_ = true;
  Outcome asked;
  connection_->Resize({}, asked.Callback());
  connection_->Acknowledge({});
  wire::ToSupervisor more;
  EXPECT_FALSE(*first_.Receive(&more));
  first_ = PacketSocket();
  AwaitIdle();
  connection_.reset();
  EXPECT_EQ(lost_, 0);
  EXPECT_TRUE(process_.LivesOn());
  EXPECT_FALSE(recorder_.Ended("e1"));
}

TEST_F(EndedConnectionTest, WaitsForNoRoomOnceItsSupervisorIsLetGo) {
  connection_->Listen(process_.pidfd());
  AwaitIdle();
  loop_->Post([this] {
    // The loop hears of this before it is asked to wait for room.
    EXPECT_THAT(first_.Send(StorageReport()), IsOk());
    Fill(*connection_);
    let_go_ = true;
  });
  AwaitIdle();
  EXPECT_TRUE(process_.LivesOn());
}

TEST_F(EndedConnectionTest, SendsNothingLaterOnceItsSupervisorIsLetGo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan opens a pipe to look at the first object of a class";
#endif
  connection_->Listen(process_.pidfd());
  AwaitIdle();
  {
    const tests::NoDescriptors none;
    SendMebibyte();
    let_go_ = true;
    // It leaves its socket when it hears of this.
    ASSERT_THAT(first_.Send(StorageReport()), IsOk());
    AwaitIdle();
  }
  AwaitTimers(kFlushed);
  wire::ToSupervisor request;
  EXPECT_FALSE(*first_.Receive(&request));
}

TEST_F(EndedConnectionTest, ReportsNoFailedCreationOnceItIsLetGo) {
  loop_->Post([this] {
    connection_->FailCreation(absl::ResourceExhaustedError("no memory"),
                              [](const absl::Status&) { ADD_FAILURE(); });
    connection_->Resize({}, [](const absl::Status&) { ADD_FAILURE(); });
    let_go_ = true;
  });
  AwaitIdle();
  EXPECT_FALSE(recorder_.Ended("e1"));
}

TEST_F(EndedConnectionTest, ReportsNoFailedCreationOnceItIsDestroyed) {
  loop_->Post([this] {
    const auto connection =
        MakeConnection(std::this_thread::get_id(), PacketSocket());
    connection->FailCreation(absl::ResourceExhaustedError("no memory"),
                             [](const absl::Status&) { ADD_FAILURE(); });
    connection->Resize({}, [](const absl::Status&) { ADD_FAILURE(); });
  });
  AwaitIdle();
  EXPECT_FALSE(recorder_.Ended("e1"));
}

TEST_F(EndedConnectionTest, AsksNoSupervisorForASandboxOnceItIsLetGo) {
  let_go_ = true;
  connection_->Create({}, process_.pidfd(), absl::ZeroDuration(), WithOther(),
                      [](const absl::Status&) { ADD_FAILURE(); });
  AwaitIdle();
  wire::ToSupervisor request;
  EXPECT_FALSE(*first_.Receive(&request));
  EXPECT_TRUE(process_.LivesOn());
}

TEST_F(EndedConnectionTest, KillsNoSupervisorThatIsLetGo) {
  constexpr absl::Duration kPatience = absl::Milliseconds(1);
  auto pair = PacketSocket::Pair();
  ASSERT_THAT(pair.status(), IsOk());
  LocalSupervisorConnection connection(
      loop_.get(), thread_.get_id(), std::move(pair->first), &recorder_,
      &let_go_, [] {}, kPatience);
  connection.Listen(process_.pidfd());
  Outcome never;
  loop_->Post([&] {
    connection.DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                             never.Callback());
    // After the timer was set, and before it is due.
    loop_->Post([this] { let_go_ = true; });
  });
  AwaitIdle();
  AwaitTimers(kPatience);
  EXPECT_TRUE(process_.LivesOn());
}

}  // namespace
}  // namespace sandbox

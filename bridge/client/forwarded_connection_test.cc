#include "bridge/client/forwarded_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "bridge/client/connection.h"
#include "bridge/client/timing.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_port_server.h"
#include "tests/network/loopback.h"

namespace client {
namespace {

using corral::v1::ConnectPortRequest;
using sandbox::UniqueFd;
using ::tests::FakePortServer;

const grpc::Status kGone = {grpc::StatusCode::UNAVAILABLE, "gone"};
const grpc::Status kRefused = {grpc::StatusCode::FAILED_PRECONDITION,
                               "no server listens"};

// One connection, whose local program and whose server are the test.
class ForwardedConnectionTest : public ::testing::Test {
 protected:
  ForwardedConnectionTest() {
    auto [local, accepted] = tests::MakeConnection();
    local_ = std::move(local);
    accepted_ = std::move(accepted);
    ::fcntl(accepted_.get(), F_SETFL, O_NONBLOCK);
    observer_.server_gone = [this] {
      sandbox::MutexLock lock(&mutex_);
      ++gone_;
      mutex_.Signal();
    };
    observer_.over = [this](ForwardedConnection* connection,
                            const grpc::Status& status) {
      EXPECT_EQ(connection, forwarded_.get());
      sandbox::MutexLock lock(&mutex_);
      EXPECT_FALSE(over_.has_value());
      over_ = status;
      mutex_.Signal();
    };
  }
  ~ForwardedConnectionTest() override {
    loop_->Stop();
    thread_.join();
  }

  // The clock goes on by `tick` each time that it is read.
  void Begin(absl::Duration tick = absl::ZeroDuration(),
             const Timing& timing = {}) {
    ConnectOptions options;
    options.server = server_.address();
    options.timing = timing;
    options.timing.now = [this, tick] {
      time_ += tick;
      return time_;
    };
    connection_ = *Connection::Open(options);
    forwarded_ = std::make_unique<ForwardedConnection>(
        loop_, connection_.get(), FakePortServer::kSandbox, 8080,
        std::move(accepted_), &observer_);
    loop_->Post([this] { forwarded_->Begin(); });
  }
  void Connect() {
    Begin();
    call_ = server_.Accept();
    call_->Connect();
  }
  void Cancel() {
    loop_->Post([this] { forwarded_->Cancel(); });
  }

  grpc::Status AwaitOver() {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await(
        [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return over_.has_value(); });
    return *over_;
  }
  void AwaitGone(int times) {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([&]()
                     ABSL_NO_THREAD_SAFETY_ANALYSIS { return gone_ == times; });
  }
  int gone() {
    sandbox::MutexLock lock(&mutex_);
    return gone_;
  }

  FakePortServer server_;
  std::unique_ptr<Connection> connection_;
  std::shared_ptr<sandbox::EventLoop> loop_ = *sandbox::EventLoop::Create();
  // Belongs to the thread of the loop once the connection has begun.
  absl::Time time_ = absl::UnixEpoch() + absl::Hours(1);
  ForwardedConnection::Observer observer_;
  UniqueFd local_;
  UniqueFd accepted_;
  std::unique_ptr<ForwardedConnection> forwarded_;
  std::shared_ptr<FakePortServer::Call> call_;
  sandbox::Mutex mutex_;
  int gone_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<grpc::Status> over_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_{[this] { loop_->Run(); }};
};

TEST_F(ForwardedConnectionTest, GoesOnBackwardsWhenTheProgramHasEnded) {
  Connect();
  EXPECT_EQ(call_->opened().name(), FakePortServer::kSandbox);
  EXPECT_EQ(call_->opened().port(), 8080);
  tests::Send(local_.get(), "question");
  ::shutdown(local_.get(), SHUT_WR);
  EXPECT_EQ(call_->Receive(8), "question");
  EXPECT_TRUE(call_->Next().has_end());
  call_->Send("answer");
  EXPECT_EQ(tests::Receive(local_.get(), 6), "answer");
  call_->Send("more");
  call_->SendEnd();
  call_->Finish();
  EXPECT_EQ(tests::Receive(local_.get(), 100), "more");
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), 0);
  EXPECT_TRUE(AwaitOver().ok());
}

TEST_F(ForwardedConnectionTest, GoesOnForwardsWhenTheServerHasEnded) {
  Connect();
  call_->SendEnd();
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), 0);
  tests::Send(local_.get(), "late");
  EXPECT_EQ(call_->Receive(4), "late");
  local_.Reset();
  EXPECT_TRUE(call_->Next().has_end());
  call_->Finish();
  EXPECT_TRUE(AwaitOver().ok());
}

TEST_F(ForwardedConnectionTest, KeepsWhatIsSentBeforeItIsConnected) {
  Begin();
  tests::Send(local_.get(), "early");
  call_ = server_.Accept();
  call_->Connect();
  EXPECT_EQ(call_->Receive(5), "early");
  Cancel();
  AwaitOver();
}

TEST_F(ForwardedConnectionTest, ResetsTheProgramAfterTheDataBeforeAReset) {
  Connect();
  call_->Send("last words");
  call_->Finish({grpc::StatusCode::ABORTED, "reset"});
  EXPECT_EQ(tests::Receive(local_.get(), 10), "last words");
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(gone(), 0);
}

TEST_F(ForwardedConnectionTest, EndsTheCallWhenTheProgramResets) {
  Connect();
  tests::Send(local_.get(), "data");
  EXPECT_EQ(call_->Receive(4), "data");
  tests::ResetConnection(&local_);
  EXPECT_EQ(call_->Next().message_case(), ConnectPortRequest::MESSAGE_NOT_SET);
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ForwardedConnectionTest, IsResetAtOnceWhenThePortIsRefused) {
  Begin();
  server_.Accept()->Finish(kRefused);
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(AwaitOver().error_message(), kRefused.error_message());
  EXPECT_EQ(gone(), 0);
}

TEST_F(ForwardedConnectionTest, WaitsForAServerThatIsGone) {
  Begin();
  server_.Accept()->Finish(kGone);
  AwaitGone(1);
  call_ = server_.Accept();
  call_->Connect();
  call_->Send("hello");
  EXPECT_EQ(tests::Receive(local_.get(), 5), "hello");
  Cancel();
  AwaitOver();
}

TEST_F(ForwardedConnectionTest, WaitsForAServerThatRefusesForNow) {
  Begin();
  server_.Accept()->RefuseForNow();
  call_ = server_.Accept();
  call_->Connect();
  call_->Send("hello");
  EXPECT_EQ(tests::Receive(local_.get(), 5), "hello");
  // It need not be searched for.
  EXPECT_EQ(gone(), 0);
  Cancel();
  AwaitOver();
}

TEST_F(ForwardedConnectionTest, RepeatsNothingOnceItIsOpen) {
  Connect();
  call_->Send("hello");
  EXPECT_EQ(tests::Receive(local_.get(), 5), "hello");
  call_->Finish(kGone);
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(gone(), 0);
}

TEST_F(ForwardedConnectionTest, GivesUpWhenItsPatienceIsOver) {
  Timing timing;
  timing.patience = absl::Milliseconds(5);
  timing.retry_interval = absl::Milliseconds(1);
  Begin(absl::Milliseconds(1), timing);
  // The clock is read when a call begins and when it ends: the first ends at
  // 2 ms, and the fourth at 8 ms.
  for (int i = 0; i < 4; ++i) {
    server_.Accept()->Finish(kGone);
  }
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(gone(), 3);
}

TEST_F(ForwardedConnectionTest, IsPatientAnewAfterACallThatLasted) {
  Timing timing;
  timing.patience = absl::Milliseconds(5);
  timing.retry_interval = absl::Milliseconds(1);
  Begin(absl::Milliseconds(2), timing);
  for (int i = 0; i < 10; ++i) {
    server_.Accept()->Finish(kGone);
  }
  AwaitGone(10);
  Cancel();
  AwaitOver();
}

TEST_F(ForwardedConnectionTest, CanBeCancelledWhileItIsOpen) {
  Connect();
  call_->Send("hello");
  EXPECT_EQ(tests::Receive(local_.get(), 5), "hello");
  Cancel();
  Cancel();
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(call_->Next().message_case(), ConnectPortRequest::MESSAGE_NOT_SET);
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ForwardedConnectionTest, CanBeCancelledBeforeItIsConnected) {
  Begin();
  call_ = server_.Accept();
  Cancel();
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(call_->Next().message_case(), ConnectPortRequest::MESSAGE_NOT_SET);
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ForwardedConnectionTest, CanBeCancelledBetweenTwoAttempts) {
  Timing timing;
  timing.patience = absl::InfiniteDuration();
  timing.retry_interval = absl::Hours(1);
  Begin(absl::Milliseconds(1), timing);
  server_.Accept()->Finish(kGone);
  // The second attempt follows at once, the third after an hour.
  server_.Accept()->Finish(kGone);
  AwaitGone(2);
  bool inside = true;
  loop_->Post([&] {
    forwarded_->Cancel();
    forwarded_->Cancel();
    sandbox::MutexLock lock(&mutex_);
    inside = over_.has_value();
  });
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_FALSE(inside);
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
}

TEST_F(ForwardedConnectionTest, EndsWhenTheServerBreaksTheProtocol) {
  Begin();
  call_ = server_.Accept();
  call_->Send("before it is connected");
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ForwardedConnectionTest, EndsWhenTheServerEndsBeforeItIsConnected) {
  Begin();
  call_ = server_.Accept();
  call_->SendEnd();
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ForwardedConnectionTest, EndsWhenTheServerConnectsTwice) {
  Connect();
  call_->Connect();
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), -ECONNRESET);
  EXPECT_EQ(AwaitOver().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ForwardedConnectionTest, HoldsBackAServerWhoseDataNobodyTakes) {
  Connect();
  const std::string block(64 << 10, 'x');
  int sent = 0;
  std::thread server([&] {
    for (; sent < 400; ++sent) {
      call_->Send(block);
    }
    call_->SendEnd();
  });
  EXPECT_EQ(tests::Receive(local_.get(), 400 * block.size()).size(),
            400 * block.size());
  EXPECT_EQ(tests::ReceiveEnd(local_.get()), 0);
  server.join();
  ::shutdown(local_.get(), SHUT_WR);
  EXPECT_TRUE(call_->Next().has_end());
  call_->Finish();
  EXPECT_TRUE(AwaitOver().ok());
}

}  // namespace
}  // namespace client

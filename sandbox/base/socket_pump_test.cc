#include "sandbox/base/socket_pump.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "tests/network/loopback.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;
using ::tests::StatusIs;

class SocketPumpTest : public ::testing::Test, public SocketPump::Peer {
 protected:
  SocketPumpTest() {
    auto [outer, inner] = tests::MakeConnection();
    outer_ = std::move(outer);
    inner_ = inner.get();
    // Small, so that a few messages fill them.
    const int bytes = 16 << 10;
    ::setsockopt(inner_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    ::setsockopt(outer_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    ::fcntl(inner_, F_SETFL, O_NONBLOCK);
    pump_ = std::make_unique<SocketPump>(loop_.get(), std::move(inner), this);
    pump_->Begin();
  }
  // Takes all of `size` bytes from the pump, and returns the most that came at
  // once.
  size_t TakeAll(size_t size) {
    size_t most = 0;
    size_t taken = 0;
    for (int writes = 0; taken < size; pump_->OnWritten()) {
      Await([&] { return writes_ > writes; });
      writes = writes_;
      most = std::max(most, written_.size() - taken);
      taken = written_.size();
    }
    return most;
  }

  void Write(std::string data) override {
    ++writes_;
    written_ += data;
  }
  void WriteEnd() override { ++ends_; }
  void Read() override { ++reads_; }
  void OnEnd(const absl::Status& status) override {
    EXPECT_FALSE(status_.has_value());
    status_ = status;
  }

  void Await(const std::function<bool()>& condition) {
    while (!condition()) {
      loop_->After(absl::Milliseconds(1), [this] { loop_->Stop(); });
      loop_->Run();
    }
  }
  // Runs what is ready.
  void Settle() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }
  void AwaitEnd() {
    Await([this] { return status_.has_value(); });
  }
  // Gives the socket data until it takes no more.
  size_t Fill() {
    size_t size = 0;
    for (int reads = 0; reads != reads_; size += SocketPump::kMaxData) {
      reads = reads_;
      pump_->OnRead(std::string(SocketPump::kMaxData, 'x'));
    }
    return size;
  }

  // Waits until the pump's socket has been reset, before the loop hears of it.
  void ResetUnnoticed() {
    tests::ResetConnection(&outer_);
    pollfd reset = {inner_, 0, 0};
    ASSERT_EQ(::poll(&reset, 1, -1), 1);
  }
  // Dies if the loop still watches the socket, which was closed.
  void ExpectForgotten() {
    const UniqueFd next(::fcntl(event_.get(), F_DUPFD_CLOEXEC, inner_));
    ASSERT_EQ(next.get(), inner_);
    loop_->Watch(inner_, 0, [](uint32_t) {});
    loop_->Unwatch(inner_);
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  // Takes the number of a socket that was closed.
  const UniqueFd event_{::eventfd(0, EFD_CLOEXEC)};
  UniqueFd outer_;
  int inner_ = -1;
  std::unique_ptr<SocketPump> pump_;
  int writes_ = 0;
  std::string written_;
  int ends_ = 0;
  int reads_ = 0;
  std::optional<absl::Status> status_;
};

TEST_F(SocketPumpTest, PassesBytesBothWaysUntilBothHaveEnded) {
  EXPECT_EQ(reads_, 1);
  pump_->OnRead("question");
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(tests::Receive(outer_.get(), 8), "question");
  tests::Send(outer_.get(), "answer");
  Await([this] { return writes_ == 1; });
  EXPECT_EQ(written_, "answer");
  pump_->OnWritten();
  pump_->OnReadEnd();
  EXPECT_EQ(tests::ReceiveEnd(outer_.get()), 0);
  // The other direction goes on.
  tests::Send(outer_.get(), "more");
  Await([this] { return writes_ == 2; });
  pump_->OnWritten();
  ::shutdown(outer_.get(), SHUT_WR);
  Await([this] { return ends_ == 1; });
  EXPECT_FALSE(status_.has_value());
  pump_->OnWritten();
  EXPECT_THAT(status_.value(), IsOk());
  EXPECT_EQ(written_, "answermore");
  EXPECT_EQ(ends_, 1);
  // No reset.
  EXPECT_EQ(tests::ReceiveEnd(outer_.get()), 0);
  ExpectForgotten();
}

TEST_F(SocketPumpTest, EndsAlsoWhenThePeerIsTheLastToEnd) {
  ::shutdown(outer_.get(), SHUT_WR);
  Await([this] { return ends_ == 1; });
  pump_->OnWritten();
  pump_->OnRead("late");
  EXPECT_EQ(reads_, 2);
  EXPECT_FALSE(status_.has_value());
  pump_->OnReadEnd();
  EXPECT_THAT(status_.value(), IsOk());
  EXPECT_EQ(tests::Receive(outer_.get(), 100), "late");
  EXPECT_EQ(tests::ReceiveEnd(outer_.get()), 0);
}

TEST_F(SocketPumpTest, PassesDataOnAtOnce) {
  int on = 0;
  socklen_t size = sizeof(on);
  ::getsockopt(inner_, IPPROTO_TCP, TCP_NODELAY, &on, &size);
  EXPECT_NE(on, 0);
}

TEST_F(SocketPumpTest, TakesNoMoreFromTheSocketThanThePeer) {
  tests::Send(outer_.get(), "one");
  Await([this] { return writes_ == 1; });
  tests::Send(outer_.get(), "two");
  Settle();
  Settle();
  EXPECT_EQ(written_, "one");
  // It waits for the peer without turning the loop.
  pollfd busy = {inner_, POLLIN, 0};
  EXPECT_EQ(::poll(&busy, 1, -1), 1);
  pump_->OnWritten();
  EXPECT_EQ(written_, "onetwo");
  pump_->OnWritten();
  EXPECT_EQ(writes_, 2);
  tests::Send(outer_.get(), "three");
  Await([this] { return writes_ == 3; });
}

TEST_F(SocketPumpTest, SendsMessagesOfNoMoreThanTheLimit) {
  const std::string data(3 * SocketPump::kMaxData, 'd');
  std::thread sender([&] { EXPECT_TRUE(tests::Send(outer_.get(), data)); });
  EXPECT_LE(TakeAll(data.size()), SocketPump::kMaxData);
  sender.join();
  EXPECT_EQ(written_, data);
}

TEST_F(SocketPumpTest, SendsSmallerMessagesToAPeerThatTakesNoLargerOnes) {
  auto [outer, inner] = tests::MakeConnection();
  ::fcntl(inner.get(), F_SETFL, O_NONBLOCK);
  const std::string data(3 * SocketPump::kCompatibleData, 'd');
  // All of it can be received before the pump begins.
  const int bytes = 1 << 20;
  ::setsockopt(inner.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
  ASSERT_TRUE(tests::Send(outer.get(), data));
  pump_ = std::make_unique<SocketPump>(loop_.get(), std::move(inner), this,
                                       SocketPump::kCompatibleData);
  pump_->Begin();
  EXPECT_LE(TakeAll(data.size()), SocketPump::kCompatibleData);
  EXPECT_EQ(written_, data);
}

TEST_F(SocketPumpTest, AsksThePeerForNoMoreThanTheSocketTakes) {
  const size_t size = Fill();
  const int reads = reads_;
  Settle();
  EXPECT_EQ(reads_, reads);
  // The last message is not all in the socket.
  const size_t first = (size - SocketPump::kMaxData) / 2;
  EXPECT_EQ(tests::Receive(outer_.get(), first), std::string(first, 'x'));
  std::string rest;
  while (rest.size() < size - first) {
    Settle();
    char data[4096];
    const ssize_t got = ::recv(outer_.get(), data, sizeof(data), MSG_DONTWAIT);
    rest.append(data, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  EXPECT_EQ(rest, std::string(size - first, 'x'));
  Await([&] { return reads_ == reads + 1; });
  pump_->OnRead("last");
  EXPECT_EQ(tests::Receive(outer_.get(), 4), "last");
}

TEST_F(SocketPumpTest, ReportsAResetAfterAllDataBeforeIt) {
  tests::Send(outer_.get(), "first");
  Await([this] { return writes_ == 1; });
  tests::Send(outer_.get(), "second");
  tests::ResetConnection(&outer_);
  Settle();
  EXPECT_FALSE(status_.has_value());
  pump_->OnWritten();
  EXPECT_EQ(written_, "firstsecond");
  EXPECT_FALSE(status_.has_value());
  pump_->OnWritten();
  EXPECT_THAT(status_.value(),
              StatusIs(absl::StatusCode::kAborted, "the connection was reset"));
  EXPECT_EQ(ends_, 0);
}

TEST_F(SocketPumpTest, ReportsAResetToAPeerThatHasNothingToSay) {
  ASSERT_NO_FATAL_FAILURE(ResetUnnoticed());
  Settle();
  EXPECT_TRUE(absl::IsAborted(status_.value())) << "without patience";
  // Later calls change nothing.
  pump_->OnRead("late");
  pump_->OnReadEnd();
  pump_->OnWritten();
  EXPECT_EQ(reads_, 1);
}

TEST_F(SocketPumpTest, ReportsAResetAfterTheEndOfEitherDirection) {
  pump_->OnReadEnd();
  ASSERT_NO_FATAL_FAILURE(ResetUnnoticed());
  Settle();
  EXPECT_TRUE(absl::IsAborted(status_.value())) << "without patience";
}

TEST_F(SocketPumpTest, ReportsAResetOfAConnectionWhoseOtherEndHasFinished) {
  ::shutdown(outer_.get(), SHUT_WR);
  Await([this] { return ends_ == 1; });
  pump_->OnWritten();
  ASSERT_NO_FATAL_FAILURE(ResetUnnoticed());
  Settle();
  EXPECT_TRUE(absl::IsAborted(status_.value())) << "without patience";
}

TEST_F(SocketPumpTest, ReportsAResetWhileThePeerTakesTheEnd) {
  ::shutdown(outer_.get(), SHUT_WR);
  Await([this] { return ends_ == 1; });
  tests::ResetConnection(&outer_);
  Settle();
  Settle();
  pump_->OnWritten();
  AwaitEnd();
  EXPECT_TRUE(absl::IsAborted(*status_));
}

TEST_F(SocketPumpTest, GivesDataThatCameBeforeTheOtherEndTookNoMore) {
  tests::Send(outer_.get(), "answer");
  pollfd readable = {inner_, POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, -1), 1);
  ASSERT_NO_FATAL_FAILURE(ResetUnnoticed());
  pump_->OnRead("question");
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(written_, "answer");
  pump_->OnWritten();
  EXPECT_TRUE(absl::IsAborted(status_.value()));
}

TEST_F(SocketPumpTest, EndsAConnectionThatWasResetThoughThePeerTakesNothing) {
  tests::Send(outer_.get(), "data");
  Await([this] { return writes_ == 1; });
  Fill();
  tests::ResetConnection(&outer_);
  AwaitEnd();
  EXPECT_TRUE(absl::IsAborted(*status_));
  EXPECT_EQ(written_, "data");
  // A late call changes nothing.
  pump_->OnWritten();
  EXPECT_EQ(writes_, 1);
}

TEST_F(SocketPumpTest, EndsOnceThoughItHadPatienceLeft) {
  tests::Send(outer_.get(), "data");
  Await([this] { return writes_ == 1; });
  ASSERT_NO_FATAL_FAILURE(ResetUnnoticed());
  Settle();
  pump_->OnWritten();
  ASSERT_TRUE(status_.has_value());
  // Due after the patience.
  loop_->After(SocketPump::kResetPatience, [this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_TRUE(absl::IsAborted(*status_));
}

TEST_F(SocketPumpTest, ReportsAResetThatItFindsWhileItReceives) {
  tests::Send(outer_.get(), "data");
  Await([this] { return writes_ == 1; });
  ASSERT_NO_FATAL_FAILURE(ResetUnnoticed());
  pump_->OnWritten();
  EXPECT_TRUE(absl::IsAborted(status_.value()));
  // Later calls change nothing.
  pump_->OnRead("late");
  pump_->OnReadEnd();
  EXPECT_EQ(reads_, 1);
  ExpectForgotten();
}

TEST_F(SocketPumpTest, WaitsForThePeerWhenBothSidesOfTheSocketHaveEnded) {
  pump_->OnReadEnd();
  tests::Send(outer_.get(), "data");
  Await([this] { return writes_ == 1; });
  tests::Send(outer_.get(), "last");
  ::shutdown(outer_.get(), SHUT_WR);
  pollfd ended = {inner_, 0, 0};
  ASSERT_EQ(::poll(&ended, 1, -1), 1);
  // The loop comes to rest.
  Settle();
  Settle();
  EXPECT_EQ(written_, "data");
  pump_->OnWritten();
  pump_->OnWritten();
  EXPECT_EQ(written_, "datalast");
  EXPECT_EQ(ends_, 1);
  pump_->OnWritten();
  EXPECT_THAT(status_.value(), IsOk());
}

TEST_F(SocketPumpTest, ResetsAConnectionThatThePeerLeaves) {
  pump_.reset();
  EXPECT_EQ(tests::ReceiveEnd(outer_.get()), -ECONNRESET);
  Settle();
  EXPECT_FALSE(status_.has_value());
  ExpectForgotten();
}

TEST_F(SocketPumpTest, ResetsAConnectionThatThePeerLeavesAfterOneEnd) {
  pump_->OnReadEnd();
  EXPECT_EQ(tests::ReceiveEnd(outer_.get()), 0);
  pump_.reset();
  pollfd end = {outer_.get(), 0, 0};
  ASSERT_EQ(::poll(&end, 1, -1), 1);
  EXPECT_NE(end.revents & POLLERR, 0);
}

}  // namespace
}  // namespace sandbox

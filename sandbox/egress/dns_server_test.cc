#include "sandbox/egress/dns_server.h"

#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/egress/ip_address.h"
#include "tests/closed_watches.h"
#include "tests/fakes/fake_timers.h"
#include "tests/network/dns_query.h"
#include "tests/network/upstream_server.h"

namespace egress {
namespace {

using sandbox::UniqueFd;
using tests::MakeDnsQuery;
using tests::ReadUntil;
using tests::SendAll;

constexpr int kNonBlocking = SOCK_CLOEXEC | SOCK_NONBLOCK;

// `message` after its length.
std::string Framed(const std::string& message) {
  return std::string(1, static_cast<char>(message.size() >> 8)) +
         std::string(1, static_cast<char>(message.size())) + message;
}

// A server on the host's loopback that refuses every name.
class DnsServerTest : public ::testing::Test {
 protected:
  DnsServerTest() {
    UniqueFd udp = Bind(SOCK_DGRAM, &udp_);
    UniqueFd tcp = Bind(SOCK_STREAM, &tcp_);
    listener_ = tcp.get();
    ::listen(tcp.get(), 256);
    server_ = std::make_unique<DnsServer>(loop_.get(), &timers_, &service_,
                                          std::move(udp), std::move(tcp));
    thread_ = std::thread([this] { loop_->Run(); });
  }
  ~DnsServerTest() override { Stop(); }
  void Stop() {
    if (thread_.joinable()) {
      loop_->Stop();
      thread_.join();
      server_.reset();
    }
  }
  static UniqueFd Bind(int type, sockaddr_storage* name) {
    UniqueFd socket(::socket(AF_INET, type | kNonBlocking, 0));
    socklen_t size = IpAddress::Parse("127.0.0.1")->ToSocket(0, name);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(name), size), 0);
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(name), &size);
    return socket;
  }
  static UniqueFd Connect(int type, const sockaddr_storage& name) {
    UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name),
                        sizeof(sockaddr_in)),
              0);
    return socket;
  }
  // Lets `duration` pass for the server.
  void Advance(absl::Duration duration) {
    loop_->Post([this, duration] { timers_.Advance(duration); });
  }
  UniqueFd ConnectTcp() { return Connect(SOCK_STREAM, tcp_); }

  const Policy policy_ = *Policy::Make({});
  const UniqueFd file_ = *NameTable::MakeFile();
  NameTable names_ = *NameTable::Open(file_);
  Journal journal_{[](const wire::Event&) { return true; }};
  NameService service_{&policy_, &names_, &journal_, true};
  sockaddr_storage udp_;
  sockaddr_storage tcp_;
  const std::unique_ptr<sandbox::EventLoop> loop_ =
      *sandbox::EventLoop::Create();
  // Used on the thread of the loop.
  tests::FakeTimers timers_;
  std::unique_ptr<DnsServer> server_;
  // Owned by the server.
  int listener_ = -1;
  std::thread thread_;
  const std::string question_ = MakeDnsQuery("a.com", 1);
  const std::string answer_ = service_.Answer(question_);
};

TEST_F(DnsServerTest, AnswersEachDatagramAndDropsWhatDeservesNoAnswer) {
  const UniqueFd socket = Connect(SOCK_DGRAM, udp_);
  ASSERT_TRUE(SendAll(socket.get(), "short"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(SendAll(socket.get(), question_));
    char bytes[512];
    const ssize_t got = ::recv(socket.get(), bytes, sizeof(bytes), 0);
    EXPECT_EQ(std::string(bytes, static_cast<size_t>(got)), answer_);
  }
}

TEST_F(DnsServerTest, AnswersSeveralQuestionsOfAConnection) {
  const UniqueFd socket = ConnectTcp();
  const std::string framed = Framed(question_);
  ASSERT_TRUE(SendAll(socket.get(), framed + framed + framed.substr(0, 1)));
  ASSERT_TRUE(SendAll(socket.get(), framed.substr(1)));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(ReadUntil(socket.get(), ""),
            Framed(answer_) + Framed(answer_) + Framed(answer_));
}

TEST_F(DnsServerTest, SendsNothingForAMessageThatDeservesNoAnswer) {
  const UniqueFd socket = ConnectTcp();
  ASSERT_TRUE(
      SendAll(socket.get(), Framed("") + Framed("short") + Framed(question_)));
  EXPECT_EQ(ReadUntil(socket.get(), answer_), Framed(answer_));
}

TEST_F(DnsServerTest, TakesMessagesUpToItsBound) {
  const UniqueFd largest = ConnectTcp();
  const std::string padding(4096 - question_.size(), 'x');
  ASSERT_TRUE(SendAll(largest.get(), Framed(question_ + padding)));
  EXPECT_EQ(ReadUntil(largest.get(), answer_), Framed(answer_));
  const UniqueFd larger = ConnectTcp();
  ASSERT_TRUE(
      SendAll(larger.get(), Framed(question_ + padding + 'x').substr(0, 100)));
  EXPECT_EQ(ReadUntil(larger.get(), ""), "");
}

TEST_F(DnsServerTest, ClosesConnectionsAboveItsBoundAtOnce) {
  std::vector<UniqueFd> sockets;
  for (size_t i = 0; i < DnsServer::kMaxClients; ++i) {
    sockets.push_back(ConnectTcp());
  }
  const UniqueFd further = ConnectTcp();
  EXPECT_EQ(ReadUntil(further.get(), ""), "");
  ASSERT_TRUE(SendAll(sockets.back().get(), Framed(question_)));
  EXPECT_EQ(ReadUntil(sockets.back().get(), answer_), Framed(answer_));
  // There is room again.
  ::shutdown(sockets[0].get(), SHUT_WR);
  EXPECT_EQ(ReadUntil(sockets[0].get(), ""), "");
  const UniqueFd next = ConnectTcp();
  ASSERT_TRUE(SendAll(next.get(), Framed(question_)));
  EXPECT_EQ(ReadUntil(next.get(), answer_), Framed(answer_));
}

TEST_F(DnsServerTest, ClosesAConnectionThatDoesNotReadItsAnswers) {
  const int small = 4096;
  ::setsockopt(listener_, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
  const UniqueFd socket = ConnectTcp();
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  int sent = 0;
  while (sent < 200'000 && SendAll(socket.get(), Framed(question_))) {
    ++sent;
  }
  EXPECT_LT(sent, 200'000);
}

TEST_F(DnsServerTest, ClosesItsConnectionsWhenItIsDestroyed) {
  const UniqueFd socket = ConnectTcp();
  ASSERT_TRUE(SendAll(socket.get(), Framed(question_)));
  EXPECT_EQ(ReadUntil(socket.get(), answer_), Framed(answer_));
  Stop();
  EXPECT_EQ(ReadUntil(socket.get(), ""), "");
  // Nothing is watched and no timer is left that would refer to it.
  tests::ExpectNoClosedWatch(loop_.get());
  EXPECT_EQ(timers_.size(), 0U);
  loop_->WhenIdle([this] { loop_->Stop(); });
  loop_->Run();
}

TEST_F(DnsServerTest, ClosesAConnectionAfterALimitedTime) {
  const UniqueFd early = ConnectTcp();
  ASSERT_TRUE(SendAll(early.get(), Framed(question_)));
  EXPECT_EQ(ReadUntil(early.get(), answer_), Framed(answer_));
  Advance(DnsServer::kClientTime - absl::Milliseconds(1));
  const UniqueFd late = ConnectTcp();
  for (const UniqueFd* socket : {&early, &late}) {
    ASSERT_TRUE(SendAll(socket->get(), Framed(question_)));
    EXPECT_EQ(ReadUntil(socket->get(), answer_), Framed(answer_));
  }
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(ReadUntil(early.get(), ""), "");
  ASSERT_TRUE(SendAll(late.get(), Framed(question_)));
  EXPECT_EQ(ReadUntil(late.get(), answer_), Framed(answer_));
}

}  // namespace
}  // namespace egress

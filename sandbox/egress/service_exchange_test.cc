// An exchange until its upstream is reached: what ends it, and what its program
// gets. Its upstream is in service_upstream_test.

#include "sandbox/egress/service_exchange.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/dialer.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/egress/service_exchange_fixture.h"

namespace egress {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kMoment = absl::Milliseconds(1);

// The answer that refuses a request.
std::string Refusal(const std::string& status, const std::string& why) {
  const std::string text = absl::StrCat("Corral: service model: ", why, "\n");
  return absl::StrCat("HTTP/1.1 ", status,
                      "\r\nContent-Type: text/plain\r\nContent-Length: ",
                      text.size(), "\r\nConnection: close\r\n\r\n", text);
}

// A port of the host's loopback whose attempts to connect stay without an
// answer, because its queue is full.
class SilentPort {
 public:
  SilentPort() {
    sockaddr_storage name;
    socklen_t size = IpAddress::Parse("127.0.0.1")->ToSocket(0, &name);
    auto* const address = reinterpret_cast<sockaddr*>(&name);
    EXPECT_EQ(::bind(listener_.get(), address, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    ::getsockname(listener_.get(), address, &size);
    EXPECT_EQ(::connect(queued_.get(), address, size), 0);
    port_ = ntohs(reinterpret_cast<sockaddr_in*>(&name)->sin_port);
  }
  uint16_t port() const { return port_; }

 private:
  const sandbox::UniqueFd listener_{
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const sandbox::UniqueFd queued_{
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  uint16_t port_ = 0;
};

TEST_F(ServiceExchangeTest, WaitsForARequestForALimitedTime) {
  Start(1);
  Send("POST /v1 HTT");
  Settle();
  timers_.Advance(ServiceExchange::kRequestTime - kMoment);
  EXPECT_THAT(reports_, IsEmpty());
  timers_.Advance(kMoment);
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED NO_REQUEST"));
  EXPECT_THAT(ends_, ElementsAre(true));
  EXPECT_EQ(exchange_->moved(), 0U);
}

TEST_F(ServiceExchangeTest, EndsWhenTheProgramLeavesWithoutARequest) {
  Start(1);
  ::shutdown(program_.get(), SHUT_WR);
  RunUntilEnd();
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED NO_REQUEST"));
  EXPECT_THAT(ends_, ElementsAre(true));
  EXPECT_EQ(timers_.size(), 0U);
}

TEST_F(ServiceExchangeTest, EndsWhenTheProgramBreaksOffWithoutARequest) {
  Start(1);
  // Bytes that the program has not read make its close a reset.
  ASSERT_EQ(::send(client_.get(), "x", 1, 0), 1);
  program_.Reset();
  RunUntilEnd();
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED NO_REQUEST"));
}

TEST_F(ServiceExchangeTest, IgnoresAReportWithoutBytes) {
  Start(1);
  exchange_->OnClient(EPOLLIN);
  EXPECT_THAT(reports_, IsEmpty());
  Send("x\r\n\r\n");
  RunUntilReport();
  exchange_->OnClient(EPOLLIN);
  EXPECT_THAT(ends_, IsEmpty());
}

TEST_F(ServiceExchangeTest, WaitsUntilTheProgramHasClosedAfterARefusal) {
  Start(1);
  Send("x\r\n\r\n");
  RunUntilReport();
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED NOT_WEB"));
  EXPECT_EQ(Received(),
            Refusal("400 Bad Request", "the request is no valid HTTP/1"));
  Send("more");
  Settle();
  EXPECT_THAT(ends_, IsEmpty());
  ::shutdown(program_.get(), SHUT_WR);
  RunUntilEnd();
  EXPECT_THAT(ends_, ElementsAre(false));
  EXPECT_EQ(reports_.size(), 1U);
  EXPECT_EQ(timers_.size(), 0U);
}

TEST_F(ServiceExchangeTest, NoticesThatTheProgramBreaksOffAfterARefusal) {
  Start(1);
  Send("x\r\n\r\n");
  RunUntilReport();
  // It has not read the answer.
  program_.Reset();
  RunUntilEnd();
  EXPECT_THAT(ends_, ElementsAre(false));
}

TEST_F(ServiceExchangeTest, EndsWhenTheProgramDoesNotCloseInTime) {
  Start(1);
  Send("x\r\n\r\n");
  RunUntilReport();
  timers_.Advance(ServiceExchange::kCloseTime - kMoment);
  EXPECT_THAT(ends_, IsEmpty());
  timers_.Advance(kMoment);
  EXPECT_THAT(ends_, ElementsAre(false));
  EXPECT_EQ(reports_.size(), 1U);
}

TEST_F(ServiceExchangeTest, ReportsNothingMoreAtALimitAfterARefusal) {
  Start(1);
  Send("x\r\n\r\n");
  RunUntilReport();
  exchange_->Expire(Event::TOTAL_TIME);
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED NOT_WEB"));
  EXPECT_THAT(ends_, ElementsAre(true));
  EXPECT_EQ(timers_.size(), 0U);
}

TEST_F(ServiceExchangeTest, ReportsALimitBeforeTheUpstreamAsARefusal) {
  Start(1);
  exchange_->Expire(Event::TOTAL_TIME);
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED TOTAL_TIME"));
  EXPECT_THAT(ends_, ElementsAre(true));
  EXPECT_EQ(timers_.size(), 0U);
  // Nothing follows.
  exchange_->OnClient(EPOLLIN);
  EXPECT_EQ(reports_.size(), 1U);
}

TEST_F(ServiceExchangeTest, RefusesOtherHosts) {
  Start(1);
  Send("GET / HTTP/1.1\r\nHost: other.example\r\n\r\n");
  RunUntilReport();
  EXPECT_THAT(reports_,
              ElementsAre("CONNECTION_REFUSED HOST_DIFFERS other.example"));
  EXPECT_EQ(Received(), Refusal("400 Bad Request",
                                "the request must name the host "
                                "model.corral.internal"));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(ServiceExchangeTest, RefusesTrace) {
  Start(1);
  Send("TRACE / HTTP/1.1\r\nHost: model.corral.internal\r\n\r\n");
  RunUntilReport();
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED NOT_WEB"));
  EXPECT_EQ(Received(),
            Refusal("405 Method Not Allowed", "TRACE is not passed on"));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(ServiceExchangeTest, ReadsNothingWhileItWaitsForTheCredential) {
  Start(1);
  Request("Content-Length: 4\r\n");
  EXPECT_THAT(asked_, ElementsAre("model"));
  // The supervisor has a limit of its own.
  EXPECT_EQ(timers_.size(), 0U);
  Send("body");
  Settle();
  char byte;
  EXPECT_EQ(::recv(client_.get(), &byte, 1, MSG_PEEK), 1);
}

TEST_F(ServiceExchangeTest, SaysThatThereIsNoCredentialAndWaitsForTheEnd) {
  Start(1);
  Request();
  Answer("");
  RunUntilReport();
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED NO_CREDENTIAL"));
  EXPECT_EQ(Received(), Refusal("502 Bad Gateway", "no value"));
  // Further bytes do not hold the program back.
  Send("more");
  Settle();
  char byte;
  EXPECT_LT(::recv(client_.get(), &byte, 1, MSG_PEEK), 0);
  EXPECT_THAT(ends_, IsEmpty());
  ::shutdown(program_.get(), SHUT_WR);
  RunUntilEnd();
  EXPECT_THAT(ends_, ElementsAre(false));
}

TEST_F(ServiceExchangeTest, IgnoresACredentialThatComesAfterItsEnd) {
  Start(1);
  Request();
  program_.Reset();
  RunUntilEnd();
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED BROKEN"));
  EXPECT_THAT(ends_, ElementsAre(true));
  Answer("secret");
  Settle();
  EXPECT_EQ(reports_.size(), 1U);
  EXPECT_EQ(waiting_.size(), 0U) << "the answer came";
}

TEST_F(ServiceExchangeTest, MayBeDestroyedBeforeItsCredentialComes) {
  Start(1);
  Request();
  loop_->Unwatch(client_.get());
  exchange_.reset();
  Answer("secret");
  Settle();
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_EQ(waiting_.size(), 0U) << "the answer came";
}

TEST_F(ServiceExchangeTest, SaysWhyItsUpstreamCannotBeReached) {
  names_.Set(kUpstream, {"127.0.0.2"});
  Start(1);
  Request();
  Answer("secret");
  RunUntilReport();
  EXPECT_THAT(reports_,
              ElementsAre("CONNECTION_REFUSED ADDRESS_NOT_ALLOWED 127.0.0.2"));
  EXPECT_EQ(Received(), Refusal("502 Bad Gateway",
                                "the address of its upstream is not public, "
                                "and the server's egress.private_networks do "
                                "not allow it"));
}

TEST_F(ServiceExchangeTest, NoticesThatTheProgramLeavesWhileItConnects) {
  const SilentPort silent;
  Start(silent.port());
  Request();
  Answer("secret");
  // The attempt to connect has a limit.
  RunUntil([this] { return timers_.size() == 1; });
  exchange_->OnClient(EPOLLIN);
  EXPECT_THAT(reports_, IsEmpty());
  program_.Reset();
  RunUntilEnd();
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED BROKEN"));
  EXPECT_THAT(ends_, ElementsAre(true));
  // The attempt goes on, and its outcome changes nothing.
  timers_.Advance(Dialer::kAttemptTime);
  EXPECT_EQ(reports_.size(), 1U);
}

TEST_F(ServiceExchangeTest, SaysThatItsUpstreamDoesNotAnswer) {
  const SilentPort silent;
  Start(silent.port());
  Request();
  Answer("secret");
  RunUntil([this] { return timers_.size() == 1; });
  timers_.Advance(Dialer::kAttemptTime);
  EXPECT_THAT(reports_, ElementsAre("CONNECTION_REFUSED UPSTREAM_UNREACHABLE"));
  EXPECT_EQ(Received(),
            Refusal("502 Bad Gateway", "its upstream cannot be reached"));
}

}  // namespace
}  // namespace egress

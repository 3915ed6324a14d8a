#include "bridge/client/retry.h"

#include <chrono>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "bridge/client/retry_schedule.h"
#include "bridge/client/timing.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::HasSubstr;
using ::tests::FakeExecution;
using ::tests::FakeServer;
using ::tests::IsOk;

grpc::Status Gone() { return {grpc::StatusCode::UNAVAILABLE, "closed"}; }

// The server refuses a call for five seconds.
grpc::Status Refused() {
  google::rpc::ErrorInfo info;
  info.set_domain("corral.v1");
  info.set_reason("SANDBOX_NOT_READY");
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(5);
  google::rpc::Status rich;
  rich.add_details()->PackFrom(info);
  rich.add_details()->PackFrom(retry);
  return {grpc::StatusCode::UNAVAILABLE, "not yet", rich.SerializeAsString()};
}

// A server, a connection to it, and the clock of the connection.
class RetryTest : public ::testing::Test {
 protected:
  RetryTest() : server_([](FakeExecution&) {}) {
    ConnectOptions options;
    options.server = server_.address();
    options.timing.call_timeout = absl::Hours(1);
    options.timing.wait_renewal = absl::Hours(2);
    options.timing.now = [this] { return now_; };
    auto connection = Connection::Open(options);
    EXPECT_THAT(connection.status(), IsOk());
    connection_ = *std::move(connection);
  }

  // Returns how long an attempt may last, rounded down to a minute.
  absl::Duration TimeoutOf(const CallOptions& options) {
    Retry retry(*connection_, options);
    grpc::ClientContext context;
    const absl::Time before = absl::Now();
    retry.Begin(context);
    return absl::Trunc(
        absl::FromChrono(context.deadline()) - before + absl::Seconds(1),
        absl::Minutes(1));
  }

  FakeServer server_;
  absl::Time now_ = absl::UnixEpoch();
  std::unique_ptr<Connection> connection_;
};

TEST_F(RetryTest, GivesAnAttemptTheTimeOfItsKind) {
  EXPECT_EQ(TimeoutOf({}), absl::Hours(1));
  CallOptions options;
  options.timeouts = Timeouts::kRenewal;
  EXPECT_EQ(TimeoutOf(options), absl::Hours(2));
  options.timeout = absl::Hours(3);
  EXPECT_EQ(TimeoutOf(options), absl::Hours(3));
}

TEST_F(RetryTest, CountsTheTimeOfAnAttemptFromItsBegin) {
  Retry retry(*connection_, {});
  for (const bool repeated : {true, false}) {
    now_ += absl::Hours(1);
    grpc::ClientContext context;
    retry.Begin(context);
    grpc::Status status = Gone();
    EXPECT_EQ(retry.ShouldRepeat(status), repeated);
  }
}

TEST_F(RetryTest, SaysForHowLongTheServerWasGone) {
  CallOptions options;
  options.patience = absl::ZeroDuration();
  Retry retry(*connection_, options);
  grpc::Status status = Gone();
  EXPECT_FALSE(retry.ShouldRepeat(status));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(),
            "the server at " + server_.address() + " has been gone for 0");
}

TEST_F(RetryTest, SaysThatTheServerIsShortOfMemory) {
  CallOptions options;
  options.patience = absl::ZeroDuration();
  Retry retry(*connection_, options);
  grpc::Status status(grpc::StatusCode::RESOURCE_EXHAUSTED, "RST_STREAM");
  EXPECT_FALSE(retry.ShouldRepeat(status));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(),
              HasSubstr("is short of memory for requests, and has reset the "
                        "call again and again (RST_STREAM)"));
}

TEST_F(RetryTest, EndsAWaitThatItsCallerAbandons) {
  int questions = 0;
  CallOptions options;
  options.abandoned = [&questions] { return ++questions >= 3; };
  Retry retry(*connection_, options);
  grpc::Status status = Refused();
  EXPECT_FALSE(retry.ShouldRepeat(status));
  EXPECT_EQ(status.error_message(), "not yet");
  EXPECT_EQ(questions, 4);
}

TEST_F(RetryTest, EndsTheSearchForAServerThatItsCallerAbandons) {
  server_.Stop();
  int questions = 0;
  CallOptions options;
  options.abandoned = [&questions] { return ++questions >= 5; };
  Retry retry(*connection_, options);
  grpc::Status status = Gone();
  EXPECT_FALSE(retry.ShouldRepeat(status));
  EXPECT_EQ(questions, 5);
}

TEST_F(RetryTest, DoesNotAskAServerAfterItsDeadline) {
  EXPECT_TRUE(connection_->Reconnect(now_ + absl::Nanoseconds(1)));
  EXPECT_FALSE(connection_->Reconnect(now_));
}

}  // namespace
}  // namespace client

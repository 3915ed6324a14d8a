#include "bridge/client/error_details.h"

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::tests::StatusIs;

grpc::Status BadRequestError(const std::string& message) {
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field("command.argv");
  violation->set_description("is empty; at least one is needed");
  google::rpc::ErrorInfo info;
  info.set_domain("corral.v1");
  info.set_reason("INVALID_FIELD");
  google::rpc::Status rich;
  rich.add_details()->PackFrom(info);
  rich.add_details()->PackFrom(bad);
  return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, message,
                      rich.SerializeAsString());
}

TEST(ErrorDetailsTest, KeepsCodeAndMessage) {
  EXPECT_TRUE(ToStatus(grpc::Status::OK).ok());
  EXPECT_THAT(ToStatus({grpc::StatusCode::NOT_FOUND, "no sandbox s1"}),
              StatusIs(absl::StatusCode::kNotFound, "no sandbox s1"));
}

TEST(ErrorDetailsTest, NamesTheFieldsOfABadRequest) {
  EXPECT_THAT(ToStatus(BadRequestError("invalid request")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "invalid request; command.argv: is empty; at least one "
                       "is needed"));
}

TEST(ErrorDetailsTest, NamesTheFieldsOfABadRequestWithoutAMessage) {
  EXPECT_THAT(ToStatus(BadRequestError("")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "command.argv: is empty; at least one is needed"));
}

TEST(ErrorDetailsTest, NamesAFieldOnce) {
  EXPECT_THAT(
      ToStatus(BadRequestError("command.argv: is empty")),
      StatusIs(absl::StatusCode::kInvalidArgument, "command.argv: is empty"));
}

TEST(ErrorDetailsTest, FindsTheFieldThatWasRefused) {
  EXPECT_EQ(GetField(ToStatus(BadRequestError("invalid request"))),
            "command.argv");
  EXPECT_EQ(GetField(ToStatus({grpc::StatusCode::NOT_FOUND, "none"})), "");
  EXPECT_EQ(GetField(absl::OkStatus()), "");
}

TEST(ErrorDetailsTest, FindsTheReason) {
  EXPECT_EQ(GetErrorReason(BadRequestError("")), corral::v1::INVALID_FIELD);
  EXPECT_EQ(GetErrorReason({grpc::StatusCode::UNKNOWN, "x", "garbage"}),
            corral::v1::ERROR_REASON_UNSPECIFIED);
}

TEST(ErrorDetailsTest, TakesTheFirstDetailOfItsKind) {
  google::rpc::Status rich;
  for (const char* reason : {"SERVER_DRAINING", "INVALID_FIELD"}) {
    google::rpc::ErrorInfo info;
    info.set_domain("corral.v1");
    info.set_reason(reason);
    rich.add_details()->PackFrom(info);
  }
  EXPECT_EQ(GetErrorReason({grpc::StatusCode::UNAVAILABLE, "no",
                            rich.SerializeAsString()}),
            corral::v1::SERVER_DRAINING);
}

TEST(ErrorDetailsTest, FindsTheRetryDelay) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  retry.mutable_retry_delay()->set_nanos(500'000'000);
  google::rpc::Status rich;
  rich.add_details()->PackFrom(retry);
  EXPECT_EQ(GetRetryDelay({grpc::StatusCode::UNAVAILABLE, "wait",
                           rich.SerializeAsString()}),
            absl::Milliseconds(2500));
  EXPECT_EQ(GetRetryDelay(grpc::Status::OK), absl::ZeroDuration());
}

TEST(ErrorDetailsTest, IgnoresTheReasonOfAnotherDomain) {
  google::rpc::ErrorInfo info;
  info.set_domain("example.com");
  info.set_reason("SERVER_DRAINING");
  google::rpc::Status rich;
  rich.add_details()->PackFrom(info);
  EXPECT_EQ(GetErrorReason({grpc::StatusCode::UNAVAILABLE, "no",
                            rich.SerializeAsString()}),
            corral::v1::ERROR_REASON_UNSPECIFIED);
}

}  // namespace
}  // namespace client

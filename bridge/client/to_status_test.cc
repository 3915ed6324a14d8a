#include "absl/status/status.h"
#include "bridge/client/connection.h"
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

TEST(ToStatusTest, KeepsCodeAndMessage) {
  EXPECT_TRUE(ToStatus(grpc::Status::OK).ok());
  EXPECT_THAT(ToStatus({grpc::StatusCode::NOT_FOUND, "no sandbox s1"}),
              StatusIs(absl::StatusCode::kNotFound, "no sandbox s1"));
}

TEST(ToStatusTest, NamesTheFieldsOfABadRequest) {
  EXPECT_THAT(ToStatus(BadRequestError("invalid request")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "invalid request; command.argv: is empty; at least one "
                       "is needed"));
}

TEST(ToStatusTest, NamesAFieldOnce) {
  EXPECT_THAT(
      ToStatus(BadRequestError("command.argv: is empty")),
      StatusIs(absl::StatusCode::kInvalidArgument, "command.argv: is empty"));
}

grpc::Status Unavailable(const char* reason) {
  google::rpc::ErrorInfo info;
  info.set_domain("corral.v1");
  info.set_reason(reason);
  google::rpc::Status rich;
  rich.add_details()->PackFrom(info);
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "no",
                      rich.SerializeAsString());
}

TEST(ToStatusTest, TellsAServerThatIsGoneFromOneThatRefuses) {
  EXPECT_TRUE(IsServerGone({grpc::StatusCode::UNAVAILABLE, "Socket closed"}));
  EXPECT_TRUE(IsServerGone(Unavailable("SERVER_DRAINING")));
  EXPECT_TRUE(IsServerGone(Unavailable("SANDBOX_NOT_READY")));
  EXPECT_FALSE(IsServerGone(Unavailable("STORAGE_FAILED")));
  EXPECT_FALSE(IsServerGone({grpc::StatusCode::NOT_FOUND, "no"}));
  EXPECT_FALSE(IsServerGone(grpc::Status::OK));
}

TEST(ToStatusTest, FindsTheReason) {
  EXPECT_EQ(GetErrorReason(BadRequestError("")), corral::v1::INVALID_FIELD);
  EXPECT_EQ(GetErrorReason({grpc::StatusCode::UNKNOWN, "x", "garbage"}),
            corral::v1::ERROR_REASON_UNSPECIFIED);
}

}  // namespace
}  // namespace client

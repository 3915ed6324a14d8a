#include "server/api/errors.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/any.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/error_info.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "server/api/grpc_status.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

template <typename Detail>
Detail Find(const google::rpc::Status& status) {
  Detail detail;
  for (const auto& any : status.details()) {
    if (any.UnpackTo(&detail)) {
      return detail;
    }
  }
  ADD_FAILURE() << "no " << detail.GetTypeName() << " in "
                << status.DebugString();
  return detail;
}

TEST(ErrorsTest, AnInvalidFieldIsNamedWithItsValueAndWhatIsAllowed) {
  const grpc::Status status =
      ToGrpcStatus(InvalidField("command.argv", "a\0b", "no NUL"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const google::rpc::Status details = Details(status);
  EXPECT_EQ(details.code(), 3);
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(details).reason(), "INVALID_FIELD");
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(details).domain(), "corral.v1");
  const auto bad_request = Find<google::rpc::BadRequest>(details);
  ASSERT_THAT(bad_request.field_violations(), SizeIs(1));
  EXPECT_EQ(bad_request.field_violations(0).field(), "command.argv");
  EXPECT_THAT(bad_request.field_violations(0).description(),
              HasSubstr("no NUL"));
}

TEST(ErrorsTest, ARefusedFieldSaysWhyInUtf8) {
  const grpc::Status status =
      ToGrpcStatus(RefusedField("path", "workspace /\xff: no such directory"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "path: workspace /\\xff: no such directory");
  const auto bad_request = Find<google::rpc::BadRequest>(Details(status));
  ASSERT_THAT(bad_request.field_violations(), SizeIs(1));
  EXPECT_EQ(bad_request.field_violations(0).field(), "path");
}

TEST(ErrorsTest, ReachesClientsAlthoughItNamesAPathThatIsNotUtf8) {
  const std::vector<absl::Status> errors = {
      InvalidField("path", "/\xff", "no link (/\xff is one)"),
      ServerFault("open /\xff", absl::InternalError("/\xff")),
      QuotaExceeded(corral::v1::TOO_MUCH_OUTPUT, "server", "/\xff"),
      ProtectionsMissing({{"cgroups", "/\xff"}}),
  };
  for (const absl::Status& error : errors) {
    SCOPED_TRACE(error.message());
    const grpc::Status status = ToGrpcStatus(error);
    EXPECT_THAT(status.error_message(), HasSubstr("/\\xff"));
    // Does not parse with a string that is not UTF-8.
    const google::rpc::Status details = Details(status);
    EXPECT_EQ(details.message(), status.error_message());
    for (const google::protobuf::Any& detail : details.details()) {
      EXPECT_EQ(detail.value().find('\xff'), std::string::npos);
    }
  }
}

TEST(ErrorsTest, ALongOrBinaryValueIsShortenedAndEscaped) {
  const absl::Status status =
      InvalidField("f", std::string(5000, '\xff'), "UTF-8");
  EXPECT_LT(status.message().size(), 600);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\\xff"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("5000 bytes"));
}

TEST(ErrorsTest, DrainingSaysWhenToRetry) {
  const auto details = Details(ToGrpcStatus(ServerDraining(absl::Seconds(3))));
  EXPECT_EQ(Find<google::rpc::RetryInfo>(details).retry_delay().seconds(), 3);
}

TEST(ErrorsTest, ASandboxThatCannotAnswerYetSaysWhenToRetry) {
  const grpc::Status status =
      ToGrpcStatus(SandboxUnavailable("box", "wait", absl::Milliseconds(200)));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto details = Details(status);
  const auto info = Find<google::rpc::ErrorInfo>(details);
  EXPECT_EQ(info.reason(), "SANDBOX_NOT_READY");
  EXPECT_EQ(info.metadata().at("state"), "CREATING");
  EXPECT_EQ(Find<google::rpc::RetryInfo>(details).retry_delay().nanos(),
            200'000'000);
}

TEST(ErrorsTest, AQuotaNamesItsSubject) {
  const auto details = Details(ToGrpcStatus(QuotaExceeded(
      corral::v1::TOO_MANY_SANDBOXES, "tenants/default", "at most 3")));
  const auto failure = Find<google::rpc::QuotaFailure>(details);
  ASSERT_THAT(failure.violations(), SizeIs(1));
  EXPECT_EQ(failure.violations(0).subject(), "tenants/default");
}

TEST(ErrorsTest, TooManyCallsNameTheLimitAndWhenToRetry) {
  const grpc::Status status = ToGrpcStatus(TooManyCalls(7, absl::Seconds(2)));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("at most 7 streams"));
  const auto details = Details(status);
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(details).reason(), "TOO_MANY_CALLS");
  EXPECT_EQ(Find<google::rpc::RetryInfo>(details).retry_delay().seconds(), 2);
  EXPECT_THAT(Find<google::rpc::QuotaFailure>(details).violations(), SizeIs(1));
}

TEST(ErrorsTest, ACancelledCallIsNotAFault) {
  EXPECT_EQ(ToGrpcStatus(absl::CancelledError()).error_code(),
            grpc::StatusCode::CANCELLED);
}

TEST(ErrorsTest, AnErrorWithoutAReasonBecomesServerFault) {
  const grpc::Status status = ToGrpcStatus(absl::NotFoundError("open(x)"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(Details(status)).reason(),
            "SERVER_FAULT");
}

}  // namespace
}  // namespace server

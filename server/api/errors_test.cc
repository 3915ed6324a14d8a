#include "server/api/errors.h"

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
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

TEST(ErrorsTest, NameWhatTheyAreAboutInTheirMetadata) {
  struct Case {
    absl::Status status;
    const char* reason;
    std::map<std::string, std::string> metadata;
  };
  const std::vector<Case> cases = {
      {SandboxNotFound("box"), "SANDBOX_NOT_FOUND", {{"name", "box"}}},
      {ExecutionNotFound("job"), "EXECUTION_NOT_FOUND", {{"name", "job"}}},
      {SandboxExists("box"), "SANDBOX_EXISTS", {{"name", "box"}}},
      {ExecutionExists("job"), "EXECUTION_EXISTS", {{"name", "job"}}},
      {SandboxNotReady("box", "FAILED"),
       "SANDBOX_NOT_READY",
       {{"name", "box"}, {"state", "FAILED"}}},
      {ScreenUnavailable("job", "why"),
       "SCREEN_UNAVAILABLE",
       {{"name", "job"}}},
      {OffsetOutOfRange("STDOUT", 5, 4),
       "OFFSET_OUT_OF_RANGE",
       {{"offset", "5"}, {"end_offset", "4"}}},
      {OutputExpired("STDOUT", 3, 4),
       "OUTPUT_EXPIRED",
       {{"begin_offset", "3"}, {"end_offset", "4"}}},
      {RequestMismatch("r", "job"), "REQUEST_MISMATCH", {{"name", "job"}}},
      {PortRefused("box", 80),
       "PORT_REFUSED",
       {{"name", "box"}, {"port", "80"}}},
      {PortTimedOut("box", 80, absl::Seconds(10)),
       "PORT_TIMED_OUT",
       {{"name", "box"}, {"port", "80"}}},
      {ConnectionReset("box", "why"), "CONNECTION_RESET", {{"name", "box"}}},
      {SandboxTooOld("box", "ports"), "SANDBOX_TOO_OLD", {{"name", "box"}}},
      {SandboxUnavailable("box", "why", absl::Seconds(1), "READY"),
       "SANDBOX_NOT_READY",
       {{"name", "box"}, {"state", "READY"}}},
      {StorageFailed("here", absl::InternalError("x")), "STORAGE_FAILED", {}},
      {ServerFault("here", absl::InternalError("x")), "SERVER_FAULT", {}},
  };
  for (const Case& each : cases) {
    const auto info =
        Find<google::rpc::ErrorInfo>(Details(ToGrpcStatus(each.status)));
    EXPECT_EQ(info.reason(), each.reason);
    EXPECT_EQ((std::map<std::string, std::string>(info.metadata().begin(),
                                                  info.metadata().end())),
              each.metadata)
        << each.reason;
  }
}

TEST(ErrorsTest, SayWhenToRetryInSecondsAndNanoseconds) {
  for (const absl::Status& status :
       {SandboxUnavailable("box", "wait", absl::Milliseconds(3500)),
        TooManyCalls(7, absl::Milliseconds(3500)),
        TooMuchInput(7, absl::Milliseconds(3500)),
        ServerDraining(absl::Milliseconds(3500))}) {
    const auto retry =
        Find<google::rpc::RetryInfo>(Details(ToGrpcStatus(status)));
    EXPECT_EQ(retry.retry_delay().seconds(), 3);
    EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
  }
  const auto screen = Find<google::rpc::RetryInfo>(
      Details(ToGrpcStatus(ScreenUnavailable("job", "why"))));
  EXPECT_EQ(screen.retry_delay().seconds(), 0);
  EXPECT_EQ(screen.retry_delay().nanos(), 500'000'000);
}

TEST(ErrorsTest, HaveTheCodeByWhichAClientKnowsWhatToDo) {
  using Code = absl::StatusCode;
  const absl::Status cause = absl::InternalError("x");
  EXPECT_EQ(SandboxNotFound("box").code(), Code::kNotFound);
  EXPECT_EQ(ExecutionNotFound("job").code(), Code::kNotFound);
  EXPECT_EQ(SandboxExists("box").code(), Code::kAlreadyExists);
  EXPECT_EQ(ExecutionExists("job").code(), Code::kAlreadyExists);
  EXPECT_EQ(RequestMismatch("r", "job").code(), Code::kAlreadyExists);
  EXPECT_EQ(SandboxNotReady("box", "FAILED").code(), Code::kFailedPrecondition);
  EXPECT_EQ(PortRefused("box", 80).code(), Code::kFailedPrecondition);
  EXPECT_EQ(PortTimedOut("box", 80, absl::Seconds(1)).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(SandboxTooOld("box", "ports").code(), Code::kFailedPrecondition);
  EXPECT_EQ(ProtectionsMissing({}).code(), Code::kFailedPrecondition);
  EXPECT_EQ(ScreenUnavailable("job", "why").code(), Code::kUnavailable);
  EXPECT_EQ(StorageFailed("here", cause).code(), Code::kUnavailable);
  EXPECT_EQ(ServerDraining(absl::Seconds(1)).code(), Code::kUnavailable);
  EXPECT_EQ(OffsetOutOfRange("STDOUT", 5, 4).code(), Code::kOutOfRange);
  EXPECT_EQ(OutputExpired("STDOUT", 3, 4).code(), Code::kOutOfRange);
  EXPECT_EQ(ConnectionReset("box", "why").code(), Code::kAborted);
  EXPECT_EQ(TooMuchInput(7, absl::Seconds(1)).code(), Code::kResourceExhausted);
  EXPECT_EQ(ReasonOf(TooMuchInput(7, absl::Seconds(1))),
            corral::v1::TOO_MUCH_INPUT);
  EXPECT_EQ(ServerFault("here", cause).code(), Code::kInternal);
}

TEST(ErrorsTest, ListsAllProtectionsThatAreMissing) {
  EXPECT_THAT(std::string(ProtectionsMissing(
                              {{"cgroups", "none"}, {"seccomp", "too old"}})
                              .message()),
              HasSubstr("demands: cgroups (none), seccomp (too old)"));
}

TEST(ErrorsTest, AValueOfAHundredBytesIsShownWhole) {
  EXPECT_THAT(
      std::string(InvalidField("f", std::string(100, 'x'), "").message()),
      HasSubstr("\"" + std::string(100, 'x') + "\";"));
  EXPECT_THAT(
      std::string(InvalidField("f", std::string(101, 'x'), "").message()),
      HasSubstr("\"" + std::string(100, 'x') + "...\" (101 bytes)"));
}

TEST(ErrorsTest, MissingProtectionsAreViolationsWithTheirReasons) {
  const auto failure = Find<google::rpc::PreconditionFailure>(
      Details(ToGrpcStatus(ProtectionsMissing({{"cgroups", "none"}}))));
  ASSERT_THAT(failure.violations(), SizeIs(1));
  EXPECT_EQ(failure.violations(0).type(), "PROTECTION");
  EXPECT_EQ(failure.violations(0).subject(), "cgroups");
  EXPECT_EQ(failure.violations(0).description(), "none");
}

TEST(ErrorsTest, AQuotaSaysWhatItAllows) {
  const auto failure = Find<google::rpc::QuotaFailure>(Details(ToGrpcStatus(
      QuotaExceeded(corral::v1::TOO_MANY_PIDS, "box", "at most 3"))));
  EXPECT_EQ(failure.violations(0).description(), "at most 3");
}

TEST(ErrorsTest, AStatusWithoutAProblemStaysOk) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(ErrorsTest, ADetailThatIsTornHasNoReason) {
  absl::Status status = absl::InternalError("x");
  status.SetPayload("type.googleapis.com/google.rpc.ErrorInfo",
                    absl::Cord("\xff"));
  EXPECT_EQ(ReasonOf(status), corral::v1::ERROR_REASON_UNSPECIFIED);
  EXPECT_EQ(ReasonOf(absl::InternalError("x")),
            corral::v1::ERROR_REASON_UNSPECIFIED);
}

TEST(ErrorsTest, OnlyFaultsOfTheServerAreLogged) {
  ::testing::internal::CaptureStderr();
  ToGrpcStatus(ServerFault("disk", absl::InternalError("EIO")));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("EIO"));
  ::testing::internal::CaptureStderr();
  ToGrpcStatus(SandboxNotFound("box"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace server

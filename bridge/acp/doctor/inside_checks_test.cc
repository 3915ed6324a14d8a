#include "bridge/acp/doctor/inside_checks.h"

#include <signal.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "bridge/client/call.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class InsideChecksTest : public ::testing::Test {
 protected:
  InsideChecksTest()
      : connection_(*client::Connection::Open({server_.address()})) {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    sandbox_ =
        client::Call(*connection_,
                     &corral::v1::SandboxService::StubInterface::CreateSandbox,
                     request)
            ->name();
  }

  Finding Version() {
    return CheckVersion(*connection_, sandbox_, {{"/x/agent"}, {"A=b"}});
  }

  int code_ = 0;
  int signal_ = 0;  // 0: the command exits
  std::string errors_;
  tests::FakeServer server_{[this](tests::FakeExecution& command) {
    command.Print(" one 1.0\ntwo\n");
    command.Write(corral::v1::STDERR, errors_);
    if (signal_ == 0) {
      command.SetExit(code_);
    } else {
      command.SetSignalled(signal_, corral::v1::ExitStatus::NORMAL);
    }
  }};
  std::unique_ptr<client::Connection> connection_;
  std::string sandbox_;
};

TEST_F(InsideChecksTest, TriesToReadAMount) {
  corral::v1::Mount mount;
  mount.set_source("/src");
  const Finding finding = CheckMount(*connection_, sandbox_, mount);
  ASSERT_THAT(finding.status(), IsOk());
  EXPECT_EQ(*finding, "/src, read-only");
  EXPECT_THAT(server_.starts()[0].command().argv(),
              ElementsAre("/bin/sh", "-c", "test \"$0\" \"$1\"", "-r", "/src"));
  EXPECT_EQ(server_.starts()[0].command().wall_timeout().seconds(), 30);
}

TEST_F(InsideChecksTest, TriesToWriteToAWritableMount) {
  corral::v1::Mount mount;
  mount.set_source("/src");
  mount.set_target("/dst");
  mount.set_writable(true);
  EXPECT_EQ(*CheckMount(*connection_, sandbox_, mount), "/dst, writable");
  EXPECT_EQ(server_.starts()[0].command().argv(3), "-w");
  EXPECT_EQ(server_.starts()[0].command().argv(4), "/dst");
  code_ = 1;
  EXPECT_THAT(
      CheckMount(*connection_, sandbox_, mount).status(),
      StatusIs(absl::StatusCode::kPermissionDenied,
               HasSubstr("commands cannot write to /dst, which is /src; its")));
  mount.clear_writable();
  EXPECT_THAT(CheckMount(*connection_, sandbox_, mount).status(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("commands cannot read /dst, which is /src")));
}

TEST_F(InsideChecksTest, PrintsTheFirstLineOfTheVersion) {
  const Finding finding = Version();
  ASSERT_THAT(finding.status(), IsOk());
  EXPECT_EQ(*finding, "runs, and says: one 1.0");
  EXPECT_THAT(server_.starts()[0].command().argv(),
              ElementsAre("/x/agent", "--version"));
}

TEST_F(InsideChecksTest, AcceptsAnAgentThatDoesNotKnowTheOption) {
  code_ = 2;
  EXPECT_THAT(Version().status(), IsOk());
}

TEST_F(InsideChecksTest, SaysThatAnAgentDoesNotRun) {
  errors_ = "node: not found\nmore";
  for (const int code : {126, 127}) {
    code_ = code;
    EXPECT_THAT(Version().status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("it does not run: node: not found; ")));
  }
}

TEST_F(InsideChecksTest, AcceptsNoCommandThatASignalEnded) {
  signal_ = SIGSEGV;
  errors_ = "crash";
  EXPECT_THAT(Version().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("it does not run: crash; ")));
  corral::v1::Mount mount;
  mount.set_source("/src");
  EXPECT_THAT(CheckMount(*connection_, sandbox_, mount).status(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("commands cannot read /src")));
}

TEST_F(InsideChecksTest, SaysThatAnAgentDoesNotStart) {
  corral::v1::StartFailure failure;
  failure.set_message("exec failed");
  server_.FailStarts(failure);
  EXPECT_THAT(Version().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "a command did not start: exec failed"));
}

TEST(TrialTest, PassesVariablesByNameOrWithTheirValue) {
  tests::FakeServer server([](tests::FakeExecution&) {});
  const auto connection = *client::Connection::Open({server.address()});
  corral::v1::CreateSandboxRequest request;
  request.set_parent("tenants/default");
  const auto sandbox = client::Call(
      *connection, &corral::v1::SandboxService::StubInterface::CreateSandbox,
      request);
  ::setenv("TRIAL_TEST_SET", "x=y", 1);
  ::unsetenv("TRIAL_TEST_UNSET");
  const auto ended = bridge::Run(
      *connection, sandbox->name(),
      {{"true"}, {"A=b=c", "TRIAL_TEST_UNSET", "TRIAL_TEST_SET", "E="}});
  ASSERT_THAT(ended.status(), IsOk());
  EXPECT_TRUE(Succeeded(*ended));
  const auto starts = server.starts();
  std::string variables;
  for (const auto& each : starts[0].command().environment()) {
    variables += each.name() + "|" + each.value() + "\n";
  }
  EXPECT_EQ(variables, "A|b=c\nTRIAL_TEST_SET|x=y\nE|\n");
}

}  // namespace
}  // namespace bridge

// Sessions that time, an ended shell or a failed start takes away.

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/terminal/terminals_fixture.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr absl::Duration kLittle = absl::Seconds(1);

TEST_F(TerminalsTest, DestroyASessionThatNobodyUses) {
  StopTheClock();
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  const std::string shell = ShellOf(session->id);
  now_ += Terminals::kIdleTimeout;
  EXPECT_THAT(*terminals_->List(), SizeIs(2));
  now_ += kLittle;
  EXPECT_THAT(*terminals_->List(), SizeIs(1));
  EXPECT_THAT(server_.deletions(), ElementsAre(shell));
}

TEST_F(TerminalsTest, FindNoSessionThatNobodyUsed) {
  StopTheClock();
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  now_ += Terminals::kIdleTimeout + kLittle;
  EXPECT_THAT(terminals_->Find(session->id).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not found")));
}

TEST_F(TerminalsTest, GiveThePlaceOfAnUnusedSessionToAnotherOne) {
  options_.max_sessions = 2;
  StopTheClock();
  EXPECT_THAT(terminals_->Create({"zsh", 90, 20}).status(), IsOk());
  now_ += Terminals::kIdleTimeout + kLittle;
  EXPECT_THAT(terminals_->Create({"zsh", 90, 20}).status(), IsOk());
}

TEST_F(TerminalsTest, KeepASessionThatIsUsed) {
  StopTheClock();
  const absl::Time begin = now_;
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  const std::string shell = ShellOf(session->id);
  for (int i = 0; i < 3; ++i) {
    now_ += Terminals::kIdleTimeout;
    EXPECT_EQ(ShellOf(session->id), shell);
  }
  const auto sessions = terminals_->List();
  ASSERT_THAT(*sessions, SizeIs(2));
  EXPECT_EQ((*sessions)[1].created, begin);
  EXPECT_EQ((*sessions)[1].last_activity, now_);
}

TEST_F(TerminalsTest, NeverDestroyTheDefaultSession) {
  StopTheClock();
  const absl::Time begin = now_;
  const std::string shell = ShellOf("");
  const std::string id = terminals_->List()->front().id;
  now_ += 2 * Terminals::kIdleTimeout;
  EXPECT_EQ(ShellOf(id), shell);
  EXPECT_EQ(terminals_->List()->front().created, begin);
  EXPECT_EQ(terminals_->List()->front().last_activity, now_);
  End("");
  EXPECT_EQ(terminals_->List()->front().created, now_);
  EXPECT_EQ(terminals_->List()->front().id, id);
}

TEST_F(TerminalsTest, FindOnlyTheShellsThatRun) {
  options_.sandbox.lasting_id = "mine";
  Make();
  const std::string first = ShellOf("");
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  End(session->id);
  Make();
  const size_t asked = server_.screens().size();
  EXPECT_THAT(*terminals_->List(), SizeIs(1));
  ASSERT_THAT(server_.screens(), SizeIs(asked + 1));
  EXPECT_EQ(server_.screens().back().name(), first);
}

TEST_F(TerminalsTest, DestroyASessionThatOthersMade) {
  options_.sandbox.lasting_id = "mine";
  Make();
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  const std::string shell = ShellOf(session->id);
  Make();
  EXPECT_THAT(terminals_->Destroy(session->id), IsOk());
  EXPECT_THAT(server_.deletions(), ElementsAre(shell));
}

TEST_F(TerminalsTest, StartTheDefaultShellAgainThatCouldNotBeStarted) {
  options_.sandbox.lasting_id = "mine";
  Make();
  server_.FailStartedCommands(grpc::StatusCode::PERMISSION_DENIED);
  const auto failed = StatusIs(absl::StatusCode::kPermissionDenied,
                               HasSubstr("the start failed"));
  EXPECT_THAT(terminals_->Find("").status(), failed);
  EXPECT_THAT(terminals_->FindEvenEnded("").status(), failed);
  // Another sandbox would not help.
  EXPECT_THAT(server_.creations(), SizeIs(1));
  EXPECT_THAT(server_.starts(), SizeIs(2));
  server_.FailStartedCommands(grpc::StatusCode::OK);
  EXPECT_THAT(*terminals_->List(), SizeIs(1));
  EXPECT_THAT(server_.starts(), SizeIs(3));
}

TEST_F(TerminalsTest, EndThoughTheirShellCouldNotBeStarted) {
  options_.sandbox.lasting_id = "mine";
  Make();
  server_.FailStartedCommands(grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_FALSE(terminals_->Find("").ok());
  terminals_.reset();
  EXPECT_THAT(server_.deletions(), IsEmpty());
}

TEST_F(TerminalsTest, EndThoughTheServerIsGone) {
  ShellOf("");
  server_.Stop();
  ::testing::internal::CaptureStderr();
  terminals_.reset();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ContainsRegex("cannot delete tenants/default/sandboxes/s1: "
                            "[^\n]* has been gone for 1s"));
}

TEST_F(TerminalsTest, ReplaceASandboxThatHasFailed) {
  ShellOf("");
  server_.FailStartedCommands(grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(terminals_->Create({"zsh", 80, 24}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the start failed")));
  EXPECT_THAT(server_.creations(), SizeIs(2));
  server_.FailStartedCommands(grpc::StatusCode::OK);
  const auto session = terminals_->Create({"zsh", 80, 24});
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_THAT(ShellOf(session->id),
              StartsWith("tenants/default/sandboxes/s2/"));
  EXPECT_THAT(server_.creations(), SizeIs(2));
}

TEST_F(TerminalsTest, AskForTheirSandboxAgainThatCouldNotBeReplaced) {
  options_.sandbox.lasting_id = "mine";
  Make();
  ShellOf("");
  server_.LoseSandbox("tenants/default/sandboxes/mine");
  // Somebody else takes the name.
  corral::v1::CreateSandboxRequest request;
  request.set_parent("tenants/default");
  request.set_sandbox_id("mine");
  request.mutable_sandbox()->mutable_limits()->set_pids(50);
  grpc::ClientContext context;
  corral::v1::Sandbox made;
  ASSERT_TRUE(corral::v1::SandboxService::NewStub(
                  grpc::CreateChannel(server_.address(),
                                      grpc::InsecureChannelCredentials()))
                  ->CreateSandbox(&context, request, &made)
                  .ok());
  server_.FailStartedCommands(grpc::StatusCode::FAILED_PRECONDITION);
  const auto refused = StatusIs(absl::StatusCode::kAlreadyExists,
                                HasSubstr("mine exists with other options"));
  EXPECT_THAT(terminals_->Create({"zsh", 80, 24}).status(), refused);
  server_.FailStartedCommands(grpc::StatusCode::OK);
  EXPECT_THAT(terminals_->Create({"zsh", 80, 24}).status(), refused);
}

}  // namespace
}  // namespace bridge

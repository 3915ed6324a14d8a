#include "bridge/mcp/terminal/terminals.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bridge/mcp/terminal/terminals_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using ::tests::IsOk;
using ::tests::StatusIs;

TEST_F(TerminalsTest, MakeNothingBeforeTheyAreNeeded) {
  Make();
  EXPECT_THAT(server_.creations(), IsEmpty());
}

TEST_F(TerminalsTest, BeginWithTheDefaultOne) {
  const auto sessions = terminals_->List();
  ASSERT_THAT(sessions.status(), IsOk());
  ASSERT_THAT(*sessions, SizeIs(1));
  const SessionInfo& info = sessions->front();
  EXPECT_TRUE(info.is_default);
  EXPECT_THAT(info.id, MatchesRegex("[0-9a-f]{5}"));
  EXPECT_EQ(info.shell.shell, "sh");
  EXPECT_EQ(info.created, info.last_activity);
  EXPECT_EQ(ShellOf(""), ShellOf(info.id));
  ASSERT_THAT(server_.starts(), SizeIs(1));
  EXPECT_EQ(server_.starts()[0].execution_id(), "");
  EXPECT_EQ(server_.starts()[0].command().working_directory(), "/w");
  EXPECT_EQ(server_.starts()[0].command().terminal().columns(), 100);
}

TEST_F(TerminalsTest, MakeASandboxThatEndsWithThem) {
  options_.sandbox.sandbox.mutable_limits()->set_pids(50);
  Make();
  ShellOf("");
  Make();
  ASSERT_THAT(server_.creations(), SizeIs(1));
  const auto creation = server_.creations()[0];
  EXPECT_EQ(creation.parent(), "tenants/default");
  EXPECT_NE(creation.request_id(), "");
  EXPECT_EQ(creation.sandbox_id(), "");
  EXPECT_EQ(creation.sandbox().limits().pids(), 50);
  EXPECT_EQ(creation.sandbox().lifetime().ShortDebugString(),
            "idle_timeout { seconds: 600 }");
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/e1",
                          "tenants/default/sandboxes/s1"));
}

TEST_F(TerminalsTest, KeepTheIdleTimeoutThatIsGiven) {
  options_.sandbox.sandbox.mutable_lifetime()
      ->mutable_idle_timeout()
      ->set_seconds(7);
  Make();
  ShellOf("");
  EXPECT_EQ(
      server_.creations()[0].sandbox().lifetime().idle_timeout().seconds(), 7);
}

TEST_F(TerminalsTest, UseASandboxThatExistsAndLeaveIt) {
  ShellOf("");
  TerminalsOptions options = options_;
  options.sandbox.existing = "tenants/default/sandboxes/s1";
  {
    Terminals others(options, &observer_);
    EXPECT_EQ((*others.Find(""))->execution(),
              "tenants/default/sandboxes/s1/executions/e2");
    server_.LoseSandbox("tenants/default/sandboxes/s1");
    EXPECT_THAT(others.Create({"sh", 80, 24}).status(),
                StatusIs(absl::StatusCode::kNotFound,
                         "sandbox s1 is gone, or has failed"));
  }
  EXPECT_THAT(server_.creations(), SizeIs(1));
  EXPECT_THAT(server_.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/e2"));
}

TEST_F(TerminalsTest, ReplaceASandboxThatIsGone) {
  ShellOf("");
  server_.LoseSandbox("tenants/default/sandboxes/s1");
  const auto session = terminals_->Create({"zsh", 80, 24});
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_EQ(ShellOf(session->id), "tenants/default/sandboxes/s2/executions/e1");
  EXPECT_THAT(server_.creations(), SizeIs(2));
}

TEST_F(TerminalsTest, MakeFurtherSessionsUpToTheirLimit) {
  options_.max_sessions = 2;
  Make();
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  EXPECT_FALSE(session->is_default);
  EXPECT_EQ(session->created, session->last_activity);
  EXPECT_GT(session->created, absl::UnixEpoch());
  EXPECT_EQ(server_.starts()[1].command().argv(0), "zsh");
  EXPECT_NE(ShellOf(session->id), ShellOf(""));
  EXPECT_THAT(terminals_->Create({"zsh", 90, 20}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("Maximum session limit reached (2)")));
  EXPECT_THAT(*terminals_->List(), SizeIs(2));
}

TEST_F(TerminalsTest, DestroyAnySessionButTheDefaultOne) {
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  const std::string shell = ShellOf(session->id);
  EXPECT_THAT(
      terminals_->Destroy("nosuch"),
      StatusIs(absl::StatusCode::kNotFound, "Session 'nosuch' not found"));
  const std::string own = terminals_->List()->front().id;
  EXPECT_THAT(terminals_->Destroy(own),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat("Session '", own,
                                    "' is the default session and cannot be "
                                    "destroyed")));
  EXPECT_THAT(server_.deletions(), IsEmpty());
  EXPECT_THAT(terminals_->Destroy(session->id), IsOk());
  EXPECT_THAT(server_.deletions(), ElementsAre(shell));
  EXPECT_THAT(terminals_->Find(session->id).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not found")));
}

TEST_F(TerminalsTest, ForgetASessionWhoseShellHasEnded) {
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  End(session->id);
  EXPECT_THAT(terminals_->Find(session->id).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is no longer active")));
  EXPECT_THAT(terminals_->Find(session->id).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not found")));
  const auto other = terminals_->Create({"zsh", 90, 20});
  End(other->id);
  EXPECT_THAT(*terminals_->List(), SizeIs(1));
}

TEST_F(TerminalsTest, StartTheShellOfTheDefaultSessionAgain) {
  ShellOf("");
  const std::string id = terminals_->List()->front().id;
  End("");
  const auto again = terminals_->Find(id);
  ASSERT_THAT(again.status(), IsOk());
  EXPECT_FALSE((*again)->exit_code().has_value());
  // The one that has ended was deleted before: its name is free.
  EXPECT_EQ((*again)->execution(),
            "tenants/default/sandboxes/s1/executions/e1");
  EXPECT_EQ(terminals_->List()->front().id, id);
  EXPECT_THAT(server_.starts(), SizeIs(2));
}

TEST_F(TerminalsTest, ReturnTheShellOfTheDefaultSessionAfterItsEnd) {
  ShellOf("");
  const std::string id = terminals_->List()->front().id;
  End("");
  for (const std::string& session : {std::string(), id}) {
    const auto ended = terminals_->FindEvenEnded(session);
    ASSERT_THAT(ended.status(), IsOk());
    EXPECT_TRUE((*ended)->exit_code().has_value());
  }
  EXPECT_THAT(terminals_->FindEvenEnded("zzzzz").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not found")));
  EXPECT_THAT(server_.starts(), SizeIs(1));
  EXPECT_THAT(terminals_->Find("").status(), IsOk());
  EXPECT_FALSE((*terminals_->FindEvenEnded(""))->exit_code().has_value());
  EXPECT_THAT(server_.starts(), SizeIs(2));
  const auto other = terminals_->Create({"zsh", 90, 20});
  End(other->id);
  EXPECT_THAT(terminals_->FindEvenEnded(other->id).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is no longer active")));
}

TEST_F(TerminalsTest, FindTheShellsOfALastingSandboxAgain) {
  options_.sandbox.lasting_id = "mine";
  Make();
  const std::string first = ShellOf("");
  const auto session = terminals_->Create({"zsh", 90, 20});
  ASSERT_THAT(session.status(), IsOk());
  const std::string second = ShellOf(session->id);
  EXPECT_EQ(server_.creations()[0].sandbox_id(), "mine");
  EXPECT_EQ(server_.creations()[0].request_id(), "");
  EXPECT_THAT(IdOf(first), MatchesRegex("mcp-default-[0-9a-f]{5}-[0-9a-f]{6}"));
  EXPECT_THAT(IdOf(second), MatchesRegex("mcp-[0-9a-f]{5}-[0-9a-f]{6}"));
  // One that has ended, and shells of somebody else.
  const auto ended = terminals_->Create({"zsh", 90, 20});
  End(ended->id);
  auto stub = corral::v1::ExecutionService::NewStub(grpc::CreateChannel(
      server_.address(), grpc::InsecureChannelCredentials()));
  for (const char* id : {"other", "mcp-no-terminal"}) {
    corral::v1::StartExecutionRequest request;
    request.set_parent("tenants/default/sandboxes/mine");
    request.set_execution_id(id);
    request.mutable_command()->add_argv("x");
    if (std::string(id) == "other") {
      request.mutable_command()->mutable_terminal()->set_columns(80);
      request.mutable_command()->mutable_terminal()->set_rows(24);
    }
    grpc::ClientContext context;
    corral::v1::Execution execution;
    EXPECT_TRUE(stub->StartExecution(&context, request, &execution).ok());
  }
  server_.SetPageSize(1);
  Make();
  const auto sessions = terminals_->List();
  ASSERT_THAT(sessions.status(), IsOk());
  ASSERT_THAT(*sessions, SizeIs(2));
  EXPECT_TRUE((*sessions)[0].is_default);
  EXPECT_EQ((*sessions)[0].shell.shell, "sh");
  EXPECT_EQ((*sessions)[1].id, session->id);
  EXPECT_EQ((*sessions)[1].shell.shell, "zsh");
  EXPECT_EQ((*sessions)[1].shell.columns, 90);
  EXPECT_EQ((*sessions)[1].shell.rows, 20);
  EXPECT_GT((*sessions)[1].created, absl::UnixEpoch());
  EXPECT_GE((*sessions)[1].last_activity, (*sessions)[1].created);
  EXPECT_EQ(ShellOf(""), first);
  EXPECT_EQ(ShellOf(session->id), second);
  EXPECT_THAT(*terminals_->List(), SizeIs(2));
  terminals_.reset();
  EXPECT_THAT(server_.deletions(), IsEmpty());
}

TEST_F(TerminalsTest, RefuseALastingSandboxWithOtherOptions) {
  options_.sandbox.lasting_id = "mine";
  Make();
  ShellOf("");
  options_.sandbox.sandbox.mutable_limits()->set_pids(50);
  Make();
  EXPECT_THAT(terminals_->Find("").status(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("mine exists with other options")));
}

}  // namespace
}  // namespace bridge

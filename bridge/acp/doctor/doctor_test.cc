#include "bridge/acp/doctor/doctor.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class DoctorTest : public ::testing::Test {
 protected:
  bool Examine() {
    lines_.clear();
    return bridge::Examine(checkup_, [this](absl::string_view line) {
      lines_.emplace_back(line);
    });
  }

  int code_ = 0;
  tests::FakeServer server_{
      [this](tests::FakeExecution& command) { command.SetExit(code_); }};
  Checkup checkup_ = {{server_.address()}, {}, {"sh"}, {"corral"}};
  std::vector<std::string> lines_;
};

TEST_F(DoctorTest, FindsThatAllIsWell) {
  checkup_.sandbox.mutable_workspace()->set_path("/w");
  EXPECT_TRUE(Examine());
  EXPECT_THAT(lines_, SizeIs(5));
  EXPECT_THAT(lines_, Each(StartsWith("ok    ")));
  EXPECT_THAT(lines_, Contains(HasSubstr("has access to /w")));
  EXPECT_THAT(server_.deletions(), SizeIs(1));
}

TEST_F(DoctorTest, TriesAShortCommandInASandboxThatEndsByItself) {
  checkup_.agent = {"/bin/sh"};
  checkup_.sandbox.mutable_workspace()->set_path("/w");
  EXPECT_TRUE(Examine());
  EXPECT_EQ(lines_.front(), "ok    agent: /bin/sh");
  checkup_.sandbox.mutable_workspace()->set_read_only(true);
  EXPECT_TRUE(Examine());
  for (const auto& creation : server_.creations()) {
    EXPECT_EQ(creation.sandbox().lifetime().max_age().seconds(), 60);
  }
  EXPECT_EQ(server_.starts()[0].command().argv(2), "test -w .");
  EXPECT_EQ(server_.starts()[0].command().wall_timeout().seconds(), 30);
  EXPECT_EQ(server_.starts()[1].command().argv(2), "test -r .");
}

TEST_F(DoctorTest, SaysWhatIsMissingBesideIt) {
  checkup_.agent.clear();
  checkup_.attach.clear();
  EXPECT_TRUE(Examine());
  EXPECT_THAT(lines_.front(), StartsWith("note  display: no `corral`"));
}

TEST_F(DoctorTest, NoticesThatCommandsDoNotStart) {
  corral::v1::StartFailure failure;
  failure.set_message("no shell");
  server_.FailStarts(failure);
  EXPECT_FALSE(Examine());
  EXPECT_EQ(lines_.back(), "FAIL  command: a command did not start: no shell");
}

TEST_F(DoctorTest, SaysWhatToDoAboutAMissingAgent) {
  checkup_.agent = {"no-such-agent"};
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.front(),
              AllOf(StartsWith("FAIL  agent: no-such-agent is not in PATH"),
                    HasSubstr("absolute path")));
  checkup_.agent = {"/nonexistent/agent"};
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.front(), HasSubstr("is not an executable file"));
}

TEST_F(DoctorTest, SaysWhatToDoWithoutAServer) {
  checkup_.server.server = "unix:/nonexistent/socket";
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(), AllOf(StartsWith("FAIL  server: "),
                                   HasSubstr("unix:/nonexistent/socket"),
                                   HasSubstr("give --server")));
}

TEST_F(DoctorTest, SaysWhatToDoAboutAWorkspaceThatTheServerRefuses) {
  checkup_.sandbox.mutable_workspace()->set_path("relative");
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(),
              AllOf(StartsWith("FAIL  sandbox: "), HasSubstr("--map")));
}

TEST_F(DoctorTest, SaysWhereTheServersConfigurationMatters) {
  checkup_.sandbox.add_mounts()->set_source("relative");
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(),
              AllOf(HasSubstr("sandbox.mounts[0]"), HasSubstr("mount_roots"),
                    Not(HasSubstr("--map"))));
  checkup_.sandbox.clear_mounts();
  checkup_.sandbox.set_network(corral::v1::Sandbox::ALLOW_LIST);
  checkup_.sandbox.add_egress_rules()->set_host("not a host");
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(), AllOf(HasSubstr("sandbox.egress_rules[0]"),
                                   HasSubstr("--agent-profile none")));
}

TEST_F(DoctorTest, AdvisesNothingAboutOtherFields) {
  checkup_.sandbox.mutable_limits()->set_pids(1);
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(),
              AllOf(HasSubstr("sandbox.limits.pids"), Not(HasSubstr("--map")),
                    Not(HasSubstr("configuration"))));
}

TEST_F(DoctorTest, ChecksWhatAnAgentInsideNeeds) {
  checkup_.inside = {{"/x/agent"}, {"A=b"}};
  checkup_.sandbox.add_mounts()->set_source("/x");
  checkup_.sandbox.set_network(corral::v1::Sandbox::ALLOW_LIST);
  checkup_.sandbox.add_egress_rules()->set_host("*.example");
  EXPECT_TRUE(Examine());
  EXPECT_THAT(lines_, Contains("ok    mount: /x, read-only"));
  EXPECT_THAT(lines_.back(), StartsWith("ok    agent inside: runs"));
  EXPECT_EQ(server_.starts().back().command().argv(1), "--version");
  // A name with * cannot be tried.
  EXPECT_THAT(lines_, SizeIs(7));
  checkup_.sandbox.add_egress_rules()->set_host("a.example");
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_, Contains(StartsWith("FAIL  host a.example: ")));
}

TEST_F(DoctorTest, NoticesThatCommandsHaveNoAccessToTheWorkspace) {
  checkup_.sandbox.mutable_workspace()->set_path("/w");
  code_ = 1;
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_.back(), StartsWith("FAIL  command: "));
  EXPECT_THAT(server_.deletions(), SizeIs(1));
}

}  // namespace
}  // namespace bridge

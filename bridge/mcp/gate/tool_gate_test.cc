#include "bridge/mcp/gate/tool_gate.h"

#include <string>
#include <utility>

#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::corral::config::v1::ALLOW;
using ::corral::config::v1::ASK;
using ::corral::config::v1::DENY;
using ::testing::HasSubstr;

class ToolGateTest : public ::testing::Test {
 protected:
  corral::config::v1::GateDecision Judge(const std::string& tool,
                                         const OrderedJson& arguments) {
    return gate_.Judge(tool, arguments)->ruling.decision;
  }

  const std::string file_ = ::testing::TempDir() + "/audit.jsonl";
  ToolGate gate_{*GateRules::Parse("rules",
                                   R"(rule { decision: ALLOW program: "git" }
                                      rule { decision: ASK program: "make" }
                                      rule { decision: ALLOW program: "python3"
                                             working_directory: "/w*" }
                                      rule { decision: ASK program: "/bin/zsh" }
                                      otherwise: DENY)"),
                 *AuditLog::Open(file_), "/bin/bash"};
};

TEST_F(ToolGateTest, JudgesRunByItsLine) {
  EXPECT_EQ(Judge("run", {{"command", "git status"}}), ALLOW);
  EXPECT_EQ(Judge("run", {{"command", "make -j2"}}), ASK);
  EXPECT_EQ(Judge("run", {{"command", "rm x"}}), DENY);
  // A rule that allows git allows no line that holds more.
  for (const char* const line :
       {"git status; rm x", "git status\nrm x", "git status && rm x",
        "git log $(rm x)", "X=1 git status", "git status | sh", "!git"}) {
    EXPECT_EQ(Judge("run", {{"command", line}}), DENY) << line;
  }
  EXPECT_EQ(Judge("run", {{"command", 5}}), DENY);
  EXPECT_EQ(Judge("run", OrderedJson()), DENY);
}

TEST_F(ToolGateTest, AllowsNothingByTheDirectoryOfAShell) {
  EXPECT_EQ(Judge("run", {{"command", "python3"}}), DENY);
}

TEST_F(ToolGateTest, JudgesTypingAsTheShell) {
  EXPECT_EQ(Judge("type", {{"text", "git status\r"}}), DENY);
  EXPECT_EQ(Judge("sendKey", {{"key", "Enter"}}), DENY);
  EXPECT_TRUE(gate_.Judge("type", {{"text", "x"}})->types);
}

TEST_F(ToolGateTest, JudgesTheProgramOfASession) {
  EXPECT_EQ(Judge("createSession", {{"shell", "/bin/zsh"}}), ASK);
  EXPECT_EQ(Judge("createSession", {{"shell", "./evil"}}), DENY);
  // The shell that the user chose.
  EXPECT_FALSE(gate_.Judge("createSession", {{"cols", 80}}).has_value());
}

TEST_F(ToolGateTest, KnowsTheSessionOfACall) {
  EXPECT_EQ(gate_.Judge("run", {{"command", "x"}, {"sessionId", "ab123"}})
                ->command.session_id,
            "ab123");
  EXPECT_EQ(gate_.Judge("run", {{"command", "x"}})->command.session_id, "");
}

TEST_F(ToolGateTest, LetsCallsPassThatRunNothing) {
  for (const char* const tool :
       {"getContent", "takeScreenshot", "clear", "wait", "listSessions",
        "resize", "signal", "startRecording"}) {
    EXPECT_FALSE(gate_.Judge(tool, OrderedJson::object()).has_value()) << tool;
  }
}

TEST_F(ToolGateTest, KnowsALineAlsoWhenItsShellIsNoShell) {
  const ToolGate gate(
      *GateRules::Parse("rules", R"(rule { decision: DENY program: "rm" })"),
      AuditLog(), "/usr/bin/fish");
  EXPECT_EQ(gate.Judge("run", {{"command", "echo; rm x"}})->ruling.decision,
            DENY);
}

TEST_F(ToolGateTest, WritesDecisionsAndEnds) {
  const auto judged = gate_.Judge("run", {{"command", "git status"}});
  EXPECT_TRUE(gate_.Record(*judged, true, "rule 1"));
  gate_.RecordEnd(*judged, {{"exitCode", 3}}, "s/executions/e");
  gate_.RecordEnd(*judged, {{"exitCode", nullptr}}, "s/executions/e2");
  gate_.RecordEnd(*judged, OrderedJson::object(), "s/executions/e3");
  const std::string log = tests::ReadFile(file_);
  EXPECT_THAT(log, HasSubstr(R"("argv":["/bin/bash","-c","git status"])"));
  EXPECT_THAT(log, HasSubstr(R"("decision":"ALLOW","allowed":true)"));
  EXPECT_THAT(log, HasSubstr(R"("sandbox":"s","execution":"s/executions/e",)"
                             R"("exit":{"code":3,"cause":"NORMAL"})"));
  EXPECT_THAT(log, HasSubstr(R"("execution":"s/executions/e2","exit":null)"));
  EXPECT_THAT(log, HasSubstr(R"("execution":"s/executions/e3","exit":null)"));
}

TEST_F(ToolGateTest, SaysWhenADecisionCannotBeWritten) {
  ToolGate gate(GateRules(), *AuditLog::Open("/dev/full"), "/bin/bash");
  EXPECT_FALSE(
      gate.Record(*gate.Judge("run", {{"command", "x"}}), true, "otherwise"));
}

}  // namespace
}  // namespace bridge

// Calls that wait for a program, with terminals of a fake server.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/gate/tool_gate.h"
#include "bridge/mcp/protocol/gated_calls_fixture.h"
#include "bridge/mcp/protocol/mcp_server.h"
#include "bridge/mcp/protocol/waits.h"
#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/tools.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::EndsWith;

// A server of MCP with shells that write marks as bash does. Each line that
// they run ends at once, unless it is "sleep".
class WaitingCallsTest : public ::testing::Test {
 protected:
  static TerminalsOptions Options(const std::string& server) {
    TerminalsOptions options;
    options.sandbox.server.server = server;
    options.shell.shell = "sh";
    return options;
  }

  void Call(size_t id, const std::string& tool, const std::string& arguments) {
    server_->Receive(
        absl::StrCat(R"({"jsonrpc":"2.0","id":)", id,
                     R"(,"method":"tools/call","params":{"name":")", tool,
                     R"(","arguments":)", arguments, "}}"),
        channel_);
  }

  const std::string audit_ =
      ::testing::TempDir() + "/" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  tests::FakeServer fake_{[](tests::FakeExecution& shell) {
    std::string line = shell.ReadInput(65536);
    while (!line.empty()) {
      shell.Print("\x1b]133;C\x07");
      if (line != "sleep\r") {
        shell.Print("\x1b]133;D;7\x07");
      }
      line = shell.ReadInput(65536);
    }
  }};
  Recorder recorder_{80, 24};
  Terminals terminals_{Options(fake_.address()), &recorder_};
  Tools tools_{&terminals_, &recorder_};
  ToolGate gate_{GateRules(), *AuditLog::Open(audit_), "/bin/bash"};
  std::shared_ptr<Messages> channel_ = std::make_shared<Messages>();
  std::unique_ptr<McpServer> server_ =
      std::make_unique<McpServer>(&tools_, &gate_);
};

TEST_F(WaitingCallsTest, WriteTheEndOfACommandDown) {
  Call(1, "run", R"({"command":"make"})");
  EXPECT_EQ(channel_->Take()["result"]["structuredContent"]["exitCode"], 7);
  Call(2, "wait", R"({"timeoutMs":0})");
  EXPECT_EQ(channel_->Take()["id"], 2);
  const std::string log = tests::ReadFile(audit_);
  const size_t end = log.find(R"("event":"end")");
  ASSERT_NE(end, log.npos);
  EXPECT_EQ(log.substr(end),
            R"("event":"end","session":"","argv":["/bin/bash","-c","make"],)"
            R"("cwd":"","sandbox":"tenants/default/sandboxes/s1",)"
            R"("execution":"tenants/default/sandboxes/s1/executions/e1",)"
            R"("exit":{"code":7,"cause":"NORMAL"}})"
            "\n");
}

TEST_F(WaitingCallsTest, WriteTheEndOfACancelledCommandDown) {
  Call(1, "run", R"({"command":"sleep"})");
  Call(2, "clear", "{}");
  EXPECT_EQ(channel_->Take()["id"], 2);
  server_->Receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                   R"("params":{"requestId":1}})",
                   channel_);
  // Its end awaits that of the call.
  server_.reset();
  const std::string log = tests::ReadFile(audit_);
  const size_t end = log.find(R"("event":"end")");
  ASSERT_NE(end, log.npos);
  EXPECT_THAT(log.substr(end), EndsWith(R"("exit":null})"
                                        "\n"));
}

TEST_F(WaitingCallsTest, AreDroppedWhenTheyAreCancelledBeforeTheyBegin) {
  Call(1, "clear", "{}");
  EXPECT_EQ(channel_->Take()["id"], 1);
  // The next call waits for the server, and the others for the call.
  fake_.Stop();
  for (const size_t id : {2, 3, 4}) {
    Call(id, "clear", "{}");
  }
  server_->Receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                   R"("params":{"requestId":3}})",
                   channel_);
  fake_.Start();
  EXPECT_EQ(channel_->Take()["id"], 2);
  EXPECT_EQ(channel_->Take()["id"], 4);
}

TEST_F(WaitingCallsTest, AreRefusedWhenTooManyWait) {
  for (size_t id = 0; id <= Waits::kMaxWaits; ++id) {
    Call(id, "wait", R"({"text":"none","timeoutMs":600000})");
  }
  const OrderedJson refusal = channel_->Take();
  EXPECT_EQ(refusal["id"], Waits::kMaxWaits);
  EXPECT_EQ(refusal["result"]["content"][0]["text"],
            "Error: too many calls wait already");
}

}  // namespace
}  // namespace bridge

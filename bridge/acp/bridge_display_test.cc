// Tests of a client that has terminals of its own, against a fake server.

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/acp/bridge_fixture.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class BridgeDisplayTest : public BridgeTest {
 protected:
  // Makes a bridge, and has the agent embed a terminal in a tool call.
  void Show(BridgeOptions options) {
    Finish();
    Make(std::move(options));
    bridge_->OnClientLine(R"({"id":0,"method":"initialize","params":)"
                          R"({"clientCapabilities":{"terminal":true}}})"
                          "\n");
    agent_.clear();
    const std::string terminal = Terminal("hang");
    client_.clear();
    bridge_->OnAgentLine(absl::StrCat(
        R"({"method":"session/update","params":{"sessionId":"s","update":)"
        R"({"sessionUpdate":"tool_call","toolCallId":"c","content":)"
        R"([{"type":"terminal","terminalId":")",
        terminal, "\"}]}}}\n"));
  }
};

TEST_F(BridgeDisplayTest, AttachesATerminalOfTheClientToTheExecution) {
  BridgeOptions options;
  options.display.attach = {"/bin/corral", "attach"};
  Show(std::move(options));
  ASSERT_GE(client_.size(), 2u);
  const Json request = ParseJson(client_[1]).value_or(nullptr);
  EXPECT_EQ(request["method"], "terminal/create");
  EXPECT_EQ(request["params"]["command"], "/bin/corral");
  EXPECT_EQ(request["params"]["args"],
            (Json{"attach", "tenants/default/sandboxes/s1/executions/t1"}));
}

TEST_F(BridgeDisplayTest, ShowsTextInAClientWithTerminalsIfThereIsNoCorral) {
  Show({});
  const Json update = ParseJson(client_.at(0)).value_or(nullptr);
  EXPECT_EQ(update["params"]["update"]["content"][0]["type"], "content");
  EXPECT_THAT(client_, Each(Not(HasSubstr("terminal/create"))));
}

}  // namespace
}  // namespace bridge

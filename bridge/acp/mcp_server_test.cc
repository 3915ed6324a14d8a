#include "bridge/acp/mcp_server.h"

#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

std::string Add(const std::string& params) {
  const std::string head = R"({"id":1e400, "method":"session/new","params":)";
  const std::string line = AddMcpServer(
      head + params + " }\n", {"/bin/corral-mcp", "--server", "x"}, "acp-1");
  EXPECT_EQ(line.substr(0, head.size()), head);
  EXPECT_EQ(line.substr(line.size() - 3), " }\n");
  return line.substr(head.size(), line.size() - head.size() - 3);
}

constexpr char kEntry[] =
    R"({"name":"corral","command":"/bin/corral-mcp",)"
    R"("args":["--server","x","--sandbox","acp-1"],"env":[]})";

TEST(McpServerTest, JoinsTheServersOfTheClient) {
  EXPECT_EQ(Add(R"({"cwd":"/w", "mcpServers":[ ]})"),
            std::string(R"({"cwd":"/w", "mcpServers":[ )") + kEntry + "]}");
  EXPECT_EQ(
      Add(R"({"mcpServers":[{"name":"other","x":9007199254740993}],"a":1,"a":2})"),
      std::string(R"({"mcpServers":[{"name":"other","x":9007199254740993},)") +
          kEntry + R"(],"a":1,"a":2})");
}

TEST(McpServerTest, MakesAListWhereThereIsNone) {
  EXPECT_EQ(Add("{}"), std::string(R"({"mcpServers":[)") + kEntry + "]}");
  EXPECT_EQ(Add(R"({"cwd":"/w"})"),
            std::string(R"({"mcpServers":[)") + kEntry + R"(],"cwd":"/w"})");
  EXPECT_EQ(Add(R"({"mcpServers":null})"),
            std::string(R"({"mcpServers":[)") + kEntry + "]}");
}

TEST(McpServerTest, LeavesAListWithAServerOfThatNameOrAWrongOneAlone) {
  for (const char* params :
       {R"({"mcpServers":[{"name":"corral","command":"mine"}]})",
        R"({"mcpServers":{}})", R"({"mcpServers":7})", "[]", "7"}) {
    EXPECT_EQ(Add(params), params);
  }
}

TEST(McpServerTest, LeavesWhatIsNotJsonAlone) {
  EXPECT_EQ(Add(R"({"mcpServers":[nonsense]})"),
            R"({"mcpServers":[nonsense]})");
}

}  // namespace
}  // namespace bridge

// corral-acp and the programs that stand next to it.

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

constexpr char kProgram[] = "bridge/acp/corral_acp_under_test";

// Puts a copy of the program beside files with the names of the others.
class CorralAcpSiblingsTest : public ::testing::Test {
 protected:
  CorralAcpSiblingsTest() {
    std::string name = "/tmp/corral_acp_siblings.XXXXXX";
    directory_ = std::filesystem::canonical(::mkdtemp(name.data()));
    std::filesystem::copy_file(kProgram, directory_ / "corral-acp");
    for (const char* sibling : {"corral", "corral-mcp"}) {
      const std::filesystem::path path = directory_ / sibling;
      tests::WriteFile(path.string(), "");
      std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
  }
  ~CorralAcpSiblingsTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const char* name) const {
    return (directory_ / name).string();
  }

  // The command of corral-acp, with these options and an agent that repeats
  // each line.
  std::vector<std::string> Command(const std::vector<std::string>& options) {
    std::vector<std::string> words = {Path("corral-acp"), "--server",
                                      server_.address()};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "cat"});
    return words;
  }

  std::filesystem::path directory_;
  tests::FakeServer server_{
      [](tests::FakeExecution& command) { command.Hang(); }};
};

// Sends a line of the client, and returns what comes back.
Json Exchange(tests::Process& program, const std::string& line) {
  program.Write(line + "\n");
  return ParseJson(program.ReadLine()).value_or(nullptr);
}

TEST_F(CorralAcpSiblingsTest, OffersCorralMcpWithTheRulesAndTheAuditLog) {
  tests::WriteFile(Path("gate"), "otherwise: ALLOW");
  tests::Process program(Command(
      {"--mcp", "--gate", Path("gate"), "--audit", Path("audit.jsonl")}));
  const Json opening = Exchange(
      program, R"({"id":1,"method":"session/new","params":{"cwd":"/w"}})");
  const Json& mcp = opening["params"]["mcpServers"][0];
  EXPECT_EQ(mcp["command"], Path("corral-mcp"));
  std::vector<std::string> words = mcp["args"];
  ASSERT_EQ(words.size(), 8u);
  words.pop_back();  // the id of the sandbox
  EXPECT_THAT(words, ::testing::ElementsAre("--server", server_.address(),
                                            "--gate", Path("gate"), "--audit",
                                            Path("audit.jsonl"), "--sandbox"));
}

TEST_F(CorralAcpSiblingsTest, OffersCorralMcpWithoutRules) {
  tests::Process program(Command({"--mcp"}));
  const Json opening = Exchange(
      program, R"({"id":1,"method":"session/new","params":{"cwd":"/w"}})");
  EXPECT_EQ(opening["params"]["mcpServers"][0]["args"].size(), 4u);
}

TEST_F(CorralAcpSiblingsTest, ShowsACommandByCorralAttach) {
  tests::Process program(Command({}));
  Exchange(program, R"({"id":0,"method":"initialize","params":)"
                    R"({"clientCapabilities":{"terminal":true}}})");
  Exchange(program, R"({"id":1,"method":"session/new","params":{"cwd":"/w"}})");
  Exchange(program, R"({"id":1,"result":{"sessionId":"s"}})");
  EXPECT_EQ(
      Exchange(
          program,
          R"({"id":2,"method":"terminal/create","params":)"
          R"({"sessionId":"s","command":"hang"}})")["result"]["terminalId"],
      "s1.t1");
  program.Write(
      R"({"method":"session/update","params":{"sessionId":"s","update":)"
      R"({"sessionUpdate":"tool_call","toolCallId":"c","content":)"
      R"([{"type":"terminal","terminalId":"s1.t1"}]}}})"
      "\n");
  std::string line;
  do {
    line = program.ReadLine();
  } while (!line.empty() && !absl::StrContains(line, "terminal/create"));
  const Json request = ParseJson(line).value_or(nullptr);
  EXPECT_EQ(request["params"]["command"], Path("corral"));
  EXPECT_EQ(request["params"]["args"],
            (Json{"--server", server_.address(), "attach",
                  "tenants/default/sandboxes/s1/executions/t1"}));
}

}  // namespace
}  // namespace bridge

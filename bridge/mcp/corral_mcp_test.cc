// The program corral-mcp, as its clients meet it.

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/http/http_address.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/process.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CorralMcp : public tests::Process {
 public:
  explicit CorralMcp(std::vector<std::string> arguments)
      : Process(WithProgram(std::move(arguments))) {}

  void Send(int id, const std::string& method, const std::string& params) {
    Write(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"method":")",
                       method, R"(","params":)", params, "}\n"));
  }

  OrderedJson Receive() { return ParseOrderedJson(ReadLine()).value(); }

 private:
  static std::vector<std::string> WithProgram(
      std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bridge/mcp/corral_mcp_under_test");
    return arguments;
  }
};

TEST(CorralMcpTest, AnswersUntilTheEndOfItsInput) {
  CorralMcp program({"--no-workspace"});
  program.Send(1, "initialize", R"({"protocolVersion":"2025-11-25"})");
  EXPECT_EQ(program.Receive()["result"]["serverInfo"]["name"], "corral-mcp");
  program.Send(2, "ping", "{}");
  program.CloseInput();
  EXPECT_EQ(program.Receive()["id"], 2);
  EXPECT_EQ(program.Wait(), 0);
}

TEST(CorralMcpTest, FinishesItsCallsBeforeItEnds) {
  tests::FakeServer server(
      [](tests::FakeExecution& command) { command.Hang(); });
  CorralMcp program({"--server", server.address(), "--no-workspace"});
  program.Send(1, "tools/call", R"({"name":"listSessions"})");
  program.CloseInput();
  const OrderedJson result = program.Receive()["result"];
  EXPECT_EQ(result["structuredContent"]["maxSessions"], 5);
  EXPECT_FALSE(result.contains("isError"));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(server.deletions(),
              ElementsAre("tenants/default/sandboxes/s1/executions/e1",
                          "tenants/default/sandboxes/s1"));
}

TEST(CorralMcpTest, SavesARecordingWhenASignalEndsIt) {
  const std::string directory = ::testing::TempDir() + "/recordings";
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    CorralMcp program({"--no-workspace"});
    program.Send(1, "tools/call",
                 absl::StrCat(R"({"name":"startRecording","arguments":)",
                              R"({"outputDir":")", directory, "\"}}"));
    const std::string path =
        program.Receive()["result"]["structuredContent"]["path"];
    EXPECT_FALSE(std::filesystem::exists(path));
    program.Signal(number);
    EXPECT_EQ(program.Wait(), 0);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
}

TEST(CorralMcpTest, ExplainsItsOptions) {
  CorralMcp help({"--help"});
  EXPECT_THAT(help.ReadOutput(), HasSubstr("Usage: corral-mcp"));
  EXPECT_EQ(help.Wait(), 0);
  CorralMcp wrong({"--nonsense"});
  EXPECT_EQ(wrong.Wait(), 2);
  EXPECT_EQ(wrong.ReadError(),
            "corral-mcp: unknown option --nonsense; see corral-mcp --help\n"
            "Try corral-mcp --help.\n");
}

TEST(CorralMcpTest, ServesHttpUntilASignal) {
  CorralMcp program({"--http", "0", "--no-workspace"});
  std::string said;
  while (!absl::EndsWith(said, "\n")) {
    said = program.ReadError();
  }
  EXPECT_THAT(said, StartsWith("corral-mcp: serving http://127.0.0.1:"));
  EXPECT_THAT(said, EndsWith("/mcp\n"));
  const size_t begin = said.find("127.0.0.1");
  const std::string where = said.substr(begin, said.find("/mcp") - begin);
  const HttpAddress address = *HttpAddress::Parse(where);
  const sandbox::UniqueFd socket(
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), address.get(), address.size()), 0);
  const std::string body =
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})";
  tests::WriteAll(
      socket.get(),
      absl::StrCat("POST /mcp HTTP/1.1\r\nHost: ", where,
                   "\r\nContent-Type: application/json\r\nContent-Length: ",
                   body.size(), "\r\nConnection: close\r\n\r\n", body));
  std::string response;
  char buffer[4096];
  for (ssize_t size = 0;
       (size = ::read(socket.get(), buffer, sizeof buffer)) > 0;) {
    response.append(buffer, size);
  }
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200"));
  // Nobody else can listen there.
  CorralMcp second({"--http", where, "--no-workspace"});
  EXPECT_EQ(second.Wait(), 125);
  EXPECT_THAT(second.ReadError(), HasSubstr("listen at"));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
}

}  // namespace
}  // namespace bridge

// corral-acp between a client and a scripted agent, with the real server.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Repeats every line that it receives to the client, in a notification. `ask`
// sends a request and keeps the answer in $answer.
constexpr char kAgent[] = R"(
hear() {
  read -r answer
  printf '{"jsonrpc":"2.0","method":"_heard","params":%s}\n' "$answer"
}
ask() {
  echo "{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"method\":\"terminal/$1\",\"params\":{\"sessionId\":\"s\",$2}}"
  hear
}
hear
echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
hear
echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
hear
ask create "$0"
id=${answer#*terminalId\":\"}
id="\"terminalId\":\"${id%%\"*}\""
if [ "$1" = kill ]; then ask kill "$id"; fi
ask wait_for_exit "$id"
ask output "$id"
ask release "$id"
ask output "$id"
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
read -r rest || exit 0
)";

class AcpTest : public IntegrationTest {
 protected:
  // Begins a session and sends its prompt, on which the agent creates this
  // terminal.
  std::unique_ptr<Process> Begin(const std::string& terminal,
                                 const std::string& option = "") {
    auto bridge = std::make_unique<Process>(
        std::vector<std::string>{"./corral-acp", "--server", server_.address(),
                                 "--", "sh", "-c", kAgent, terminal, option});
    bridge->Write(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":)"
                  R"({"protocolVersion":1,"clientCapabilities":{}}})"
                  "\n");
    EXPECT_THAT(bridge->ReadLine(), HasSubstr("\"terminal\":true"));
    EXPECT_THAT(bridge->ReadLine(), HasSubstr("\"protocolVersion\":1"));
    bridge->Write(absl::StrCat(
        R"({"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":")",
        server_.workspace(), R"(","mcpServers":[]}})", "\n"));
    bridge->ReadLine();
    EXPECT_THAT(bridge->ReadLine(), HasSubstr("\"sessionId\":\"s\""));
    bridge->Write(R"({"jsonrpc":"2.0","id":2,"method":"session/prompt",)"
                  R"("params":{"sessionId":"s","prompt":[]}})"
                  "\n");
    bridge->ReadLine();
    EXPECT_THAT(bridge->ReadLine(), HasSubstr("terminalId"));
    return bridge;
  }

  void ExpectEnd(Process& bridge) {
    EXPECT_THAT(bridge.ReadLine(),
                AllOf(HasSubstr("\"release\""), HasSubstr("\"result\":{}")));
    EXPECT_THAT(bridge.ReadLine(), HasSubstr("\"code\":-32002"));
    EXPECT_THAT(bridge.ReadLine(), HasSubstr("end_turn"));
    bridge.CloseInput();
    EXPECT_EQ(bridge.Wait(), 0) << bridge.ReadError();
    EXPECT_EQ(client_->GetInfo().sandboxes(), 0);
  }
};

TEST_F(AcpTest, RunsACommandInTheSessionsDirectory) {
  WriteFile(server_.workspace() + "/file", "content");
  const auto bridge =
      Begin(R"("command":"sh","args":["-c","cat file; echo \" $A\"; exit 3"],)"
            R"("env":[{"name":"A","value":"b"}],"outputByteLimit":1000)");
  EXPECT_THAT(bridge->ReadLine(), HasSubstr("\"exitCode\":3"));
  EXPECT_THAT(bridge->ReadLine(), AllOf(HasSubstr(R"("output":"content b\n")"),
                                        HasSubstr("\"truncated\":false"),
                                        HasSubstr("\"exitCode\":3")));
  ExpectEnd(*bridge);
}

TEST_F(AcpTest, KeepsTheTailOfALongOutput) {
  const auto bridge = Begin(R"("command":"seq 10000","outputByteLimit":12)");
  EXPECT_THAT(bridge->ReadLine(), HasSubstr("\"exitCode\":0"));
  EXPECT_THAT(bridge->ReadLine(),
              AllOf(HasSubstr(R"("output":"\n9999\n10000\n")"),
                    HasSubstr("\"truncated\":true")));
  ExpectEnd(*bridge);
}

TEST_F(AcpTest, DoesNotNoticeThatTheServerIsKilledAgainAndAgain) {
  // At least one answer arrives between two restarts.
  std::atomic<int> answers = 0;
  std::atomic<bool> over = false;
  std::thread restarts([&] {
    while (!over) {
      server_.Kill();
      server_.Start();
      const int before = answers;
      while (!over && answers == before) {
        absl::SleepFor(absl::Milliseconds(1));
      }
    }
  });
  for (int i = 0; i < 5; ++i) {
    const auto bridge = Begin(
        R"("command":"sh","args":["-c","echo up; sleep 0.3; seq 9; exit 3"])");
    for (const char* expected :
         {"\"exitCode\":3",
          R"("output":"up\n1\n2\n3\n4\n5\n6\n7\n8\n9\n","truncated":false)",
          "\"result\":{}", "\"code\":-32002", "end_turn"}) {
      ++answers;
      EXPECT_THAT(bridge->ReadLine(), HasSubstr(expected));
    }
    bridge->CloseInput();
    EXPECT_EQ(bridge->Wait(), 0) << bridge->ReadError();
  }
  over = true;
  restarts.join();
  client_ = std::make_unique<Client>(server_.Connect());
  EXPECT_EQ(client_->GetInfo().sandboxes(), 0);
}

TEST_F(AcpTest, KillsARunningCommand) {
  const auto bridge = Begin(R"("command":"sleep","args":["1000"])", "kill");
  EXPECT_THAT(bridge->ReadLine(),
              AllOf(HasSubstr("\"kill\""), HasSubstr("\"result\":{}")));
  EXPECT_THAT(bridge->ReadLine(), ContainsRegex("\"signal\":\"SIG(TERM|KILL)"));
  bridge->ReadLine();
  ExpectEnd(*bridge);
}

}  // namespace
}  // namespace tests

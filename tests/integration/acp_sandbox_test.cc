// Tests in which sandboxes corral-acp runs commands, with the real server: the
// test is the editor, a shell script the agent.

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs the shell lines that it gets as arguments in terminals, one after
// another, and tells the editor what came back. A line that begins with MCP
// runs in a shell of the corral-mcp of the session.
constexpr char kAgent[] = R"sh(
hear() { read -r answer; }
say() { printf '%s\n' "$1"; }
ask() {
  say "{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"method\":\"terminal/$1\",\"params\":{\"sessionId\":\"s\",$2}}"
  hear
}
mcp() {
  hold=$(mktemp -u); mkfifo "$hold"
  {
    say '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    say "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"run\",\"arguments\":{\"command\":\"$1\"}}}"
    read -r over < "$hold"
  } | env -i PATH="$PATH" HOME=/ $server | {
    read -r hello; read -r result
    : > "$hold"
    say "$result"
  }
  rm "$hold"
}
hear; say '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
hear; opening=$answer
server=$(printf '%s' "$opening" | sed -n 's/.*"name":"corral","command":"\([^"]*\)","args":\[\([^]]*\)\].*/\1,\2/p' | tr -d '"' | tr , ' ')
say '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
hear
for line;
do
  case $line in
    MCP*) answer=$(mcp "${line#MCP}") ;;
    *)
      ask create "\"command\":\"$line\",\"args\":null"
      id=${answer#*terminalId\":\"}
      id="\"terminalId\":\"${id%%\"*}\""
      say '{"jsonrpc":"2.0","method":"_created","params":{}}'
      ask wait_for_exit "$id"
      ask output "$id"
      ;;
  esac
  say "{\"jsonrpc\":\"2.0\",\"method\":\"_got\",\"params\":$answer}"
done
say '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
read -r rest || exit 0
)sh";

class AcpSandboxTest : public IntegrationTest {
 protected:
  AcpSandboxTest() {
    for (const char* name : {"project", "library"}) {
      std::filesystem::create_directories(Path(name));
      WriteFile(Path(name) + "/" + name + ".txt", name);
    }
  }

  // A directory in the tests' own one.
  std::string Path(const std::string& name) {
    return server_.workspace() + "/" + name;
  }

  // Has the agent run these lines in a session in `project`.
  void Begin(std::vector<std::string> options,
             const std::vector<std::string>& lines,
             const std::string& more_params = "") {
    options.insert(options.begin(),
                   {"./corral-acp", "--server", server_.address()});
    options.insert(options.end(), {"--", "sh", "-c", kAgent, "agent"});
    options.insert(options.end(), lines.begin(), lines.end());
    editor_ = std::make_unique<Process>(options);
    editor_->Write(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":)"
                   R"({"protocolVersion":1,"clientCapabilities":{}}})"
                   "\n");
    editor_->ReadLine();
    editor_->Write(absl::StrCat(
        R"({"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":")",
        Path("project"), R"(","mcpServers":[])", more_params, "}}\n"));
    editor_->ReadLine();
    editor_->Write(R"({"jsonrpc":"2.0","id":2,"method":"session/prompt",)"
                   R"("params":{"sessionId":"s","prompt":[]}})"
                   "\n");
  }

  std::string ReadUntil(const std::string& text) {
    for (;;) {
      const std::string line = editor_->ReadLine();
      if (line.empty() || absl::StrContains(line, text)) {
        EXPECT_THAT(line, HasSubstr(text));
        return line;
      }
    }
  }

  void ExpectEnd() {
    editor_->CloseInput();
    EXPECT_EQ(editor_->Wait(), 0) << editor_->ReadError();
    EXPECT_EQ(client_->GetInfo().sandboxes(), 0);
  }

  std::unique_ptr<Process> editor_;
};

TEST_F(AcpSandboxTest, ShowsTheAdditionalDirectoriesOfASession) {
  Begin(
      {},
      {absl::StrCat("pwd; ls .. ", Path("library"),
                    "; cat ../library/library.txt; echo x > ../library/new")},
      absl::StrCat(R"(,"additionalDirectories":[")", Path("library"), R"("])"));
  EXPECT_THAT(ReadUntil("_got"),
              HasSubstr(absl::StrCat(Path("project"), "\\n..:\\nlibrary\\n",
                                     "project\\n\\n", Path("library"),
                                     ":\\nlibrary.txt\\nlibrary")));
  ReadUntil("end_turn");
  EXPECT_EQ(ReadFile(Path("library/new")), "x\n");
  ExpectEnd();
}

TEST_F(AcpSandboxTest, ReportsAnAdditionalDirectoryThatTheServerLacks) {
  Begin({}, {"echo $((6*7))"},
        R"(,"additionalDirectories":["/nonexistent/library"])");
  EXPECT_THAT(ReadUntil("do not see the additional directory"),
              AllOf(HasSubstr("/nonexistent/library"), HasSubstr("--map")));
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("\"output\":\"42\\n\""));
  ExpectEnd();
}

TEST_F(AcpSandboxTest, SharesTheSessionsSandboxWithCorralMcp) {
  Begin({"--mcp"}, {"echo 4''2 > /tmp/made; pwd",
                    "MCPpwd; cat /tmp/made; touch /tmp/back", "ls /tmp/back"});
  EXPECT_THAT(ReadUntil("_got"), HasSubstr(Path("project")));
  EXPECT_THAT(ReadUntil("_got"),
              AllOf(HasSubstr(absl::StrCat(Path("project"), "\\n42")),
                    HasSubstr("\"exitCode\":0")));
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("\"output\":\"/tmp/back\\n\""));
  ReadUntil("end_turn");
  EXPECT_EQ(client_->GetInfo().sandboxes(), 1);
  ExpectEnd();
}

TEST_F(AcpSandboxTest, HoldsTheRulesAgainstCorralMcpToo) {
  const std::string gate = Path("gate");
  const std::string audit = Path("audit");
  WriteFile(gate,
            "rule { decision: DENY command_line: \"*secret*\" reason: "
            "\"no secrets\" }\n");
  Begin({"--mcp", "--gate", gate, "--audit", audit},
        {"cat secret", "MCPcat secret; echo ran", "MCPecho allowed"});
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("no secrets"));
  EXPECT_THAT(ReadUntil("_got"),
              AllOf(HasSubstr("no secrets"), Not(HasSubstr("ran\\n"))));
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("allowed"));
  ReadUntil("end_turn");
  ExpectEnd();
  const std::string lines = ReadFile(audit);
  EXPECT_THAT(lines, AllOf(HasSubstr("echo allowed"), HasSubstr("DENY")));
}

TEST_F(AcpSandboxTest, GivesACommandOfARuleTheRulesLimitsAndNoOther) {
  const std::string gate = Path("gate");
  const std::string use = "x=$(head -c 64M /dev/zero | tr '\\\\0' x)";
  WriteFile(gate,
            "rule { decision: ALLOW command_line: \"*echo small*\" "
            "memory: \"32M\" pids: 20 }\n");
  Begin({"--gate", gate},
        {absl::StrCat("echo large; ", use, "; echo done"),
         absl::StrCat("echo small; ", use, "; echo done"),
         "echo small; ulimit -u; cat /proc/self/cgroup; exit 3"});
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("large\\ndone\\n"));
  EXPECT_THAT(ReadUntil("_got"),
              AllOf(HasSubstr("corral: "), HasSubstr("memory"),
                    HasSubstr("OUT_OF_MEMORY")));
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("\"exitCode\":3"));
  ReadUntil("end_turn");
  EXPECT_EQ(client_->GetInfo().sandboxes(), 2);
  ExpectEnd();
}

TEST_F(AcpSandboxTest, LetsAProfileRefuseSystemCalls) {
  Begin({"--profile", "strict"},
        {"python3 -c 'import socket; socket.socket()' 2>&1 | tail -n 1"});
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("Error"));
  ReadUntil("end_turn");
  ExpectEnd();
}

TEST_F(AcpSandboxTest, RecordsTheEndOfACommandThatStillRanAtTheExit) {
  const std::string audit = Path("audit");
  Begin({"--audit", audit}, {"sleep 1000"});
  ReadUntil("_created");
  ExpectEnd();
  EXPECT_THAT(
      ReadFile(audit),
      AllOf(HasSubstr("\"event\":\"decision\""), HasSubstr("\"event\":\"end\""),
            HasSubstr("\"signal\":9,\"cause\":\"SANDBOX_DELETED\"")));
}

}  // namespace
}  // namespace tests

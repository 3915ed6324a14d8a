// Tests of an ACP agent that runs in a sandbox itself, with the real server:
// the test is the editor.

#include <signal.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/integration/integration_test.h"
#include "tests/network/loopback.h"
#include "tests/process.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AcpInsideTest : public IntegrationTest {
 protected:
  AcpInsideTest() {
    for (const char* name : {"/project", "/other", "/home"}) {
      std::filesystem::create_directories(server_.workspace() + name);
    }
  }

  std::string Path(const std::string& name) {
    return server_.workspace() + "/" + name;
  }

  // Starts the agent in a sandbox whose workspace is `project`.
  void Begin(const std::vector<std::string>& agent,
             std::vector<std::string> options = {},
             const std::vector<std::string>& environment = {}) {
    options.insert(options.begin(),
                   {"./corral-acp", "--server", server_.address(),
                    "--agent-in-sandbox", "--workspace", Path("project")});
    options.emplace_back("--");
    options.insert(options.end(), agent.begin(), agent.end());
    editor_ = std::make_unique<Process>(options, environment);
  }

  // A program outside of /usr, with a link to it and a file that it reads.
  std::string MakeProgram(const std::string& script) {
    std::filesystem::create_directories(Path("tool/bin"));
    std::filesystem::create_directories(Path("tool/lib"));
    WriteFile(Path("tool/lib/agent"), "#!/bin/sh\n" + script);
    ::chmod(Path("tool/lib/agent").c_str(), 0755);
    std::filesystem::create_symlink("../lib/agent", Path("tool/bin/agent"));
    return Path("tool/bin/agent");
  }

  void ExpectEnd(int status) {
    EXPECT_EQ(editor_->Wait(), status) << editor_->ReadError();
    EXPECT_EQ(client_->GetInfo().sandboxes(), 0);
  }

  std::unique_ptr<Process> editor_;
};

std::string Line(const std::string& params) {
  return absl::StrCat(R"({"jsonrpc":"2.0","method":"_x","params":)", params,
                      "}\n");
}

TEST_F(AcpInsideTest, SeesTheWorkspaceAndNothingElseOfTheHost) {
  WriteFile(Path("project/file"), "text");
  WriteFile(Path("other/secret"), "secret");
  Begin({"sh", "-c",
         absl::StrCat("echo \"$(id -un) $(pwd) $(cat file)\"; ls ",
                      server_.workspace(), "; set -- /proc/[0-9]*; echo $#; ",
                      "cat ", Path("other/secret"), " /etc/shadow")});
  EXPECT_EQ(editor_->ReadOutput(),
            absl::StrCat("corral ", Path("project"), " text\nproject\n1\n"));
  EXPECT_THAT(editor_->ReadError(), AllOf(HasSubstr("other/secret: No such"),
                                          Not(HasSubstr("secret\n"))));
  ExpectEnd(1);
}

TEST_F(AcpInsideTest, GetsAndSendsEveryByteAlsoOfTheLargestMessages) {
  Begin({"cat"});
  std::string odd = Line("\"\\u0000 \xc3\xa9 \\\\ \r \"");
  const std::string large =
      Line(absl::StrCat("\"", std::string(31 << 20, 'x'), "\""));
  for (const std::string& line : {odd, large, odd, large, odd}) {
    editor_->Write(line);
    EXPECT_TRUE(editor_->ReadLine() == line) << line.substr(0, 100);
  }
  editor_->CloseInput();
  EXPECT_EQ(editor_->ReadOutput(), "");
  ExpectEnd(0);
}

TEST_F(AcpInsideTest, DoesNotNoticeThatTheServerIsKilled) {
  Begin({"cat"});
  for (int i = 0; i < 3; ++i) {
    const std::string line = Line(absl::StrCat(i));
    editor_->Write(line);
    EXPECT_EQ(editor_->ReadLine(), line);
    server_.Kill();
    editor_->Write(line);
    server_.Start();
    EXPECT_EQ(editor_->ReadLine(), line);
  }
  editor_->CloseInput();
  ExpectEnd(0);
}

TEST_F(AcpInsideTest, PublishesAServerThatItRuns) {
  Begin({"python3", "-c", R"(
import socket
server = socket.create_server(("127.0.0.1", 8080))
print("ready", flush=True)
server.accept()[0].sendall(b"welcome")
input()
)"},
        {"--publish", "8080:0"});
  EXPECT_EQ(editor_->ReadLine(), "ready\n");
  const std::string before = "port 8080 of the sandbox is at 127.0.0.1:";
  std::string said;
  while (!absl::StrContains(said, before) || said.back() != '\n') {
    said = editor_->ReadError();
    std::this_thread::yield();
  }
  uint32_t port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(said.substr(
                                   said.find(before) + before.size())),
                               &port));
  const sandbox::UniqueFd socket =
      ConnectToLoopback(static_cast<uint16_t>(port));
  EXPECT_EQ(Receive(socket.get(), 7), "welcome");
  editor_->Write("\n");
  ExpectEnd(0);
  EXPECT_FALSE(ConnectToLoopback(static_cast<uint16_t>(port)).valid());
}

TEST_F(AcpInsideTest, PassesOnErrorsAndTheExitCode) {
  Begin({"sh", "-c", "echo oops >&2; exit 7"});
  EXPECT_EQ(editor_->ReadOutput(), "");
  ExpectEnd(7);
  EXPECT_EQ(editor_->ReadError(), "oops\n");
}

TEST_F(AcpInsideTest, PassesOnTheSignalThatEndedIt) {
  Begin({"sh", "-c", "kill -KILL $$"});
  ExpectEnd(128 + SIGKILL);
}

// corral-acp closes its input first, and sends a signal 2 s later.
TEST_F(AcpInsideTest, MayEndItselfWhenTheEditorHasGone) {
  Begin({"sh", "-c",
         "trap 'sleep 1; echo ended; exit 3' TERM; echo ready; cat; "
         "while :; do sleep 0.1; done"});
  EXPECT_EQ(editor_->ReadLine(), "ready\n");
  editor_->CloseInput();
  EXPECT_EQ(editor_->ReadOutput(), "ended\n");
  ExpectEnd(3);
}

TEST_F(AcpInsideTest, IsKilledWhenItDoesNotEnd) {
  Begin({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"});
  EXPECT_EQ(editor_->ReadLine(), "ready\n");
  editor_->Signal(SIGTERM);
  ExpectEnd(128 + SIGKILL);
}

TEST_F(AcpInsideTest, HasItsProgramAHomeThatLastsAndVariablesByName) {
  const std::string program = MakeProgram(
      "echo line >> ~/log; echo \"$HOME $(grep -c . ~/log) "
      "$GIVEN $KEPT\"; agent_dir=$(dirname \"$(readlink -f \"$0\")\"); "
      "ls \"$agent_dir\"; touch \"$agent_dir/new\" 2> /dev/null || echo kept; "
      "command -v agent; cat\n");
  for (const char* lines : {"1", "2"}) {
    Begin({program}, {"--home", Path("home"), "--env", "GIVEN", "-eABSENT"},
          {"GIVEN=given value", "KEPT=kept value"});
    editor_->CloseInput();
    EXPECT_EQ(editor_->ReadOutput(),
              absl::StrCat("/home/corral ", lines,
                           " given value \nagent\nkept\n", program, "\n"));
    ExpectEnd(0);
  }
}

TEST_F(AcpInsideTest, SeesAMountOnlyAsTheOptionSays) {
  WriteFile(Path("other/there"), "there\n");
  Begin({"sh", "-c",
         "cat /data/there; echo x > /data/new || echo kept; echo y > /rw/new"},
        {"--mount", Path("other") + ":/data", "--mount",
         Path("home") + ":/rw:rw"});
  EXPECT_EQ(editor_->ReadOutput(), "there\nkept\n");
  ExpectEnd(0);
  EXPECT_EQ(ReadFile(Path("home/new")), "y\n");
}

TEST_F(AcpInsideTest, SaysWhyItCannotRun) {
  const struct {
    std::vector<std::string> agent;
    std::vector<std::string> options;
    int status;
    const char* error;
  } cases[] = {
      {{"nosuch-agent"}, {}, 127, "nosuch-agent is not in PATH"},
      {{"cat"},
       {"--mount", server_.state_directory() + ":/x"},
       125,
       "the agent's sandbox: sandbox.mounts[0].source"},
      {{"cat"}, {"--mcp"}, 2, "--mcp does not go with --agent-in-sandbox"},
      {{"cat"}, {"--map", "/a=/b"}, 2, "--map does not go with"},
      {{"cat"}, {"--env", "A=b"}, 2, "allowed is the name of a variable"},
  };
  for (const auto& each : cases) {
    Begin(each.agent, each.options);
    ExpectEnd(each.status);
    EXPECT_THAT(editor_->ReadError(), HasSubstr(each.error));
  }
}

TEST_F(AcpInsideTest, IsTriedWithItsMountsByTheDoctor) {
  const std::string program = MakeProgram("exit 0\n");
  const auto examine = [&](const std::string& home) {
    Process doctor({"./corral-acp", "doctor", "--server", server_.address(),
                    "--agent-in-sandbox", "--workspace", Path("project"),
                    "--home", home, "--", program});
    const std::string report = doctor.ReadOutput();
    return absl::StrCat(doctor.Wait(), "\n", report);
  };
  EXPECT_THAT(
      examine(Path("home")),
      AllOf(HasSubstr("0\n"),
            HasSubstr(absl::StrCat("program needs ", Path("tool"), ", which")),
            HasSubstr("note  no profile"), HasSubstr("ok    command: "),
            HasSubstr("ok    mount: /home/corral, writable"),
            HasSubstr("ok    agent inside: runs")));
  EXPECT_THAT(examine(server_.state_directory()),
              AllOf(HasSubstr("1\n"),
                    HasSubstr("FAIL  sandbox: sandbox.mounts[0].source")));
}

// Answers the editor, runs a command in a terminal and prints what it got.
constexpr char kAgent[] = R"sh(
echo from-agent > /tmp/mark
hear() { read -r answer; }
say() { printf '%s\n' "$1"; }
ask() {
  say "{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"method\":\"terminal/$1\",\"params\":{\"sessionId\":\"s\",$2}}"
  hear
}
hear; say '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
hear; say '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
hear
ask create '"command":"pwd; cat /tmp/mark; echo x > made","args":null'
id=${answer#*terminalId\":\"}
id="\"terminalId\":\"${id%%\"*}\""
ask wait_for_exit "$id"
ask output "$id"
say "{\"jsonrpc\":\"2.0\",\"method\":\"_got\",\"params\":$answer}"
hear || exit 0
)sh";

class AcpInsideSessionTest : public AcpInsideTest {
 protected:
  void OpenSession(const std::string& cwd) {
    Begin({"sh", "-c", kAgent});
    editor_->Write(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":)"
                   R"({"protocolVersion":1,"clientCapabilities":{}}})"
                   "\n");
    editor_->ReadLine();
    editor_->Write(absl::StrCat(
        R"({"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":")",
        cwd, R"(","mcpServers":[],"additionalDirectories":[")", Path("other"),
        R"("]}})", "\n"));
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
};

TEST_F(AcpInsideSessionTest, SharesItsSandboxWithItsTerminals) {
  std::filesystem::create_directory(Path("project/sub"));
  OpenSession(Path("project/sub"));
  EXPECT_THAT(ReadUntil("additional directory"),
              HasSubstr(absl::StrCat(Path("other"), ", which is outside of ",
                                     Path("project"))));
  editor_->Write(R"({"jsonrpc":"2.0","id":2,"method":"session/prompt",)"
                 R"("params":{"sessionId":"s","prompt":[]}})"
                 "\n");
  EXPECT_THAT(ReadUntil("_got"),
              HasSubstr(absl::StrCat(Path("project/sub"), "\\nfrom-agent\\n")));
  EXPECT_EQ(client_->GetInfo().sandboxes(), 1);
  editor_->CloseInput();
  ExpectEnd(0);
  EXPECT_EQ(ReadFile(Path("project/sub/made")), "x\n");
}

TEST_F(AcpInsideSessionTest, SaysThatASessionIsOutsideOfItsWorkspace) {
  OpenSession(Path("other"));
  EXPECT_THAT(ReadUntil("no command can run"),
              HasSubstr(absl::StrCat("its directory ", Path("other"),
                                     " is outside of ", Path("project"))));
}

}  // namespace
}  // namespace tests

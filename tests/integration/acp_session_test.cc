// Tests what corral-acp shows and asks in an editor, with the real server: the
// test is the editor, a shell script the agent.

#include <signal.h>
#include <sys/stat.h>

#include <memory>
#include <regex>
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

// Runs the shell line $0 in a terminal that it embeds in a tool call.
constexpr char kAgent[] = R"(
hear() { read -r answer; }
say() { printf '%s\n' "$1"; }
ask() {
  say "{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"method\":\"terminal/$1\",\"params\":{\"sessionId\":\"s\",$2}}"
  hear
}
update() {
  say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"$1\",\"toolCallId\":\"c\",$2}}}"
}
hear; say '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
hear; say '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
hear
update tool_call '"title":"run","kind":"execute","status":"in_progress"'
ask create "\"command\":\"$0\",\"args\":null"
id=${answer#*terminalId\":\"}
id="\"terminalId\":\"${id%%\"*}\""
update tool_call_update "\"content\":[{\"type\":\"terminal\",$id}]"
ask wait_for_exit "$id"; wait=$answer
ask output "$id"; output=$answer
ask release "$id"
update tool_call_update '"status":"completed"'
say "{\"jsonrpc\":\"2.0\",\"method\":\"_got\",\"params\":[$wait,$output]}"
say '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
read -r rest || exit 0
)";

class AcpSessionTest : public IntegrationTest {
 protected:
  // Starts a session of a client with these capabilities and prompts the agent.
  void Begin(const std::string& capabilities, const std::string& line,
             std::vector<std::string> options = {}) {
    std::vector<std::string> words = {"./corral-acp", "--server",
                                      server_.address()};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", kAgent, line});
    editor_ = std::make_unique<Process>(words);
    editor_->Write(absl::StrCat(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":)"
        R"({"protocolVersion":1,"clientCapabilities":)",
        capabilities, "}}\n"));
    editor_->ReadLine();
    editor_->Write(absl::StrCat(
        R"({"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":")",
        server_.workspace(), R"(","mcpServers":[]}})", "\n"));
    editor_->ReadLine();
    editor_->Write(R"({"jsonrpc":"2.0","id":2,"method":"session/prompt",)"
                   R"("params":{"sessionId":"s","prompt":[]}})"
                   "\n");
  }

  // Reads lines until one contains the text, and returns it; all lines are
  // kept.
  std::string ReadUntil(const std::string& text) {
    for (;;) {
      const std::string line = editor_->ReadLine();
      transcript_ += line;
      if (line.empty() || absl::StrContains(line, text)) {
        EXPECT_THAT(line, HasSubstr(text)) << transcript_;
        return line;
      }
    }
  }

  void Respond(const std::string& request, const std::string& result) {
    std::smatch id;
    ASSERT_TRUE(std::regex_search(request, id,
                                  std::regex("\"id\":(\"corral-[^\"]*\")")));
    editor_->Write(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id[1].str(),
                                R"(,"result":)", result, "}\n"));
  }

  void ExpectEnd() {
    editor_->CloseInput();
    EXPECT_EQ(editor_->Wait(), 0) << editor_->ReadError();
    EXPECT_EQ(client_->GetInfo().sandboxes(), 0);
  }

  std::unique_ptr<Process> editor_;
  std::string transcript_;
};

TEST_F(AcpSessionTest, FillsATerminalThatTheEditorDraws) {
  ASSERT_EQ(::mkfifo((server_.workspace() + "/go").c_str(), 0666), 0);
  Begin(R"({"_meta":{"terminal_output":true}})",
        "echo $((6*7)); read x < go; exit 3");
  EXPECT_THAT(ReadUntil("terminal_info"),
              AllOf(HasSubstr("\"sessionUpdate\":\"tool_call\""),
                    HasSubstr("\"title\":\"run\"")));
  // While the command still runs.
  EXPECT_THAT(ReadUntil("\"terminal_output\""),
              HasSubstr("\"data\":\"42\\n\""));
  WriteFile(server_.workspace() + "/go", "\n");
  EXPECT_THAT(ReadUntil("terminal_exit"), HasSubstr("\"exit_code\":3"));
  ReadUntil("end_turn");
  ExpectEnd();
}

TEST_F(AcpSessionTest, ShowsTextInAnEditorThatKnowsNoTerminals) {
  Begin("{}", "echo $((6*7)); exit 3");
  EXPECT_THAT(ReadUntil("42"), HasSubstr("```console\\n42\\n```"));
  ReadUntil("end_turn");
  EXPECT_THAT(transcript_, Not(HasSubstr("\"type\":\"terminal\"")));
  ExpectEnd();
}

TEST_F(AcpSessionTest, RunsAMirrorInTheEditorsTerminal) {
  Begin(R"({"terminal":true})", "echo $((6*7)); exit 3");
  const std::string creation = ReadUntil("terminal/create");
  std::smatch words;
  ASSERT_TRUE(std::regex_search(
      creation, words,
      std::regex(R"re("args":\["--server","([^"]*)","attach","([^"]*)"\])re")))
      << creation;
  Process mirror({"./corral", "--server", words[1], "attach", words[2]});
  Respond(creation, R"({"terminalId":"M"})");
  const std::string wait = ReadUntil("terminal/wait_for_exit");
  ReadUntil(R"({"type":"terminal","terminalId":"M"})");
  EXPECT_EQ(mirror.ReadOutput(), "42\n");
  EXPECT_EQ(mirror.Wait(), 3);
  Respond(wait, R"({"exitCode":3})");
  ReadUntil("terminal/release");
  ExpectEnd();
}

TEST_F(AcpSessionTest, EndsTheCommandWhoseMirrorIsKilled) {
  Begin(R"({"terminal":true})", "sleep 1000");
  Respond(ReadUntil("terminal/create"), R"({"terminalId":"M"})");
  Respond(ReadUntil("terminal/wait_for_exit"),
          R"({"exitCode":null,"signal":"SIGKILL"})");
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("\"signal\":\"SIGTERM\""));
  ReadUntil("end_turn");
  ExpectEnd();
}

TEST_F(AcpSessionTest, AsksBeforeACommandAndWritesDownWhatHappened) {
  const std::string gate = server_.workspace() + "/gate";
  const std::string audit = server_.workspace() + "/audit";
  WriteFile(gate,
            "rule { decision: DENY program: \"rm\" reason: \"no deletions\" }\n"
            "otherwise: ASK\n");
  const std::vector<std::string> options = {"--gate", gate, "--audit", audit};
  Begin("{}", "echo ran; exit 3", options);
  const std::string question = ReadUntil("session/request_permission");
  EXPECT_THAT(question, HasSubstr("\"title\":\"echo ran; exit 3\""));
  Respond(question,
          R"({"outcome":{"outcome":"selected","optionId":"allow_once"}})");
  EXPECT_THAT(ReadUntil("_got"), AllOf(HasSubstr("\"exitCode\":3"),
                                       HasSubstr("\"output\":\"ran\\n\"")));
  ExpectEnd();
  Begin("{}", "true; rm -rf .", options);
  EXPECT_THAT(ReadUntil("_got"),
              AllOf(HasSubstr("\"exitCode\":126"),
                    HasSubstr("corral: not run: no deletions\\n")));
  ExpectEnd();
  EXPECT_THAT(ReadFile(audit),
              AllOf(HasSubstr("\"decision\":\"ASK\",\"allowed\":true"),
                    HasSubstr("\"exit\":{\"code\":3,\"cause\":\"NORMAL\"}"),
                    HasSubstr("\"user_seconds\":"),
                    HasSubstr("\"decision\":\"DENY\",\"allowed\":false")));
}

TEST_F(AcpSessionTest, SaysThatALimitEndedACommand) {
  Begin("{}", "echo begun; sleep 1000", {"--timeout", "300ms"});
  EXPECT_THAT(
      ReadUntil("_got"),
      AllOf(HasSubstr("begun\\ncorral: ended by its timeout of 300ms\\n"),
            HasSubstr("\"cause\":\"WALL_TIMEOUT\"")));
  ExpectEnd();
}

TEST_F(AcpSessionTest, FindsTheFilesOfAnEditorElsewhere) {
  WriteFile(server_.workspace() + "/file", "content");
  const std::string workspace = server_.workspace();
  editor_ = nullptr;
  // The editor's path of the workspace does not exist on the server.
  Begin("{}", "cat /editor/file",
        {"--map", "/editor=" + workspace, "--workspace", workspace});
  EXPECT_THAT(ReadUntil("_got"), HasSubstr("\"output\":\"content\""));
  ExpectEnd();
}

TEST_F(AcpSessionTest, ReportsAMissingDirectoryWhenTheSessionOpens) {
  Begin("{}", "true", {"--map", server_.workspace() + "=/nonexistent"});
  EXPECT_THAT(ReadUntil("no command can run in this session"),
              AllOf(HasSubstr("agent_message_chunk"), HasSubstr("/nonexistent"),
                    HasSubstr("--map")));
}

TEST_F(AcpSessionTest, EndsWhileTheServerHangs) {
  Begin("{}", "echo up; sleep 1000");
  ReadUntil("up");
  server_.Signal(SIGSTOP);
  Process patience({"sleep", "13"});
  editor_->CloseInput();
  editor_->Wait();
  EXPECT_TRUE(patience.IsRunning());
  server_.Signal(SIGCONT);
}

TEST_F(AcpSessionTest, ExaminesAWorkingSetUp) {
  Process doctor({"./corral-acp", "doctor", "--server", server_.address(),
                  "--workspace", server_.workspace(), "--", "sh"});
  const std::string report = doctor.ReadOutput();
  EXPECT_EQ(doctor.Wait(), 0) << report;
  EXPECT_THAT(report, HasSubstr("ok    command: runs, and has access to "));
  EXPECT_EQ(client_->GetInfo().sandboxes(), 0);
}

}  // namespace
}  // namespace tests

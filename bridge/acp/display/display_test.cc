#include "bridge/acp/display/display.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/jsonrpc/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kZed[] =
    R"({"clientCapabilities":{"_meta":{"terminal_output":true}}})";
constexpr char kTerminals[] = R"({"clientCapabilities":{"terminal":true}})";
constexpr char kEmbed[] = R"("content":[{"type":"terminal","terminalId":"T"}])";

class DisplayTest : public ::testing::Test {
 protected:
  // Passes an update of the agent on as the bridge does. `members` begins with
  // a comma.
  void Update(const std::string& kind, const std::string& members,
              const std::string& call = "c") {
    const std::string line = absl::StrCat(
        R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":)",
        R"("s","x":1e400,"update":{"sessionUpdate":")", kind,
        R"(","toolCallId":")", call, "\"", members, "}}}\n");
    const std::string copy = line;
    if (!display_.OnUpdate(copy, Message::Classify(copy).params())) {
      sent_.push_back(line);
    }
  }

  void Open(const std::string& id = "T") {
    display_.OnOpened(
        {id, "s", "tenants/t/sandboxes/x/executions/" + id, "/w"});
  }

  // The next message to the client, of which `update` is returned.
  Json NextUpdate() {
    EXPECT_FALSE(sent_.empty());
    if (sent_.empty()) {
      return nullptr;
    }
    std::string line = sent_.front();
    sent_.pop_front();
    const size_t odd = line.find(R"("x":1e400,)");
    if (odd != line.npos) {  // which no parser takes
      line.erase(odd, 10);
    }
    const Json message = ParseJson(line).value_or(nullptr);
    return message["params"]["update"];
  }

  Json NextRequest() {
    EXPECT_FALSE(sent_.empty());
    if (sent_.empty()) {
      return nullptr;
    }
    const Json message = ParseJson(sent_.front()).value_or(nullptr);
    sent_.pop_front();
    return message;
  }

  void Answer(const Json& request, const Json& result) {
    const std::string line =
        Serialize(Json{{"id", request["id"]}, {"result", result}});
    EXPECT_TRUE(requests_.OnResponse(Message::Classify(line)));
  }

  void RunUntil(const std::function<bool()>& condition) {
    std::vector<pollfd> none;
    while (!condition()) {
      loop_.RunOnce(none);
    }
  }

  PollLoop loop_;
  std::deque<std::string> sent_;
  std::vector<std::string> stopped_;
  bool has_room_ = true;
  OwnRequests requests_{[this](std::string line) { sent_.push_back(line); }};
  Display display_{&loop_,
                   &requests_,
                   {DisplayChoice::kAuto, {"/bin/corral", "attach"}},
                   [this](std::string line) { sent_.push_back(line); },
                   [this] { return has_room_; },
                   [this](const std::string& id) { stopped_.push_back(id); }};
};

const Json kTerminal = {{"type", "terminal"}, {"terminalId", "T"}};

TEST_F(DisplayTest, AnnouncesATerminalToAClientThatFillsTerminals) {
  display_.OnInitialize(kZed);
  Update("tool_call", R"(,"title":"t","kind":"execute","status":"pending")");
  NextUpdate();
  Open();
  Update("tool_call_update",
         absl::StrCat(R"(,"status":"in_progress",)", kEmbed));
  Json update = NextUpdate();
  // A client creates terminals with this kind of message only, and takes what
  // is missing in it for empty.
  EXPECT_EQ(update["sessionUpdate"], "tool_call");
  EXPECT_EQ(update["toolCallId"], "c");
  EXPECT_EQ(update["title"], "t");
  EXPECT_EQ(update["kind"], "execute");
  EXPECT_EQ(update["status"], "in_progress");
  EXPECT_THAT(update["content"], ElementsAre(kTerminal));
  EXPECT_EQ(update["_meta"],
            (Json{{"terminal_info", {{"terminal_id", "T"}, {"cwd", "/w"}}}}));
  display_.OnOutput("T", "out\n");
  update = NextUpdate();
  EXPECT_EQ(update["sessionUpdate"], "tool_call_update");
  EXPECT_EQ(
      update["_meta"],
      (Json{{"terminal_output", {{"terminal_id", "T"}, {"data", "out\n"}}}}));
  display_.OnEnded("T", {7, std::nullopt});
  update = NextUpdate();
  EXPECT_EQ(
      update["_meta"],
      (Json{{"terminal_exit",
             {{"terminal_id", "T"}, {"exit_code", 7}, {"signal", nullptr}}}}));
  EXPECT_EQ(update["rawOutput"],
            (Json{{"output", "out\n"}, {"exitCode", 7}, {"signal", nullptr}}));
  display_.OnReleased("T");
  Update("tool_call_update", absl::StrCat(R"(,"status":"completed",)", kEmbed));
  update = NextUpdate();
  EXPECT_EQ(update["sessionUpdate"], "tool_call_update");
  EXPECT_THAT(update["content"], ElementsAre(kTerminal));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, SendsWhatCameBeforeTheTerminalWasEmbedded) {
  display_.OnInitialize(kZed);
  Open();
  display_.OnOutput("T", "early");
  display_.OnEnded("T", {std::nullopt, "SIGKILL"});
  EXPECT_THAT(sent_, IsEmpty());
  Update("tool_call", absl::StrCat(",", kEmbed));
  EXPECT_TRUE(NextUpdate()["_meta"].contains("terminal_info"));
  EXPECT_EQ(NextUpdate()["_meta"]["terminal_output"]["data"], "early");
  EXPECT_EQ(NextUpdate()["_meta"]["terminal_exit"]["signal"], "SIGKILL");
}

TEST_F(DisplayTest, AnnouncesTwoTerminalsOneAfterTheOther) {
  display_.OnInitialize(kZed);
  Open();
  Open("U");
  Update("tool_call", R"(,"content":[{"type":"terminal","terminalId":"T"},)"
                      R"({"type":"terminal","terminalId":"U"}])");
  EXPECT_THAT(NextUpdate()["content"], ElementsAre(kTerminal));
  const Json second = NextUpdate();
  EXPECT_EQ(second["content"].size(), 2u);
  EXPECT_EQ(second["_meta"]["terminal_info"]["terminal_id"], "U");
}

TEST_F(DisplayTest, KeepsMostOutputBackFromAClientThatDoesNotRead) {
  display_.OnInitialize(kZed);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  has_room_ = false;
  display_.OnOutput("T", std::string(kPendingBytes, 'a'));
  display_.OnOutput("T", "last");
  EXPECT_THAT(sent_, IsEmpty());
  has_room_ = true;
  RunUntil([this] { return !sent_.empty(); });
  const std::string data = NextUpdate()["_meta"]["terminal_output"]["data"];
  EXPECT_THAT(data, ::testing::StartsWith("[earlier output is not shown]\na"));
  EXPECT_THAT(data, ::testing::EndsWith("alast"));
}

TEST_F(DisplayTest, ShowsTextInAnyClient) {
  display_.OnInitialize("{}");
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"], "```console\n```");
  display_.OnOutput("T", "one\n");
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\none\n```");
  // The next change is sent later, with what came until then.
  display_.OnOutput("T", "two\n");
  display_.OnOutput("T", "three\n");
  EXPECT_THAT(sent_, IsEmpty());
  RunUntil([this] { return !sent_.empty(); });
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\none\ntwo\nthree\n```");
  display_.OnOutput("T", "four\n");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\none\ntwo\nthree\nfour\n```");
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, StopsWhenTheAgentReplacesTheTerminal) {
  display_.OnInitialize("{}");
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  Update("tool_call_update", R"(,"content":[])");
  NextUpdate();
  display_.OnOutput("T", "more");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, RunsAMirrorInAClientWithTerminals) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  const Json creation = NextRequest();
  EXPECT_EQ(creation["method"], "terminal/create");
  EXPECT_EQ(creation["params"]["sessionId"], "s");
  EXPECT_EQ(creation["params"]["command"], "/bin/corral");
  EXPECT_EQ(creation["params"]["args"],
            (Json{"attach", "tenants/t/sandboxes/x/executions/T"}));
  Answer(creation, {{"terminalId", "M"}});
  const Json wait = NextRequest();
  EXPECT_EQ(wait["method"], "terminal/wait_for_exit");
  EXPECT_EQ(NextUpdate()["content"][0]["terminalId"], "M");
  // The mirror shows the output; only text for histories follows.
  display_.OnOutput("T", "out");
  EXPECT_THAT(sent_, IsEmpty());
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_EQ(NextUpdate()["rawOutput"]["output"], "out");
  // The execution stays until the mirror has shown everything.
  bool deleted = false;
  display_.OnReleased("T");
  display_.BeforeDeletion("T", [&deleted] { deleted = true; });
  EXPECT_FALSE(deleted);
  Answer(wait, {{"exitCode", 0}, {"signal", nullptr}});
  EXPECT_TRUE(deleted);
  Update("tool_call_update", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["content"][0]["terminalId"], "M");
  display_.OnTurnEnd("s");
  const Json release = NextRequest();
  EXPECT_EQ(release["method"], "terminal/release");
  EXPECT_EQ(release["params"]["terminalId"], "M");
  EXPECT_THAT(stopped_, IsEmpty());
}

TEST_F(DisplayTest, EndsTheCommandWhoseMirrorTheUserStops) {
  display_.OnInitialize(kTerminals);
  Open();
  Update("tool_call", absl::StrCat(",", kEmbed));
  NextUpdate();
  Answer(NextRequest(), {{"terminalId", "M"}});
  Answer(NextRequest(), {{"exitCode", 1}, {"signal", "Killed"}});
  EXPECT_THAT(stopped_, ElementsAre("T"));
}

TEST_F(DisplayTest, ShowsTextWhenAMirrorFails) {
  display_.OnInitialize(kTerminals);
  for (const std::string id : {"T", "U"}) {
    Open(id);
    Update("tool_call",
           absl::StrCat(R"(,"content":[{"type":"terminal","terminalId":")", id,
                        "\"}]"),
           id);
    NextUpdate();
    const Json creation = NextRequest();
    if (id == "T") {
      Answer(creation, nullptr);  // refused
    } else {
      Answer(creation, {{"terminalId", "M"}});
      const Json wait = NextRequest();
      NextUpdate();
      Answer(wait, {{"exitCode", 125}});
      EXPECT_EQ(NextRequest()["method"], "terminal/release");
    }
    EXPECT_EQ(NextUpdate()["content"][0]["type"], "content");
    display_.OnOutput(id, "out");
    EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
              "```console\nout\n```");
  }
  EXPECT_THAT(stopped_, IsEmpty());
}

TEST_F(DisplayTest, ReplacesATerminalOfAnEarlierRun) {
  for (const char* client : {kZed, kTerminals, "{}"}) {
    display_.OnInitialize(client);
    Update("tool_call", absl::StrCat(R"(,"status":"completed",)", kEmbed));
    const Json update = NextUpdate();
    EXPECT_EQ(update["status"], "completed");
    EXPECT_EQ(update["content"][0]["type"], "content");
  }
}

TEST_F(DisplayTest, AttachesATerminalThatTheAgentDoesNotEmbed) {
  display_.OnInitialize(kZed);
  Update("tool_call", R"(,"kind":"execute","status":"in_progress")");
  NextUpdate();
  Open();
  display_.OnOutput("T", "out");
  RunUntil([this] { return !sent_.empty(); });
  const Json update = NextUpdate();
  EXPECT_EQ(update["toolCallId"], "c");
  EXPECT_EQ(update["_meta"]["terminal_info"]["terminal_id"], "T");
  EXPECT_EQ(NextUpdate()["_meta"]["terminal_output"]["data"], "out");
}

TEST_F(DisplayTest, AttachesAShortCommandBeforeItsEndIsReported) {
  display_.OnInitialize("{}");
  Update("tool_call", R"(,"kind":"execute")");
  NextUpdate();
  Open();
  display_.OnOutput("T", "out");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_EQ(NextUpdate()["content"][0]["content"]["text"],
            "```console\nout\n```");
}

TEST_F(DisplayTest, AttachesNothingWhenTwoToolCallsRun) {
  display_.OnInitialize("{}");
  Update("tool_call", R"(,"kind":"execute")");
  Update("tool_call", R"(,"kind":"execute")", "d");
  sent_.clear();
  Open();
  display_.OnOutput("T", "out");
  display_.OnEnded("T", {0, std::nullopt});
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(DisplayTest, PassesOnWhatHasNoTerminals) {
  for (
      const char* params :
      {R"({"sessionId":"s","update":{"sessionUpdate":"plan"}})",
       R"({"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":)"
       R"("c","content":[{"type":"diff"}]}})",
       R"({"update":{"sessionUpdate":"tool_call"}})", "[]", ""}) {
    EXPECT_FALSE(display_.OnUpdate("", params)) << params;
  }
}

TEST_F(DisplayTest, LearnsAboutToolCallsFromPermissionRequests) {
  display_.OnInitialize(kZed);
  display_.OnPermissionRequest(
      R"({"sessionId":"s","toolCall":{"toolCallId":"c","title":"asked"}})");
  Open();
  Update("tool_call_update", absl::StrCat(",", kEmbed));
  EXPECT_EQ(NextUpdate()["title"], "asked");
}

}  // namespace
}  // namespace bridge

// The tools, with terminals of a fake server.

#ifndef BRIDGE_MCP_TOOLS_TOOLS_FIXTURE_H_
#define BRIDGE_MCP_TOOLS_TOOLS_FIXTURE_H_

#include <cstdint>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "bridge/jsonrpc/json.h"
#include "bridge/mcp/recording/recorder.h"
#include "bridge/mcp/terminal/terminals.h"
#include "bridge/mcp/tools/tools.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {

// Marks as bash writes them.
inline constexpr char kBegin[] = "\x1b]133;C\x07";
inline constexpr char kFailure[] = "\x1b]133;D;7\x07";

// A shell that runs each input as a line: "exit", "long", "marked", "unmarked"
// or something that it prints.
inline void Script(tests::FakeExecution& command) {
  for (std::string line; !(line = command.ReadInput(65536)).empty();) {
    if (line == "exit\r") {
      command.SetExit(5);
      return;
    }
    if (line == "marked\r") {
      command.Print(
          absl::StrCat("marked\r\n", kBegin, "out\r\n", kFailure, "$ "));
    } else if (line == "begun\r") {
      command.Print(absl::StrCat("begun\r\n", kBegin, "part"));
    } else {
      command.Print(line);
    }
  }
}

class ToolsTest : public ::testing::Test {
 protected:
  ToolsTest() {
    corral::v1::GetScreenResponse response;
    corral::v1::Screen& screen = *response.mutable_screen();
    screen.mutable_size()->set_columns(6);
    screen.mutable_size()->set_rows(2);
    screen.mutable_cursor()->set_column(4);
    screen.mutable_cursor()->set_row(1);
    screen.add_scrollback()->set_text("old");
    for (const char* text : {"$ ls", "a"}) {
      corral::v1::Line* const line = screen.add_lines();
      line->set_text(text);
      line->add_runs()->set_text(text);
    }
    screen_ = response;
    server_.SetScreen(screen_);
  }

  static TerminalsOptions Options(const std::string& server) {
    TerminalsOptions options;
    options.sandbox.server.server = server;
    options.shell.shell = "sh";
    return options;
  }

  // The result of a call that does not fail. `arguments` is JSON.
  OrderedJson Call(const std::string& tool, const std::string& arguments) {
    const ToolResult result = Result(tool, arguments);
    EXPECT_FALSE(result.is_error) << result.content;
    last_text_ = TextOf(result);
    return result.structured.value_or(OrderedJson());
  }

  std::string Failure(const std::string& tool, const std::string& arguments) {
    const ToolResult result = Result(tool, arguments);
    EXPECT_TRUE(result.is_error);
    return TextOf(result);
  }

  ToolResult Result(const std::string& tool, const std::string& arguments) {
    ToolOutcome outcome =
        tools_.Call(tool, ParseOrderedJson(arguments).value());
    return outcome.wait == nullptr
               ? outcome.result
               : outcome.wait([this] { return cancelled_; });
  }

  // The argument that names the recording that was started.
  static std::string Id(const OrderedJson& started) {
    return absl::StrCat(R"({"recordingId":)",
                        SerializeOrdered(started["recordingId"]), "}");
  }

  static std::string TextOf(const ToolResult& result) {
    return result.content[0].value("text", "");
  }

  std::string Shell() { return (*terminals_.Find(""))->execution(); }

  // Until the default terminal has so much output.
  void AwaitOutput(uint64_t end) {
    (*terminals_.Find(""))
        ->history()
        .Await(OutputHistory::TimePoint::max(),
               [end](const OutputHistory::State& state) {
                 return state.end >= end;
               });
  }

  std::string AwaitInput(size_t count) {
    while (server_.inputs().size() < count) {
      std::this_thread::yield();
    }
    return server_.inputs()[count - 1].data();
  }

  tests::FakeServer server_{Script};
  corral::v1::GetScreenResponse screen_;
  Recorder recorder_{80, 24};
  Terminals terminals_{Options(server_.address()), &recorder_};
  Tools tools_{&terminals_, &recorder_};
  bool cancelled_ = false;
  std::string last_text_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TOOLS_TOOLS_FIXTURE_H_

// corral screen and record, the program, against a fake server.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::FakeExecution;

// s1/e1 has a terminal of 30 x 100 in which it prints ten digits.
class ScreenTest : public ::testing::Test {
 protected:
  ScreenTest() {
    Output({"create", "--no-workspace"});
    CorralProcess exec(server_.address(), {"exec", "-d", "-t", "s1", "sh"},
                       CorralProcess::Io::kTerminal);
    EXPECT_EQ(exec.Wait(), 0);
    server_.FindExecution("tenants/default/sandboxes/s1/executions/e1")
        ->WaitForOutput(corral::v1::TERMINAL, 10);
  }

  std::string Output(const std::vector<std::string>& arguments,
                     int expected = 0) {
    CorralProcess corral(server_.address(), arguments);
    std::string output = corral.ReadOutput();
    error_ = corral.ReadError();
    EXPECT_EQ(corral.Wait(), expected) << error_;
    return output;
  }

  // A time for the output from `offset` on: `millis` ms after the start.
  static corral::v1::TerminalTime At(uint64_t offset, int millis) {
    corral::v1::TerminalTime time;
    time.set_offset(offset);
    time.mutable_elapsed()->set_nanos(millis * 1'000'000);
    return time;
  }

  tests::FakeServer server_{[](FakeExecution& command) {
    command.Print("0123456789");
    command.Hang();
  }};
  std::string error_;  // of the last Output()
};

TEST_F(ScreenTest, PrintsTheLinesThatTheTerminalShows) {
  corral::v1::GetScreenResponse response;
  response.mutable_screen()->add_scrollback()->set_text("old");
  for (const char* text : {"one", "", "two"}) {
    response.mutable_screen()->add_lines()->set_text(text);
  }
  server_.SetScreen(response);
  EXPECT_EQ(Output({"screen", "s1/e1"}), "old\none\n\ntwo\n");
  EXPECT_EQ(server_.screens().back().ShortDebugString(),
            "name: \"tenants/default/sandboxes/s1/executions/e1\"");
  Output({"screen", "--scrollback", "1000", "s1/e1"});
  EXPECT_EQ(server_.screens().back().scrollback_lines(), 1000);
  EXPECT_THAT(Output({"screen", "--json", "s1/e1"}),
              HasSubstr("\"lines\":[{\"text\":\"one\""));
  EXPECT_TRUE(server_.screens().back().styles());
  Output({"screen", "--scrollback", "1001", "s1/e1"}, 2);
  EXPECT_THAT(error_, HasSubstr("allowed is 0 to 1000"));
  EXPECT_THAT(Output({"screen", "--help"}), HasSubstr("Usage: corral screen"));
}

TEST_F(ScreenTest, RecordsOutputWithTimesAndSizes) {
  corral::v1::TerminalTime resized = At(7, 750);
  resized.mutable_size()->set_columns(60);
  resized.mutable_size()->set_rows(20);
  corral::v1::TerminalTime last = At(10, 900);
  last.mutable_size()->set_columns(61);
  last.mutable_size()->set_rows(21);
  server_.SetTimes({At(0, 0), At(3, 500), resized, last}, 3);
  const std::string recording = Output({"record", "s1/e1"});
  EXPECT_THAT(recording, HasSubstr("\"width\":100,\"height\":30"));
  EXPECT_EQ(recording.substr(recording.find('\n') + 1),
            "[0,\"o\",\"012\"]\n"
            "[0.5,\"o\",\"3456\"]\n"
            "[0.75,\"r\",\"60x20\"]\n"
            "[0.75,\"o\",\"789\"]\n"
            "[0.9,\"r\",\"61x21\"]\n");
  EXPECT_THAT(Output({"record", "--help"}), HasSubstr("Usage: corral record"));
}

TEST_F(ScreenTest, RecordsNothingWithoutTimes) {
  EXPECT_EQ(Output({"record", "s1/e1"}, 125), "");
  EXPECT_THAT(error_, HasSubstr("s1/e1 has written nothing, or its times"));
}

}  // namespace
}  // namespace bridge

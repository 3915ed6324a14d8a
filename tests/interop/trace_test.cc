// Replays conversations of third-party peers without the peers. A trace has one
// line for each message:
//
//   client> LINE   the client sent LINE
//   client< LINE   the client must receive LINE
//   agent> LINE    the agent sent LINE
//   agent< LINE    the agent must receive LINE
//
// Each side receives its lines in this order. Between the two sides, only a
// cause comes before its effects.

#include <deque>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "bridge/acp/bridge.h"
#include "bridge/acp/remote/poll_loop.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace tests {
namespace {

struct Outcome {
  std::string output;
  int code;
};

// Knows the commands of the traces. All others run until they are killed.
void Script(FakeExecution& command) {
  static const auto* const outcomes = new std::map<std::string, Outcome>{
      {"printf %s é", {"é", 0}},
      {"/bin/sh -c echo out; exit 3", {"out\n", 3}},
  };
  const auto outcome =
      outcomes->find(absl::StrJoin(command.command().argv(), " "));
  if (outcome == outcomes->end()) {
    command.Hang();
    return;
  }
  command.Print(outcome->second.output);
  command.SetExit(outcome->second.code);
}

class TraceTest : public ::testing::TestWithParam<const char*> {
 protected:
  ~TraceTest() override {
    bridge_.Close();
    while (!bridge_.idle()) {
      Round();
    }
  }

  void Round() {
    std::vector<pollfd> none;
    loop_.RunOnce(none);
  }

  // Waits for a line. Two answers may come in either order: the end of a
  // command is reported to its waiter before or after the kill is answered.
  std::string Next(std::deque<std::string>& received,
                   const std::string& expected) {
    Await(received, 1);
    if (IdOf(received.front()) != IdOf(expected)) {
      Await(received, 2);
      std::swap(received[0], received[1]);
    }
    std::string line = received.front();
    received.pop_front();
    return line;
  }

  void Await(const std::deque<std::string>& received, size_t size) {
    while (received.size() < size) {
      Round();
    }
  }

  // Empty: the line has none.
  static std::string IdOf(const std::string& line) {
    static const auto* const id = new std::regex(R"re("id":[^,}]*)re");
    std::smatch found;
    return std::regex_search(line, found, *id) ? found[0].str() : "";
  }

  // Remembers the id of a terminal that was just created.
  void Bind(const std::string& expected, const std::string& received) {
    static const auto* const created =
        new std::regex(R"re("result":\{"terminalId":"([^"]*)"\})re");
    std::smatch name;
    std::smatch id;
    if (std::regex_search(expected, name, *created) &&
        std::regex_search(received, id, *created)) {
      terminals_.emplace_back(name[1], id[1]);
    }
  }

  void Replay(const std::string& event, const std::string& line) {
    if (event == "client>") {
      bridge_.OnClientLine(absl::StrReplaceAll(line, terminals_));
    } else if (event == "agent>") {
      bridge_.OnAgentLine(absl::StrReplaceAll(line, terminals_));
    } else {
      const std::string received =
          Next(event == "client<" ? client_ : agent_, line);
      Bind(line, received);
      EXPECT_EQ(received, absl::StrReplaceAll(line, terminals_));
    }
  }

  FakeServer server_{Script};
  bridge::PollLoop loop_;
  // Names of terminals in the trace, and their ids.
  std::vector<std::pair<std::string, std::string>> terminals_;
  std::deque<std::string> client_;
  std::deque<std::string> agent_;
  bridge::Bridge bridge_{
      &loop_,
      {{server_.address()}},
      [this](std::string line) { client_.push_back(std::move(line)); },
      [this](std::string line) { agent_.push_back(std::move(line)); }};
};

TEST_P(TraceTest, Replays) {
  std::ifstream trace(GetParam());
  ASSERT_TRUE(trace.is_open()) << GetParam();
  for (std::string line; std::getline(trace, line);) {
    if (absl::StartsWith(line, "#")) {
      continue;
    }
    const size_t space = line.find(' ');
    Replay(line.substr(0, space), line.substr(space + 1) + "\n");
  }
  EXPECT_TRUE(client_.empty() && agent_.empty());
}

INSTANTIATE_TEST_SUITE_P(Peers, TraceTest,
                         ::testing::Values("tests/interop/traces/acpx.trace",
                                           "tests/interop/traces/agents.trace",
                                           "tests/interop/traces/sdk.trace"));

}  // namespace
}  // namespace tests

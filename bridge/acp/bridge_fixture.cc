#include "bridge/acp/bridge_fixture.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/fakes/fake_execution.h"

namespace bridge {
namespace {

void Script(tests::FakeExecution& command) {
  const std::string& program = command.command().argv(0);
  if (program == "hello") {
    command.Print("hello\n");
  } else if (program == "fail") {
    command.SetExit(3);
  } else if (program == "hang") {
    command.Print("started\n");
    command.Hang();
  } else if (program == "flood") {
    for (int i = 0; i < 1000; ++i) {
      command.Print(std::string(10'000, static_cast<char>('a' + i % 26)));
    }
  } else if (program == "exhaust") {
    command.Print("much");
    command.SetSignalled(9, corral::v1::ExitStatus::OUT_OF_MEMORY);
  } else if (program == "lost") {
    command.SetLost();
  }
}

}  // namespace

BridgeOptions WithRules(const std::string& rules) {
  BridgeOptions options;
  options.gate = *GateRules::Parse("rules", rules);
  return options;
}

BridgeTest::BridgeTest() : server_(Script) { Make({}); }

BridgeTest::~BridgeTest() { Finish(); }

void BridgeTest::Make(BridgeOptions options) {
  options.server.server = server_.address();
  bridge_ = std::make_unique<Bridge>(
      &loop_, std::move(options),
      [this](std::string line) { client_.push_back(std::move(line)); },
      [this](std::string line) { agent_.push_back(std::move(line)); });
  OpenSession("s", "/w");
}

void BridgeTest::MakeImpatient() {
  Finish();
  BridgeOptions options;
  options.server.timing.patience = absl::Seconds(2);
  Make(std::move(options));
}

void BridgeTest::OpenSession(const std::string& session,
                             const std::string& cwd) {
  bridge_->OnClientLine(
      absl::StrCat(R"({"id":"open","method":"session/new","params":{"cwd":")",
                   cwd, "\"}}\n"));
  bridge_->OnAgentLine(absl::StrCat(R"({"id":"open","result":{"sessionId":")",
                                    session, "\"}}\n"));
  agent_.pop_back();
  client_.pop_back();
}

void BridgeTest::CloseSession(const std::string& session) {
  bridge_->OnClientLine(absl::StrCat(
      R"({"id":"close","method":"session/close","params":{"sessionId":")",
      session, "\"}}\n"));
  agent_.pop_back();
  bridge_->OnAgentLine("{\"id\":\"close\",\"result\":{}}\n");
  client_.pop_back();
}

void BridgeTest::Cancel(const std::string& id) {
  bridge_->OnAgentLine(absl::StrCat(
      R"({"method":"$/cancel_request","params":{"requestId":)", id, "}}\n"));
}

void BridgeTest::Finish() {
  bridge_->Close();
  RunUntil([this] { return bridge_->idle(); });
  bridge_.reset();
}

void BridgeTest::RunUntil(const std::function<bool()>& condition) {
  std::vector<pollfd> none;
  while (!condition()) {
    loop_.RunOnce(none);
  }
}

void BridgeTest::Request(const std::string& id, const std::string& method,
                         const std::string& params) {
  bridge_->OnAgentLine(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id,
                                    R"(,"method":")", method, R"(","params":)",
                                    params, "}\n"));
}

Json BridgeTest::Answer() {
  RunUntil([this] { return !agent_.empty(); });
  const std::string line = agent_.front();
  agent_.pop_front();
  EXPECT_TRUE(absl::EndsWith(line, "\n"));
  return ParseJson(line).value_or(Json());
}

Json BridgeTest::Create(const std::string& command, const std::string& more) {
  Request("1", "terminal/create",
          absl::StrCat(R"({"sessionId":"s","command":")", command, "\"", more,
                       "}"));
  return Answer();
}

std::string BridgeTest::Terminal(const std::string& command,
                                 const std::string& more) {
  const Json answer = Create(command, more);
  return answer.contains("result") ? answer["result"]["terminalId"] : "";
}

std::string BridgeTest::Reference(const std::string& terminal,
                                  const std::string& session) {
  return absl::StrCat(R"({"sessionId":")", session, R"(","terminalId":")",
                      terminal, "\"}");
}

Json BridgeTest::Ask(const std::string& method, const std::string& terminal) {
  Request("2", "terminal/" + method, Reference(terminal));
  return Answer();
}

Json BridgeTest::AskUntil(const std::string& terminal,
                          const std::string& output) {
  Json answer;
  std::vector<pollfd> none;
  do {
    loop_.RunOnce(none);
    answer = Ask("output", terminal);
  } while (answer["result"]["output"] != output);
  return answer;
}

}  // namespace bridge

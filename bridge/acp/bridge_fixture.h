// A bridge for tests, with a fake server. Collects the lines that the bridge
// sends to the client and to the agent.

#ifndef BRIDGE_ACP_BRIDGE_FIXTURE_H_
#define BRIDGE_ACP_BRIDGE_FIXTURE_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "bridge/acp/bridge.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/jsonrpc/json.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_server.h"

namespace bridge {

// Options with these rules, in the text format of gate.proto.
BridgeOptions WithRules(const std::string& rules);

// argv[0] of a command decides what the command does: hello, fail, hang, flood,
// exhaust or lost; any other exits with 0.
class BridgeTest : public ::testing::Test {
 protected:
  BridgeTest();
  ~BridgeTest() override;

  // Makes a bridge with an open session "s" in /w. The constructor has made one
  // with default options: call Finish() first.
  void Make(BridgeOptions options);
  void Finish();
  // Replaces the bridge by one that gives the server up after 2 s.
  void MakeImpatient();

  // Opens a session as a client and an agent do.
  void OpenSession(const std::string& session, const std::string& cwd);
  void CloseSession(const std::string& session);

  void RunUntil(const std::function<bool()>& condition);

  // Sends a request of the agent; `id` and `params` are JSON.
  void Request(const std::string& id, const std::string& method,
               const std::string& params);
  void Cancel(const std::string& id);
  // Waits for the next answer to the agent.
  Json Answer();

  // Sends terminal/create for session "s"; `more` are members, after a comma.
  Json Create(const std::string& command, const std::string& more = "");
  // Returns the id of the terminal, empty if its creation failed.
  std::string Terminal(const std::string& command,
                       const std::string& more = "");
  static std::string Reference(const std::string& terminal,
                               const std::string& session = "s");
  Json Ask(const std::string& method, const std::string& terminal);
  // Asks for the output until it is `output`.
  Json AskUntil(const std::string& terminal, const std::string& output);

  tests::FakeServer server_;
  PollLoop loop_;
  std::deque<std::string> client_;
  std::deque<std::string> agent_;
  std::unique_ptr<Bridge> bridge_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_BRIDGE_FIXTURE_H_

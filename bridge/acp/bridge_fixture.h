// A bridge for tests: the lines that it sends to the client and to the agent,
// and a fake server.

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

// What a command does is the first word of its argv[0]: hello, fail, hang,
// flood or lost; any other exits with 0.
class BridgeTest : public ::testing::Test {
 protected:
  BridgeTest();
  ~BridgeTest() override;

  // In place of the bridge with default options, after Finish().
  void Make(BridgeOptions options);
  void Finish();

  void RunUntil(const std::function<bool()>& condition);

  // From the agent; `id` and `params` are JSON.
  void Request(const std::string& id, const std::string& method,
               const std::string& params);
  // The next answer to the agent.
  Json Answer();

  // terminal/create in session "s"; `more` are members, after a comma.
  Json Create(const std::string& command, const std::string& more = "");
  // The id of the terminal; empty: it failed.
  std::string Terminal(const std::string& command,
                       const std::string& more = "");
  static std::string Reference(const std::string& terminal,
                               const std::string& session = "s");
  Json Ask(const std::string& method, const std::string& terminal);
  // Until the output is there.
  Json AskUntil(const std::string& terminal, const std::string& output);

  tests::FakeServer server_;
  PollLoop loop_;
  std::deque<std::string> client_;
  std::deque<std::string> agent_;
  std::unique_ptr<Bridge> bridge_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_BRIDGE_FIXTURE_H_

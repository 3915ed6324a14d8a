// The terminals of one client, against a fake server.

#ifndef BRIDGE_MCP_TERMINAL_TERMINALS_FIXTURE_H_
#define BRIDGE_MCP_TERMINAL_TERMINALS_FIXTURE_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/mcp/terminal/output_observer.h"
#include "bridge/mcp/terminal/terminals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace bridge {

class NoObserver : public OutputObserver {
 public:
  void OnOutput(const std::string&, uint64_t, absl::string_view) override {}
  void OnResize(uint32_t, uint32_t) override {}
  void OnEnd(int) override {}
};

class TerminalsTest : public ::testing::Test {
 protected:
  TerminalsTest() {
    options_.sandbox.server.server = server_.address();
    options_.shell = {"sh", 100, 30};
    options_.directory = "/w";
    Make();
  }

  void Make() {
    terminals_.reset();
    terminals_ = std::make_unique<Terminals>(options_, &observer_);
  }

  // From now on, time passes only when a test says so.
  void StopTheClock() {
    now_ = absl::Now();
    options_.now = [this] { return now_; };
    Make();
  }

  // The name of the shell of a session.
  std::string ShellOf(const std::string& session) {
    const auto terminal = terminals_->Find(session);
    return terminal.ok() ? (*terminal)->execution()
                         : terminal.status().ToString();
  }

  // Ends the shell of a session, and waits until its terminal knows.
  void End(const std::string& session) {
    const auto terminal = terminals_->Find(session);
    ASSERT_THAT(terminal.status(), tests::IsOk());
    server_.FindExecution((*terminal)->execution())->Signal(9);
    while (!(*terminal)->exit_code().has_value()) {
      std::this_thread::yield();
    }
  }

  static std::string IdOf(const std::string& name) {
    return name.substr(name.rfind('/') + 1);
  }

  tests::FakeServer server_{
      [](tests::FakeExecution& command) { command.Hang(); }};
  NoObserver observer_;
  absl::Time now_;
  TerminalsOptions options_;
  std::unique_ptr<Terminals> terminals_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_TERMINALS_FIXTURE_H_

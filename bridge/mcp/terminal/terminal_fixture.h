// A terminal against a fake server.

#ifndef BRIDGE_MCP_TERMINAL_TERMINAL_FIXTURE_H_
#define BRIDGE_MCP_TERMINAL_TERMINAL_FIXTURE_H_

#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/client/connection.h"
#include "bridge/client/connection_fixture.h"
#include "bridge/mcp/terminal/output_history.h"
#include "bridge/mcp/terminal/output_observer.h"
#include "bridge/mcp/terminal/terminal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace bridge {

inline constexpr char kSandbox[] = "tenants/default/sandboxes/s1";
inline constexpr char kShell[] = "tenants/default/sandboxes/s1/executions/e1";

class Events : public OutputObserver {
 public:
  void OnOutput(const std::string& terminal, uint64_t offset,
                absl::string_view bytes) override {
    Add(absl::StrCat(terminal, " at ", offset, ": ", bytes));
  }
  void OnResize(uint32_t columns, uint32_t rows) override {
    Add(absl::StrCat(columns, "x", rows));
  }
  void OnEnd(int exit_code) override { Add(absl::StrCat("end ", exit_code)); }

  std::vector<std::string> Await(size_t count) {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return events_.size() >= count;
    });
    return events_;
  }
  std::vector<std::string> all() { return Await(0); }

 private:
  void Add(const std::string& event) {
    sandbox::MutexLock lock(&mutex_);
    events_.push_back(event);
    mutex_.Signal();
  }

  sandbox::Mutex mutex_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
};

// The shell's name says what it does; a plain one reads lines until its end.
inline void Script(tests::FakeExecution& command) {
  const std::string& shell = command.command().argv(0);
  if (shell == "fail") {
    command.SetExit(3);
  } else if (shell == "die") {
    command.SetSignalled(SIGKILL, corral::v1::ExitStatus::NORMAL);
  } else if (shell == "lost") {
    command.SetLost();
  } else if (shell == "deaf") {
    command.CloseInput();
    command.Hang();
  } else if (shell == "late") {  // reads what it got when a signal comes
    command.CatchSignals();
    command.WaitForSignal();
    for (std::string line; !(line = command.ReadInput(65536)).empty();) {
      command.Print(line);
    }
  } else {
    command.Print("$ ");
    for (std::string line; !(line = command.ReadInput(65536)).empty();) {
      command.Print(line);
    }
  }
}

class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() { client::MakeSandbox(*connection_); }

  std::unique_ptr<Terminal> Start(const std::string& shell = "sh",
                                  const std::string& id = "") {
    auto terminal = Terminal::Start(connection_.get(), kSandbox, id, "/w",
                                    {shell, 100, 30}, &events_);
    EXPECT_THAT(terminal.status(), tests::IsOk());
    return *std::move(terminal);
  }

  corral::v1::Execution Shell() {
    return server_.FindExecution(kShell)->Snapshot();
  }

  // Waits until the terminal knows the output before `end`.
  void AwaitOutput(Terminal& terminal, uint64_t end) {
    EXPECT_TRUE(terminal.history().Await(
        OutputHistory::TimePoint::max(),
        [end](const OutputHistory::State& state) { return state.end >= end; }));
  }

  // Waits until there were `count` inputs.
  std::vector<corral::v1::WriteInputRequest> AwaitInputs(size_t count) {
    while (server_.inputs().size() < count) {
      std::this_thread::yield();
    }
    return server_.inputs();
  }

  tests::FakeServer server_{Script};
  std::unique_ptr<client::Connection> connection_ = client::Connect(server_);
  Events events_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_TERMINAL_FIXTURE_H_

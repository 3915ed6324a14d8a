// A terminal against a fake server: what it sends, and what it makes known.

#include "bridge/mcp/terminal/terminal.h"

#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/mcp/terminal/shell_marks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::tests::FakeExecution;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr char kSandbox[] = "tenants/default/sandboxes/s1";
constexpr char kShell[] = "tenants/default/sandboxes/s1/executions/e1";

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
void Script(FakeExecution& command) {
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
  TerminalTest() {
    client::ConnectOptions options;
    options.server = server_.address();
    connection_ = *client::Connection::Open(options);
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    grpc::ClientContext context;
    corral::v1::Sandbox sandbox;
    EXPECT_TRUE(connection_->sandboxes()
                    .CreateSandbox(&context, request, &sandbox)
                    .ok());
  }

  std::unique_ptr<Terminal> Start(const std::string& shell = "sh",
                                  const std::string& id = "") {
    auto terminal = Terminal::Start(connection_.get(), kSandbox, id, "/w",
                                    {shell, 100, 30}, &events_);
    EXPECT_THAT(terminal.status(), IsOk());
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
  std::unique_ptr<client::Connection> connection_;
  Events events_;
};

TEST_F(TerminalTest, StartsAShellWithTheVariablesOfATerminal) {
  const auto terminal = Start("sh", "own-id");
  EXPECT_EQ(terminal->execution(),
            absl::StrCat(kSandbox, "/executions/own-id"));
  const auto start = server_.starts().front();
  EXPECT_EQ(start.parent(), kSandbox);
  EXPECT_NE(start.request_id(), "");
  EXPECT_THAT(start.command().argv(), ElementsAre("sh"));
  EXPECT_EQ(start.command().working_directory(), "/w");
  EXPECT_EQ(start.command().terminal().columns(), 100);
  EXPECT_EQ(start.command().terminal().rows(), 30);
  std::vector<std::string> variables;
  for (const auto& variable : start.command().environment()) {
    variables.push_back(absl::StrCat(variable.name(), "=", variable.value()));
  }
  EXPECT_THAT(variables,
              ElementsAre("TERM=xterm-256color", "TERMINAL_MCP=1",
                          absl::StrCat("PROMPT_COMMAND=", kPromptCommand),
                          absl::StrCat("PS0=", kBeforeCommand)));
  // Makes known that it answers questions, before there is any.
  ASSERT_THAT(server_.screens(), SizeIs(1));
  EXPECT_EQ(server_.screens()[0].answers_from(), UINT64_MAX);
}

TEST_F(TerminalTest, DeletesItsShellAtItsEndUnlessItLeavesIt) {
  Start().reset();
  EXPECT_THAT(server_.deletions(), ElementsAre(kShell));
  auto left = Start();
  left->Leave();
  left.reset();
  EXPECT_THAT(server_.deletions(), SizeIs(1));
}

TEST_F(TerminalTest, MakesOutputAndEndKnown) {
  const auto terminal = Start("sh");
  AwaitOutput(*terminal, 2);
  EXPECT_FALSE(terminal->exit_code().has_value());
  server_.FindExecution(kShell)->Signal(SIGTERM);
  EXPECT_THAT(events_.Await(2),
              ElementsAre(absl::StrCat(kShell, " at 0: $ "), "end 143"));
  EXPECT_EQ(terminal->exit_code(), 143);
  EXPECT_TRUE(terminal->history().Await(OutputHistory::TimePoint::max(),
                                        [](const OutputHistory::State& state) {
                                          return state.exit_code == 143;
                                        }));
}

TEST_F(TerminalTest, KnowsHowAShellEnded) {
  const struct {
    const char* shell;
    int code;
  } cases[] = {{"fail", 3}, {"die", 128 + SIGKILL}, {"lost", 255}};
  size_t count = 0;
  for (const auto& example : cases) {
    const auto terminal = Start(example.shell);
    EXPECT_EQ(events_.Await(++count).back(),
              absl::StrCat("end ", example.code));
  }
}

TEST_F(TerminalTest, SaysNothingOfAShellThatItEndsItself) {
  auto terminal = Start();
  AwaitOutput(*terminal, 2);
  terminal.reset();
  EXPECT_THAT(events_.Await(1), SizeIs(1));
}

TEST_F(TerminalTest, TreatsAShellThatTheServerForgotAsEnded) {
  const auto terminal = Start();
  AwaitOutput(*terminal, 2);
  server_.Stop();
  server_.LoseExecution(kShell);
  server_.Start();
  EXPECT_EQ(events_.Await(2).back(), "end 255");
}

TEST_F(TerminalTest, TypesInPiecesThatAServerTakes) {
  const auto terminal = Start();
  AwaitOutput(*terminal, 2);
  EXPECT_THAT(terminal->Type(std::string(100'000, 'x')), IsOk());
  EXPECT_EQ(terminal->history().typed_at(), 2);
  AwaitOutput(*terminal, 100'002);
  const auto inputs = AwaitInputs(2);
  EXPECT_EQ(inputs[0].name(), kShell);
  EXPECT_FALSE(inputs[0].has_offset());
  EXPECT_EQ(inputs[0].data().size(), 65536);
  EXPECT_EQ(inputs[1].data().size(), 100'000 - 65536);
}

TEST_F(TerminalTest, TypesWhatTheServerRefusesForNowOnce) {
  const auto terminal = Start();
  AwaitOutput(*terminal, 2);
  server_.RefuseInputs(1);
  EXPECT_THAT(terminal->Type("abc"), IsOk());
  AwaitOutput(*terminal, 5);
  std::vector<std::string> data;
  for (const auto& input : AwaitInputs(3)) {
    data.push_back(input.data());
  }
  EXPECT_THAT(data, ElementsAre("abc", "", "abc"));
}

TEST_F(TerminalTest, TypesNothingTwiceWhenTheServerIsLost) {
  const auto terminal = Start("late");
  EXPECT_THAT(terminal->Type("0123456789"), IsOk());
  AwaitInputs(1);
  // The last ten bytes do not fit into the pipe.
  const std::string text = std::string(65526, 'a') + "0123456789";
  EXPECT_THAT(terminal->Type(text), IsOk());
  AwaitInputs(2);
  while (Shell().input().accepted_offset() < 65536) {
    std::this_thread::yield();
  }
  server_.Stop();
  server_.Start();
  // It asks what was accepted, perhaps more than once, before it types.
  EXPECT_EQ(AwaitInputs(4)[2].data(), "");
  size_t typed = 3;
  for (; AwaitInputs(typed + 1)[typed].data().empty(); ++typed) {
  }
  EXPECT_EQ(server_.inputs()[typed].data(), "0123456789");
  server_.FindExecution(kShell)->Signal(SIGUSR1);
  AwaitOutput(*terminal, 65546);
  terminal->history().Look([&](const OutputHistory::State& state) {
    EXPECT_TRUE(state.output == "0123456789" + text);
  });
}

TEST_F(TerminalTest, RefusesInputThatNobodyReads) {
  const auto terminal = Start("late");
  absl::Status status;
  int megabytes = 0;
  while (status.ok()) {
    status = terminal->Type(std::string(1 << 20, 'x'));
    megabytes += status.ok() ? 1 : 0;
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("16 MiB wait already")));
  EXPECT_EQ(megabytes, 16);
}

TEST_F(TerminalTest, RefusesInputForAProgramThatTakesNone) {
  const auto terminal = Start("deaf");
  absl::Status status;
  while (status.ok()) {
    status = terminal->Type("x");
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "the terminal's program has ended"));
}

TEST_F(TerminalTest, EndsWhileInputWaits) {
  auto terminal = Start("late");
  EXPECT_THAT(terminal->Type(std::string(200'000, 'x')), IsOk());
  AwaitInputs(1);
  terminal.reset();
  EXPECT_THAT(server_.deletions(), ElementsAre(kShell));
}

TEST_F(TerminalTest, AsksForTheScreenWithItsScrollback) {
  const auto terminal = Start();
  corral::v1::GetScreenResponse screen;
  screen.mutable_screen()->set_title("title");
  server_.SetScreen(screen);
  for (const bool styles : {false, true}) {
    EXPECT_EQ(terminal->GetScreen(styles)->title(), "title");
    const auto request = server_.screens().back();
    EXPECT_EQ(request.name(), kShell);
    EXPECT_EQ(request.styles(), styles);
    EXPECT_EQ(request.scrollback_lines(), 1000);
    EXPECT_FALSE(request.has_answers_from());
  }
}

TEST_F(TerminalTest, ReadsAPartOfTheOutput) {
  const auto terminal = Start();
  EXPECT_THAT(terminal->Type("0123456789"), IsOk());
  AwaitOutput(*terminal, 12);
  const auto page = terminal->ReadOutput(4, 3);
  ASSERT_THAT(page.status(), IsOk());
  EXPECT_EQ(page->offset(), 4);
  EXPECT_EQ(page->data(), "234");
}

TEST_F(TerminalTest, ClearsResizesAndSignals) {
  const auto terminal = Start("late");
  EXPECT_THAT(terminal->Clear(), IsOk());
  EXPECT_THAT(server_.clearings(), ElementsAre(kShell));
  EXPECT_THAT(terminal->Resize(60, 20), IsOk());
  const auto size = server_.FindExecution(kShell)->WaitForResize();
  EXPECT_EQ(size.columns(), 60);
  EXPECT_EQ(size.rows(), 20);
  EXPECT_THAT(events_.Await(1), ElementsAre("60x20"));
  EXPECT_THAT(terminal->Signal(SIGHUP), IsOk());
  EXPECT_EQ(server_.signals().front().signal(), SIGHUP);
  EXPECT_EQ(server_.signals().front().scope(),
            corral::v1::SignalExecutionRequest::FOREGROUND_GROUP);
}

TEST_F(TerminalTest, AnswersEachQuestionOfAProgramOnce) {
  corral::v1::GetScreenResponse screen;
  screen.mutable_screen()->set_end_offset(17);
  screen.set_answers("<answer>");
  server_.SetScreen(screen);
  const auto terminal = Start();
  AwaitOutput(*terminal, 2);
  EXPECT_THAT(terminal->Type("\x1b[6n"), IsOk());
  EXPECT_EQ(AwaitInputs(2)[1].data(), "<answer>");
  EXPECT_EQ(server_.screens().back().answers_from(), 0);
  EXPECT_THAT(terminal->Type("\x1b[c"), IsOk());
  EXPECT_EQ(AwaitInputs(4)[3].data(), "<answer>");
  EXPECT_EQ(server_.screens().back().answers_from(), 17);
  screen.clear_answers();
  server_.SetScreen(screen);
  const size_t asked = server_.screens().size();
  EXPECT_THAT(terminal->Type("\x1b[c"), IsOk());
  while (server_.screens().size() == asked) {
    std::this_thread::yield();
  }
  EXPECT_THAT(terminal->Type("x"), IsOk());
  EXPECT_EQ(AwaitInputs(6)[5].data(), "x");
}

TEST_F(TerminalTest, TakesOverAShellWithItsOutput) {
  auto first = Start();
  EXPECT_THAT(first->Type("abc"), IsOk());
  AwaitOutput(*first, 5);
  first->Leave();
  first.reset();
  auto adopted = Terminal::Adopt(connection_.get(), Shell(), &events_);
  ASSERT_THAT(adopted.status(), IsOk());
  Terminal& terminal = **adopted;
  EXPECT_EQ(terminal.execution(), kShell);
  EXPECT_EQ(terminal.history().end(), 5);
  EXPECT_EQ(server_.screens().back().answers_from(), UINT64_MAX);
  // Earlier questions count as answered.
  EXPECT_THAT(terminal.Type("\x1b[6n"), IsOk());
  AwaitOutput(terminal, 9);
  while (server_.screens().back().answers_from() == UINT64_MAX) {
    std::this_thread::yield();
  }
  EXPECT_EQ(server_.screens().back().answers_from(), 5);
}

TEST_F(TerminalTest, ReadsTheEndOfALongOutputOfAShellThatItTakesOver) {
  auto first = Start();
  const std::string megabyte(1 << 20, 'x');
  EXPECT_THAT(first->Type(megabyte), IsOk());
  AwaitOutput(*first, megabyte.size() + 2);
  first->Leave();
  first.reset();
  auto adopted = Terminal::Adopt(connection_.get(), Shell(), &events_);
  ASSERT_THAT(adopted.status(), IsOk());
  (*adopted)->history().Look([&](const OutputHistory::State& state) {
    EXPECT_EQ(state.begin, 2);
    EXPECT_EQ(state.end, megabyte.size() + 2);
  });
}

}  // namespace
}  // namespace bridge

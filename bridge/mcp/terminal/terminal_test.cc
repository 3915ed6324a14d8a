// A terminal against a fake server: what it sends, and what it makes known.

#include "bridge/mcp/terminal/terminal.h"

#include <signal.h>

#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bridge/mcp/terminal/output_observer.h"
#include "bridge/mcp/terminal/shell_marks.h"
#include "bridge/mcp/terminal/terminal_fixture.h"
#include "bridge/mcp/terminal/terminal_input.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::tests::IsOk;
using ::tests::StatusIs;

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

// Asks for the output since offset 1 while it is told of some.
class AskingObserver : public OutputObserver {
 public:
  void OnOutput(const std::string&, uint64_t, absl::string_view) override {
    since_.set_value(terminal_.get_future().get()->OutputSince(1));
  }
  void OnResize(uint32_t, uint32_t) override {}
  void OnEnd(int) override {}

  std::promise<Terminal*> terminal_;
  std::promise<std::string> since_;
};

TEST_F(TerminalTest, KnowsTheOutputThatItsObserverIsBeingTold) {
  AskingObserver observer;
  const auto terminal = Terminal::Start(connection_.get(), kSandbox, "", "/w",
                                        {"sh", 100, 30}, &observer);
  ASSERT_THAT(terminal.status(), IsOk());
  EXPECT_EQ((*terminal)->history().end(), 0);
  observer.terminal_.set_value(terminal->get());
  EXPECT_EQ(observer.since_.get_future().get(), " ");
  AwaitOutput(**terminal, 2);
  EXPECT_EQ((*terminal)->OutputSince(0), "$ ");
  EXPECT_EQ((*terminal)->OutputSince(3), "");
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
  // The end may arrive at any time while the shell is deleted.
  for (size_t count = 2; count < 20; ++count) {
    terminal = Start();
    AwaitOutput(*terminal, 2);
    terminal.reset();
    ASSERT_THAT(events_.all(), SizeIs(count));
  }
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

TEST_F(TerminalTest, TakesSixteenMegabytesAtOnceAndNotMore) {
  const auto terminal = Start("late");
  EXPECT_THAT(terminal->Type(std::string(TerminalInput::kMaxWaiting + 1, 'x')),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("16 MiB wait already")));
  EXPECT_THAT(terminal->Type(std::string(TerminalInput::kMaxWaiting, 'x')),
              IsOk());
}

TEST_F(TerminalTest, RefusesInputForAProgramThatTakesNone) {
  const auto terminal = Start("deaf");
  ::testing::internal::CaptureStderr();
  absl::Status status;
  while (status.ok()) {
    status = terminal->Type("x");
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "the terminal's program has ended"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              Not(HasSubstr("input was lost")));
}

TEST_F(TerminalTest, SaysThatInputWasLost) {
  const auto terminal = Start("late");
  server_.Stop();
  server_.LoseExecution(kShell);
  server_.Start();
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(terminal->Type("x"), IsOk());
  while (terminal->Type("").ok()) {
    std::this_thread::yield();
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr(absl::StrCat(kShell, ": input was lost: ")));
}

TEST_F(TerminalTest, SaysNothingAboutInputThatItLeaves) {
  auto terminal = Start("late");
  EXPECT_THAT(terminal->Type(std::string(200'000, 'x')), IsOk());
  AwaitInputs(1);
  terminal->Leave();
  ::testing::internal::CaptureStderr();
  terminal.reset();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              Not(HasSubstr("input was lost")));
}

TEST_F(TerminalTest, SaysThatItsShellCouldNotBeDeletedUnlessItIsGone) {
  auto gone = Start();
  AwaitOutput(*gone, 2);
  server_.Stop();
  server_.LoseExecution(kShell);
  server_.Start();
  EXPECT_EQ(events_.Await(2).back(), "end 255");
  ::testing::internal::CaptureStderr();
  gone.reset();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              Not(HasSubstr("cannot delete")));
  auto left = Start();
  server_.Stop();
  ::testing::internal::CaptureStderr();
  left.reset();
  // It waits less for a server that is gone than other calls do.
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ContainsRegex("cannot delete [^\n]*/executions/e[0-9]+: "
                            "[^\n]* has been gone for 1s"));
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

TEST_F(TerminalTest, AnswersLaterWhatItCouldNotAnswer) {
  corral::v1::GetScreenResponse screen;
  screen.mutable_screen()->set_end_offset(17);
  screen.set_answers("<answer>");
  server_.SetScreen(screen);
  const auto terminal = Start();
  AwaitOutput(*terminal, 2);
  server_.RefuseScreens(1);
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(terminal->Type("\x1b[6n"), IsOk());
  // The first call was made at the start.
  while (server_.screens().size() < 2) {
    std::this_thread::yield();
  }
  EXPECT_THAT(terminal->Type("\x1b[c"), IsOk());
  EXPECT_EQ(AwaitInputs(3)[2].data(), "<answer>");
  EXPECT_EQ(server_.screens().back().answers_from(), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("cannot answer what the program asks its terminal: "));
}

TEST_F(TerminalTest, StartsThoughItHasNoScreen) {
  server_.RefuseScreens(1);
  const auto terminal = Start();
  AwaitOutput(*terminal, 2);
  EXPECT_THAT(server_.screens(), SizeIs(1));
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

TEST_F(TerminalTest, ReportsNoSizeThatItDoesNotGet) {
  const auto terminal = Start("late");
  server_.Stop();
  server_.LoseExecution(kShell);
  server_.Start();
  EXPECT_THAT(terminal->Resize(60, 20),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(kShell)));
  EXPECT_THAT(events_.all(), Not(Contains("60x20")));
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

}  // namespace
}  // namespace bridge

// A command whose input, output and signals are those of a program, against a
// fake server.

#include "bridge/cli/attach/attached_command.h"

#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/attached_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::tests::FakeExecution;
using ::tests::FakeServer;
using Io = CorralProcess::Io;

TEST(RunAttachedTest, PassesOnEverythingAndDeletesItsSandbox) {
  FakeServer server([](FakeExecution& command) {
    command.Write(corral::v1::STDERR, "err");
    std::string input;
    for (std::string data; !(data = command.ReadInput(100)).empty();) {
      input += data;
    }
    command.Write(corral::v1::STDOUT, input);
    command.SetExit(3);
  });
  Program program(server, {"run", "pipe"});
  program.Write("in");
  program.CloseInput();
  EXPECT_EQ(program.Outcome(), "3|in|err");
  EXPECT_THAT(server.deletions(), ElementsAre(kSandbox));
}

TEST(RunAttachedTest, DeletesOnlyTheExecutionInASandboxThatExists) {
  FakeServer server([](FakeExecution& command) { command.Print("out"); });
  Start(server, {});
  Program program(server, {"exec", kSandbox});
  EXPECT_EQ(program.Outcome(), "0|out|");
  EXPECT_THAT(server.deletions(),
              ElementsAre(absl::StrCat(kSandbox, "/executions/e2")));
}

TEST(RunAttachedTest, SaysWhyACommandEnded) {
  FakeServer server([](FakeExecution& command) {
    command.SetSignalled(SIGKILL, corral::v1::ExitStatus::OUT_OF_MEMORY);
  });
  EXPECT_EQ(Program(server, {"run", "pipe"}).Outcome(),
            "137||corral: out of memory: the sandbox reached its limit "
            "(SIGKILL)\n");
}

TEST(RunAttachedTest, LetsACommandGoOnThatWritesMoreThanIsKept) {
  FakeServer server(
      [](FakeExecution& command) { command.Print(std::string(3 << 20, 'x')); });
  Program program(server, {"run", "pipe"});
  EXPECT_EQ(program.ReadOutput().size(), 3 << 20);
  EXPECT_EQ(program.Wait(), 0);
  // The last half of what is kept stays for those who attach later.
  ASSERT_THAT(server.acknowledgements(), Not(IsEmpty()));
  EXPECT_LE(server.acknowledgements().back().cursors(0).offset(),
            (3 << 20) - (1 << 19));
}

TEST(RunAttachedTest, PassesOnSignals) {
  FakeServer server([](FakeExecution& command) {
    command.CatchSignals();
    command.Print("ready");
    command.SetExit(command.WaitForSignal());
  });
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    Program program(server, {"run", "pipe"});
    program.ReadUntil("ready");
    // No terminal has this size.
    program.Signal(SIGWINCH);
    program.Signal(number);
    EXPECT_EQ(program.Wait(), number);
    EXPECT_EQ(server.signals().back().signal(), number);
  }
  EXPECT_EQ(server.signals().size(), 4);
}

TEST(RunAttachedTest, KillsACommandWhoseOutputNobodyReads) {
  FakeServer server([](FakeExecution& command) {
    while (command.Print("y\n")) {
    }
  });
  Program program(server, {"run", "pipe"});
  program.ReadUntil("y\n");
  program.CloseOutput();
  EXPECT_EQ(program.Wait(), 141);
  ASSERT_EQ(server.signals().size(), 1);
  EXPECT_EQ(server.signals()[0].signal(), SIGKILL);
  EXPECT_THAT(server.deletions(), ElementsAre(kSandbox));
}

TEST(RunAttachedTest, SaysThatASignalCouldNotBePassedOn) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.Hang();
  });
  Program program(server, {"run", "pipe"});
  program.ReadUntil("ready");
  server.Stop();
  program.Signal(SIGTERM);
  EXPECT_THAT(program.ReadError(), HasSubstr("SIGTERM could not be passed on"));
  EXPECT_EQ(program.Wait(), 125);
}

TEST(RunAttachedTest, EndsByASignalBeforeTheCommandIsKnown) {
  FakeServer server([](FakeExecution&) {});
  server.HoldRuns();
  Program program(server, {"run", "pipe"});
  server.WaitForRun();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 128 + SIGTERM);
}

TEST(RunAttachedTest, LeavesTheTerminalAndTheCommandWhenItDetaches) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.Hang();
  });
  Program program(server, {"run", "terminal"}, Io::kTerminal);
  program.ReadUntil("ready");
  program.Write("\x10\x11");
  EXPECT_THAT(program.ReadUntil("comes back to it"),
              AllOf(HasSubstr("\x1b[?1049l"), HasSubstr("\x1b[?25h"),
                    HasSubstr("detached from s1/e1, which goes on")));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(server.deletions(), IsEmpty());
  EXPECT_THAT(server.signals(), IsEmpty());
}

TEST(RunAttachedTest, SetsTheSizeOfTheTerminal) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    const auto size = command.WaitForResize();
    command.Print(absl::StrCat(size.rows(), "x", size.columns()));
  });
  Program program(server, {"run", "terminal"}, Io::kTerminal);
  program.ReadUntil("ready");
  program.Signal(SIGWINCH);
  EXPECT_EQ(program.ReadUntil("30x100"), "30x100");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(AttachToTest, ShowsAllOutputOfBothStreams) {
  FakeServer server([](FakeExecution& command) {
    command.Write(corral::v1::STDOUT, "out");
    command.Write(corral::v1::STDERR, "err");
    command.SetExit(4);
  });
  Start(server, {});
  EXPECT_EQ(Program(server, {"attach", kExecution}).Outcome(), "4|out|err");
  EXPECT_THAT(Program(server, {"attach", kExecution, "1"}).Outcome(),
              AllOf(HasSubstr("125||"),
                    HasSubstr("this command has two: use corral logs")));
  EXPECT_THAT(server.deletions(), IsEmpty());
}

TEST(AttachToTest, BeginsAtTheOffsetThatItIsGiven) {
  FakeServer server([](FakeExecution& command) {
    command.Print("0123456789");
    command.SetExit(4);
  });
  Start(server, client::WithTerminal());
  EXPECT_EQ(Program(server, {"attach", kExecution, "7"}).Outcome(), "4|789|");
}

TEST(AttachToTest, SaysThatOutputHasExpired) {
  FakeServer server([](FakeExecution& command) { command.Print("out"); });
  Start(server, {});
  server.FindExecution(kExecution)->WaitUntilEnded();
  server.FindExecution(kExecution)->Expire();
  EXPECT_EQ(Program(server, {"attach", kExecution}).Outcome(),
            "0||corral: its output has expired\n");
}

TEST(AttachToTest, DetachesAtASignal) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.Hang();
  });
  Start(server, {});
  Program program(server, {"attach", kExecution});
  program.ReadUntil("ready");
  program.Signal(SIGTERM);
  EXPECT_EQ(program.ReadError(),
            "corral: detached from s1/e1, which goes on; corral attach s1/e1 "
            "comes back to it\n");
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(server.signals(), IsEmpty());
}

TEST(AttachToTest, TypesIntoTheTerminalOfACommand) {
  FakeServer server([](FakeExecution& command) {
    command.Print("prompt> ");
    command.Print(absl::StrCat("got ", command.ReadInput(100)));
  });
  Start(server, client::WithTerminal());
  Program program(server, {"attach", kExecution});
  program.ReadUntil("prompt> ");
  program.Write("it");
  EXPECT_EQ(program.ReadUntil("it"), "got it");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(AttachToTest, PassesNoInputToACommandWithoutATerminal) {
  FakeServer server([](FakeExecution& command) {
    command.CatchSignals();
    command.Print("ready");
    command.WaitForSignal();
  });
  corral::v1::Command command;
  command.set_stdin(true);
  Start(server, command);
  Program program(server, {"attach", kExecution});
  program.ReadUntil("ready");
  program.Write("it");
  server.FindExecution(kExecution)->Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(server.inputs(), IsEmpty());
}

TEST(AttachToTest, DropsWhatTheTerminalAnswersToOldQuestions) {
  FakeServer server([](FakeExecution& command) {
    command.Print("\x1b[6nasked");
    command.Print(absl::StrCat("got ", command.ReadInput(1)));
  });
  Start(server, client::WithTerminal());
  server.FindExecution(kExecution)->WaitForOutput(corral::v1::TERMINAL, 9);
  Program program(server, {"attach", kExecution}, Io::kTerminal);
  EXPECT_EQ(program.ReadUntil("\x1b[5n"), "\x1b[6nasked\x1b[5n");
  program.Write("\x1b[1;9R\x1b[0ny");
  EXPECT_EQ(program.ReadUntil("got y"), "got y");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(AttachToTest, ShowsNoQuestionsThatAnotherClientAnswers) {
  for (const bool answered : {false, true}) {
    FakeServer server([](FakeExecution& command) {
      command.CatchSignals();
      command.Print("a\x1b[6nb");
      command.WaitForSignal();
    });
    corral::v1::GetScreenResponse screen;
    screen.set_answered_by_client(answered);
    server.SetScreen(screen);
    Start(server, client::WithTerminal());
    Program program(server, {"attach", kExecution});
    EXPECT_EQ(program.ReadUntil("b"), answered ? "ab" : "a\x1b[6nb");
    server.FindExecution(kExecution)->Signal(SIGTERM);
    EXPECT_EQ(program.Wait(), 0);
    ASSERT_EQ(server.screens().size(), 1);
    EXPECT_EQ(server.screens()[0].name(), kExecution);
  }
}

}  // namespace
}  // namespace bridge

// An attached command and the terminal of the program, against a fake server.

#include <signal.h>
#include <termios.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/attached_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::tests::FakeExecution;
using ::tests::FakeServer;
using Io = CorralProcess::Io;

constexpr char kDetachKeys[] = "\x10\x11";
constexpr char kQuestion[] = "\x1b[5n";
constexpr char kAnswer[] = "\x1b[0n";
constexpr char kDetached[] =
    "corral: detached from s1/e1, which goes on; corral attach s1/e1 comes "
    "back to it";

void AwaitRawMode(const CorralProcess& program) {
  termios mode = {};
  do {
    std::this_thread::yield();
    ASSERT_EQ(::tcgetattr(program.terminal(), &mode), 0);
  } while ((mode.c_lflag & ICANON) != 0);
}

TEST(RunAttachedTest, PassesOnTheBytesOfTheDetachKeysInAPipe) {
  FakeServer server([](FakeExecution& command) {
    for (std::string data; !(data = command.ReadInput(100)).empty();) {
      command.Print(data);
    }
  });
  Program program(server, {"run", "pipe"});
  program.Write(absl::StrCat("a", kDetachKeys, "z"));
  program.CloseInput();
  EXPECT_EQ(program.Outcome(), absl::StrCat("0|a", kDetachKeys, "z|"));
}

TEST(RunAttachedTest, KillsNothingWhenItDetachesWhileNobodyReads) {
  FakeServer server([](FakeExecution& command) {
    command.Print(std::string(1 << 20, 'x'));
    command.Hang();
  });
  Program program(server, {"run", "terminal"}, Io::kTerminal);
  program.ReadUntil("x");
  program.Write(kDetachKeys);
  EXPECT_THAT(program.ReadUntil("comes back to it"), EndsWith(kDetached));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(server.signals(), IsEmpty());
  EXPECT_THAT(server.deletions(), IsEmpty());
}

TEST(AttachToTest, SetsTheSizeOfItsTerminal) {
  FakeServer server([](FakeExecution& command) {
    const auto size = command.WaitForResize();
    command.Print(absl::StrCat(size.rows(), "x", size.columns()));
  });
  Start(server, client::WithTerminal());
  Program program(server, {"attach", kExecution}, Io::kTerminal);
  EXPECT_EQ(program.ReadUntil("30x100"), "30x100");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(AttachToTest, SetsNoSizeWithoutATerminal) {
  corral::v1::TerminalSize size;
  FakeServer server([&size](FakeExecution& command) {
    command.Print("ready");
    command.Hang();
    size = command.WaitForResize();
  });
  Start(server, client::WithTerminal());
  Program program(server, {"attach", kExecution});
  program.ReadUntil("ready");
  server.FindExecution(kExecution)->Signal(SIGKILL);
  EXPECT_EQ(program.Wait(), 128 + SIGKILL);
  server.FindExecution(kExecution)->WaitUntilEnded();
  EXPECT_EQ(size.rows(), 0);
}

TEST(AttachToTest, DropsNoInputWhereThereIsNoOldOutput) {
  FakeServer server([](FakeExecution& command) {
    command.Print(absl::StrCat("got ", command.ReadInput(1)));
  });
  Start(server, client::WithTerminal());
  Program program(server, {"attach", kExecution}, Io::kTerminal);
  AwaitRawMode(program);
  program.Write("y");
  EXPECT_EQ(program.ReadUntil("got y"), "got y");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(AttachToTest, AsksItsTerminalOnceForTheEndOfTheOldOutput) {
  FakeServer server([](FakeExecution& command) {
    command.Print("old");
    command.ReadInput(1);
    command.Print("new");
    command.ReadInput(1);
    command.Print("end");
  });
  Start(server, client::WithTerminal());
  server.FindExecution(kExecution)->WaitForOutput(corral::v1::TERMINAL, 3);
  Program program(server, {"attach", kExecution}, Io::kTerminal);
  EXPECT_EQ(program.ReadUntil(kQuestion), absl::StrCat("old", kQuestion));
  program.Write(absl::StrCat(kAnswer, "a"));
  EXPECT_EQ(program.ReadUntil("new"), "new");
  program.Write("b");
  EXPECT_EQ(program.ReadUntil("end"), "end");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(AttachToTest, DropsTheAnswerToTheSameQuestionInOldOutput) {
  FakeServer server([](FakeExecution& command) {
    command.Print("\x1b[5nold");
    command.Print(absl::StrCat("got ", command.ReadInput(1)));
  });
  Start(server, client::WithTerminal());
  server.FindExecution(kExecution)->WaitForOutput(corral::v1::TERMINAL, 7);
  Program program(server, {"attach", kExecution}, Io::kTerminal);
  program.ReadUntil(absl::StrCat("old", kQuestion));
  program.Write(absl::StrCat(kAnswer, kAnswer, "y"));
  EXPECT_EQ(program.ReadUntil("got y"), "got y");
  EXPECT_EQ(program.Wait(), 0);
}

TEST(AttachToTest, AsksNothingAboutACommandThatHasEnded) {
  FakeServer server([](FakeExecution& command) {
    command.Print("done, ");
    command.SetSignalled(SIGKILL, corral::v1::ExitStatus::OUT_OF_MEMORY);
  });
  Start(server, client::WithTerminal());
  server.FindExecution(kExecution)->WaitUntilEnded();
  Program program(server, {"attach", kExecution}, Io::kTerminal);
  EXPECT_EQ(program.ReadUntil("(SIGKILL)"),
            "done, corral: out of memory: the sandbox reached its limit "
            "(SIGKILL)");
  EXPECT_EQ(program.Wait(), 128 + SIGKILL);
  EXPECT_THAT(server.screens(), IsEmpty());
}

TEST(AttachToTest, AsksNobodyAboutQuestionsOfACommandWithoutATerminal) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.Hang();
  });
  Start(server, {});
  Program program(server, {"attach", kExecution}, Io::kTerminal);
  program.ReadUntil("ready");
  EXPECT_THAT(server.screens(), IsEmpty());
  // The terminal is as it was, so that nothing is undone.
  program.Signal(SIGTERM);
  EXPECT_EQ(program.ReadUntil("comes back to it"), kDetached);
  EXPECT_EQ(program.Wait(), 0);
}

TEST(AttachToTest, UndoesNothingInAPipe) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.Hang();
  });
  Start(server, client::WithTerminal());
  Program program(server, {"attach", kExecution});
  program.ReadUntil("ready");
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Outcome(), absl::StrCat("0||", kDetached, "\n"));
}

}  // namespace
}  // namespace bridge

// corral run at a terminal, the program, against a fake server.

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "bridge/cli/commands/corral_process.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::tests::FakeExecution;
using ::tests::FakeServer;

constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e1";

bool Echoes(const CorralProcess& corral) {
  termios mode;
  return ::tcgetattr(corral.terminal(), &mode) == 0 &&
         (mode.c_lflag & ECHO) != 0;
}

TEST(RunTerminalTest, GivesATerminalForATerminal) {
  FakeServer server([](FakeExecution&) {});
  ::setenv("TERM", "vt52", 1);
  CorralProcess corral(server.address(), {"run", "cmd"},
                       CorralProcess::Io::kTerminal);
  EXPECT_EQ(corral.Wait(), 0);
  const auto command = server.runs().at(0).command();
  EXPECT_EQ(command.terminal().ShortDebugString(), "rows: 30 columns: 100");
  EXPECT_EQ(command.environment(0).ShortDebugString(),
            "name: \"TERM\" value: \"vt52\"");
}

TEST(RunTerminalTest, PassesOnEveryByteTypedUntilTheTerminalIsRestored) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.Print(command.ReadInput(1) == "\x03" ? "interrupt" : "?");
  });
  CorralProcess corral(server.address(), {"run", "cmd"},
                       CorralProcess::Io::kTerminal);
  corral.ReadUntil("ready");
  EXPECT_FALSE(Echoes(corral));
  corral.Write("\x03");  // typed, not a signal
  EXPECT_EQ(corral.ReadUntil("interrupt"), "interrupt");
  EXPECT_EQ(corral.Wait(), 0);
  EXPECT_TRUE(Echoes(corral));
}

TEST(RunTerminalTest, PassesOnTheSizeOfTheTerminal) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.SetExit(static_cast<int>(command.WaitForResize().rows()));
  });
  CorralProcess corral(server.address(), {"run", "cmd"},
                       CorralProcess::Io::kTerminal);
  corral.ReadUntil("ready");
  winsize size = {40, 120, 0, 0};
  ::ioctl(corral.terminal(), TIOCSWINSZ, &size);
  corral.Signal(SIGWINCH);
  EXPECT_EQ(corral.Wait(), 40);
}

TEST(RunTerminalTest, RestoresTheTerminalAfterASignal) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.Hang();
  });
  CorralProcess corral(server.address(), {"run", "cmd"},
                       CorralProcess::Io::kTerminal);
  corral.ReadUntil("ready");
  EXPECT_FALSE(Echoes(corral));
  corral.Signal(SIGTERM);
  EXPECT_EQ(corral.Wait(), 143);
  EXPECT_TRUE(Echoes(corral));
}

TEST(RunTerminalTest, GivesNoTerminalWithNoTty) {
  FakeServer server([](FakeExecution& command) { command.Print("x"); });
  CorralProcess corral(server.address(), {"run", "-T", "cmd"},
                       CorralProcess::Io::kTerminal);
  EXPECT_EQ(corral.Wait(), 0);
  EXPECT_FALSE(server.runs().at(0).command().has_terminal());
  EXPECT_EQ(server.FindExecution(kExecution), nullptr);
}

}  // namespace
}  // namespace bridge

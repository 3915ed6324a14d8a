// Signals to corral run, the program, against a fake server.

#include <signal.h>

#include <string>
#include <vector>

#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::FakeExecution;
using ::tests::FakeServer;

constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e1";

TEST(RunSignalTest, PassesOnSignals) {
  FakeServer server([](FakeExecution& command) {
    command.CatchSignals();
    command.Print("ready");
    const int first = command.WaitForSignal();
    command.Print("next");
    command.SetExit(first * 10 + command.WaitForSignal());
  });
  CorralProcess corral(server.address(), {"run", "cmd"});
  corral.ReadUntil("ready");
  corral.Signal(SIGINT);
  corral.ReadUntil("next");
  corral.Signal(SIGHUP);
  EXPECT_EQ(corral.Wait(), SIGINT * 10 + SIGHUP);
}

TEST(RunSignalTest, KillsAtTheThirdInterruptInQuickSuccession) {
  FakeServer server([](FakeExecution& command) {
    command.CatchSignals();
    do {
      command.Print("go on\n");
    } while (command.WaitForSignal() != SIGKILL);
  });
  CorralProcess corral(server.address(), {"run", "cmd"});
  while (!corral.ReadUntil("\n").empty()) {
    corral.Signal(SIGINT);
  }
  EXPECT_EQ(corral.Wait(), 137);
  std::vector<int> numbers;
  for (const auto& signal : server.signals()) {
    numbers.push_back(signal.signal());
  }
  // More than two SIGINTs come first only if they were more than 2 s apart.
  EXPECT_THAT(std::vector<int>(numbers.end() - 3, numbers.end()),
              ::testing::ElementsAre(SIGINT, SIGINT, SIGKILL));
}

TEST(RunSignalTest, EndsByASignalWhenTheServerDoesNotAnswer) {
  FakeServer server([](FakeExecution&) {});
  server.HoldRuns();
  CorralProcess corral(server.address(), {"run", "cmd"});
  server.WaitForRun();
  corral.Signal(SIGTERM);
  EXPECT_EQ(corral.Wait(), 143);
}

TEST(RunSignalTest, ReportsASignalThatCouldNotBePassedOn) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.Hang();
  });
  CorralProcess corral(server.address(), {"run", "cmd"});
  corral.ReadUntil("ready");
  server.Stop();
  corral.Signal(SIGTERM);
  EXPECT_THAT(corral.ReadError(), HasSubstr("SIGTERM could not be passed on"));
  EXPECT_EQ(corral.Wait(), 125);
}

TEST(RunSignalTest, EndsAtTheSecondSignalThatComesAfterTheEndOfTheCommand) {
  FakeServer server(
      [](FakeExecution& command) { command.Print(std::string(1 << 20, 'x')); });
  CorralProcess corral(server.address(), {"run", "cmd"});
  // The pipe is full, and nobody reads on.
  corral.ReadUntil("x");
  server.FindExecution(kExecution)->WaitUntilEnded();
  corral.Signal(SIGTERM);
  server.WaitForSignals(1);
  corral.Signal(SIGTERM);
  EXPECT_THAT(corral.ReadError(), HasSubstr("SIGTERM could not be passed on"));
  EXPECT_EQ(corral.Wait(), 125);
}

}  // namespace
}  // namespace bridge

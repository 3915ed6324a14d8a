// corral run, the program, against a fake server.

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/cli/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using corral::v1::ExitStatus;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::tests::FakeExecution;
using ::tests::FakeServer;

constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e1";

TEST(RunTest, PassesOnOutputErrorAndExitStatus) {
  FakeServer server([](FakeExecution& command) {
    command.Write(corral::v1::STDOUT, "out");
    command.Write(corral::v1::STDERR, "err");
    command.SetExit(3);
  });
  CorralProcess corral(server.address(), {"run", "--", "cmd", "-x"});
  EXPECT_EQ(corral.ReadOutput(), "out");
  EXPECT_EQ(corral.ReadError(), "err");
  EXPECT_EQ(corral.Wait(), 3);
  EXPECT_EQ(server.deletions().size(), 1);
}

TEST(RunTest, AsksForWhatTheOptionsSay) {
  FakeServer server([](FakeExecution&) {});
  ::setenv("PASSED_ON", "yes", 1);
  CorralProcess corral(
      server.address(),
      {"run",       "-w",     "/tmp",     "--cwd=/tmp/x", "--read-only",
       "--network", "none",   "--memory", "512M",         "--pids",
       "100",       "--cpus", "1.5",      "--timeout",    "30s",
       "-e",        "A=b=c",  "--env",    "PASSED_ON",    "cmd",
       "-l",        "--",     "x"});
  EXPECT_EQ(corral.Wait(), 0);
  const auto request = server.runs().at(0);
  EXPECT_EQ(request.parent(), "tenants/default");
  EXPECT_EQ(request.sandbox().workspace().path(), "/tmp");
  EXPECT_TRUE(request.sandbox().workspace().read_only());
  EXPECT_EQ(request.sandbox().limits().memory_bytes(), 512 << 20);
  EXPECT_EQ(request.sandbox().limits().pids(), 100);
  EXPECT_EQ(request.sandbox().limits().cpu_millis(), 1500);
  const auto& command = request.command();
  EXPECT_THAT(command.argv(), ::testing::ElementsAre("cmd", "-l", "--", "x"));
  EXPECT_EQ(command.working_directory(), "/tmp/x");
  EXPECT_EQ(command.wall_timeout().seconds(), 30);
  EXPECT_EQ(command.environment(0).name(), "A");
  EXPECT_EQ(command.environment(0).value(), "b=c");
  EXPECT_EQ(command.environment(1).value(), "yes");
  EXPECT_FALSE(command.has_terminal());
  EXPECT_EQ(command.output().overflow(), corral::v1::OutputPolicy::BLOCK);
}

TEST(RunTest, ReportsASignalAsShellsDo) {
  FakeServer server([](FakeExecution& command) {
    command.SetSignalled(SIGSEGV, ExitStatus::NORMAL);
  });
  CorralProcess corral(server.address(), {"run", "cmd"});
  EXPECT_EQ(corral.ReadError(), "");
  EXPECT_EQ(corral.Wait(), 128 + SIGSEGV);
}

TEST(RunTest, SaysWhenItWasTheTimeoutOrTheMemory) {
  FakeServer server([](FakeExecution& command) {
    command.SetSignalled(SIGTERM, ExitStatus::WALL_TIMEOUT);
  });
  CorralProcess timeout(server.address(), {"run", "--timeout", "90s", "cmd"});
  EXPECT_EQ(timeout.ReadError(),
            "corral: ended by its timeout of 1m30s (SIGTERM)\n");
  EXPECT_EQ(timeout.Wait(), 143);

  FakeServer full([](FakeExecution& command) {
    command.SetSignalled(SIGKILL, ExitStatus::OUT_OF_MEMORY);
  });
  CorralProcess memory(full.address(), {"run", "cmd"});
  EXPECT_THAT(memory.ReadError(), HasSubstr("out of memory"));
  EXPECT_EQ(memory.Wait(), 137);
}

TEST(RunTest, ReportsWhatCannotBeExecutedAsShellsDo) {
  FakeServer server([](FakeExecution&) {});
  corral::v1::StartFailure failure;
  failure.set_stage(corral::v1::StartFailure::EXEC);
  failure.set_errno_value(ENOENT);
  server.FailStarts(failure);
  CorralProcess missing(server.address(), {"run", "nope"});
  EXPECT_THAT(
      missing.ReadError(),
      AllOf(HasSubstr("nope"),
            HasSubstr("exec failed: No such file or directory (ENOENT)")));
  EXPECT_EQ(missing.Wait(), 127);

  failure.set_errno_value(EACCES);
  server.FailStarts(failure);
  CorralProcess denied(server.address(), {"run", "./file"});
  EXPECT_THAT(denied.ReadError(), HasSubstr("EACCES"));
  EXPECT_EQ(denied.Wait(), 126);
}

TEST(RunTest, AdmitsThatTheEndIsNotKnown) {
  FakeServer server([](FakeExecution& command) { command.SetLost(); });
  CorralProcess corral(server.address(), {"run", "cmd"});
  EXPECT_THAT(corral.ReadError(), HasSubstr("not known"));
  EXPECT_EQ(corral.Wait(), 125);
}

// Writes back what it reads.
void Cat(FakeExecution& command) {
  for (std::string data; !(data = command.ReadInput(65536)).empty();) {
    command.Print(data);
  }
}

TEST(RunTest, PassesOnInputAndItsEnd) {
  FakeServer server(Cat);
  CorralProcess corral(server.address(), {"run", "cat"});
  corral.Write("hello ");
  EXPECT_EQ(corral.ReadUntil("hello "), "hello ");
  corral.Write("world");
  corral.CloseInput();
  EXPECT_EQ(corral.ReadOutput(), "world");
  EXPECT_EQ(corral.Wait(), 0);
}

TEST(RunTest, EndsWithTheCommandWhileNobodyTypes) {
  FakeServer server([](FakeExecution& command) { command.SetExit(5); });
  CorralProcess corral(server.address(), {"run", "cmd"});
  EXPECT_EQ(corral.Wait(), 5);
}

TEST(RunTest, EndsWithTheCommandWhenItsInputWasNotTaken) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    command.CatchSignals();
    command.WaitForSignal();
    command.SetExit(6);
  });
  CorralProcess corral(server.address(), {"run", "cmd"});
  corral.ReadUntil("ready");
  corral.Write(std::string(100000, 'x'));
  corral.Signal(SIGTERM);
  EXPECT_EQ(corral.Wait(), 6);
}

TEST(RunTest, PassesOnSignals) {
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

TEST(RunTest, KillsAtTheThirdInterruptInQuickSuccession) {
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
  const auto signals = server.signals();
  ASSERT_GE(signals.size(), 3);
  EXPECT_EQ(signals[0].signal(), SIGINT);
  EXPECT_EQ(signals[1].signal(), SIGINT);
  EXPECT_EQ(signals.back().signal(), SIGKILL);
}

TEST(RunTest, EndsByASignalWhenTheServerDoesNotAnswer) {
  FakeServer server([](FakeExecution&) {});
  server.HoldRuns();
  CorralProcess corral(server.address(), {"run", "cmd"});
  server.WaitForRun();
  corral.Signal(SIGTERM);
  EXPECT_EQ(corral.Wait(), 143);
}

TEST(RunTest, SaysThatASignalCouldNotBePassedOn) {
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

TEST(RunTest, LosesNothingToASlowReaderAndNeedsNoMemoryForIt) {
  constexpr size_t kBlocks = 100;
  FakeServer server([](FakeExecution& command) {
    for (size_t i = 0; i < kBlocks; ++i) {
      command.Print(std::string(1 << 20, static_cast<char>('A' + i % 26)));
    }
  });
  CorralProcess corral(server.address(), {"run", "cmd"});
  std::string block(1 << 20, '\0');
  for (size_t i = 0; i < kBlocks; ++i) {
    for (size_t done = 0; done < block.size();) {
      const size_t want = std::min<size_t>(4096, block.size() - done);
      const ssize_t size = ::read(corral.output(), &block[done], want);
      ASSERT_GT(size, 0) << "block " << i;
      done += size;
    }
    ASSERT_EQ(block, std::string(1 << 20, static_cast<char>('A' + i % 26)));
  }
  EXPECT_LT(corral.PeakMemory(), 64 << 20);
  EXPECT_EQ(corral.ReadOutput(), "");
  EXPECT_EQ(corral.Wait(), 0);
}

TEST(RunTest, EndsAsInAPipelineWhenNobodyReads) {
  FakeServer server([](FakeExecution& command) {
    while (command.Print("y\n")) {
    }
  });
  CorralProcess corral(server.address(), {"run", "yes"});
  corral.ReadUntil("y\n");
  corral.CloseOutput();
  EXPECT_EQ(corral.Wait(), 141);
  EXPECT_EQ(server.signals().at(0).signal(), SIGKILL);
}

TEST(RunTest, GoesOnAfterTheServerWasRestarted) {
  FakeServer server([](FakeExecution& command) {
    command.Print("before ");
    command.Print(command.ReadInput(100));
    command.SetExit(4);
  });
  CorralProcess corral(server.address(), {"run", "cmd"});
  corral.ReadUntil("before ");
  server.Stop();
  corral.Write("after");
  server.Start();
  EXPECT_EQ(corral.ReadOutput(), "after");
  EXPECT_EQ(corral.Wait(), 4);
  EXPECT_EQ(server.deletions().at(0), "tenants/default/sandboxes/s1");
}

bool Echoes(const CorralProcess& corral) {
  termios mode;
  return ::tcgetattr(corral.terminal(), &mode) == 0 &&
         (mode.c_lflag & ECHO) != 0;
}

TEST(RunTest, GivesATerminalForATerminal) {
  FakeServer server([](FakeExecution& command) {
    command.Print("ready");
    const std::string typed = command.ReadInput(1);
    command.Print(typed == "\x03" ? "interrupt" : "?");
    const auto size = command.WaitForResize();
    command.SetExit(static_cast<int>(size.rows()));
  });
  ::setenv("TERM", "vt52", 1);
  CorralProcess corral(server.address(), {"run", "cmd"},
                       CorralProcess::Io::kTerminal);
  EXPECT_EQ(corral.ReadUntil("ready"), "ready");
  EXPECT_FALSE(Echoes(corral));
  const auto command = server.runs().at(0).command();
  EXPECT_EQ(command.terminal().rows(), 30);
  EXPECT_EQ(command.terminal().columns(), 100);
  EXPECT_EQ(command.environment(0).name(), "TERM");
  EXPECT_EQ(command.environment(0).value(), "vt52");
  corral.Write("\x03");  // typed, not a signal
  EXPECT_EQ(corral.ReadUntil("interrupt"), "interrupt");
  winsize size = {40, 120, 0, 0};
  ASSERT_EQ(::ioctl(corral.terminal(), TIOCSWINSZ, &size), 0);
  corral.Signal(SIGWINCH);
  EXPECT_EQ(corral.Wait(), 40);
  EXPECT_TRUE(Echoes(corral));
}

TEST(RunTest, RestoresTheTerminalAfterASignal) {
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

TEST(RunTest, GivesNoTerminalWhenToldNotTo) {
  FakeServer server([](FakeExecution& command) { command.Print("x"); });
  CorralProcess corral(server.address(), {"run", "-T", "cmd"},
                       CorralProcess::Io::kTerminal);
  EXPECT_EQ(corral.Wait(), 0);
  EXPECT_FALSE(server.runs().at(0).command().has_terminal());
  EXPECT_EQ(server.FindExecution(kExecution), nullptr);
}

}  // namespace
}  // namespace bridge

// corral attach, the program, against a fake server.

#include <signal.h>
#include <termios.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::tests::FakeExecution;
using ::tests::FakeServer;

using Io = CorralProcess::Io;

constexpr char kTerminalAnswer[] = "\x1b[0n";
constexpr char kDetachKeys[] = "\x10\x11";

void RunCorral(const FakeServer& server,
               const std::vector<std::string>& arguments) {
  CorralProcess corral(server.address(), arguments);
  EXPECT_EQ(corral.Wait(), 0) << corral.ReadError();
}

// s1/e1 with a terminal, as a detached command.
void StartInTerminal(const FakeServer& server) {
  RunCorral(server, {"create", "--no-workspace"});
  RunCorral(server, {"exec", "-d", "-t", "s1", "sh"});
}

// Shows "prompt> ", and then each line that is typed, until "exit".
void Shell(FakeExecution& command) {
  command.Print("prompt> ");
  for (std::string line; line != "exit\r";) {
    line.clear();
    while (line.empty() || line.back() != '\r') {
      const std::string byte = command.ReadInput(1);
      if (byte.empty()) {
        return;
      }
      line += byte;
    }
    command.Print(absl::StrCat("<", line.substr(0, line.size() - 1), ">"));
  }
  command.SetExit(3);
}

TEST(AttachTest, ShowsTheTerminalFromItsBeginningAndPassesOnWhatIsTyped) {
  FakeServer server(Shell);
  StartInTerminal(server);
  CorralProcess corral(server.address(), {"attach", "s1/e1"}, Io::kTerminal);
  EXPECT_EQ(corral.ReadUntil("\x1b[5n"), "prompt> \x1b[5n");
  corral.Write(absl::StrCat(kTerminalAnswer, "hello\r"));
  EXPECT_EQ(corral.ReadUntil("<hello>"), "<hello>");
  corral.Write("exit\r");
  EXPECT_EQ(corral.ReadUntil("<exit>"), "<exit>");
  EXPECT_EQ(corral.Wait(), 3);
}

TEST(AttachTest, DoesNotPassOnTheTerminalsAnswersToOldQueries) {
  FakeServer server([](FakeExecution& command) {
    command.Print("\x1b[6nasked");
    command.Print(absl::StrCat("got ", command.ReadInput(1)));
  });
  StartInTerminal(server);
  CorralProcess corral(server.address(), {"attach", "s1/e1"}, Io::kTerminal);
  corral.ReadUntil("\x1b[5n");
  corral.Write(absl::StrCat("\x1b[1;9R", kTerminalAnswer, "y"));
  EXPECT_EQ(corral.ReadUntil("got y"), "got y");
  EXPECT_EQ(corral.Wait(), 0);
}

TEST(AttachTest, DetachesByKeysAndAttachesAgainFromAnotherClient) {
  FakeServer server(Shell);
  StartInTerminal(server);
  CorralProcess first(server.address(), {"attach", "s1/e1"}, Io::kTerminal);
  first.ReadUntil("\x1b[5n");
  first.Write(absl::StrCat(kTerminalAnswer, "one\r"));
  first.ReadUntil("<one>");
  first.Write(kDetachKeys);
  EXPECT_THAT(first.ReadUntil("comes back to it"),
              HasSubstr("detached from s1/e1, which goes on"));
  EXPECT_EQ(first.Wait(), 0);

  CorralProcess second(server.address(), {"attach", "s1/e1"}, Io::kTerminal);
  EXPECT_EQ(second.ReadUntil("\x1b[5n"), "prompt> <one>\x1b[5n");
  second.Write(absl::StrCat(kTerminalAnswer, "exit\r"));
  EXPECT_EQ(second.Wait(), 3);
}

TEST(AttachTest, TakesOtherDetachKeys) {
  FakeServer server(Shell);
  StartInTerminal(server);
  CorralProcess corral(server.address(),
                       {"attach", "--detach-keys", "ctrl-],x", "s1/e1"},
                       Io::kTerminal);
  corral.ReadUntil("\x1b[5n");
  corral.Write(absl::StrCat(kTerminalAnswer, "\x1dx"));
  EXPECT_THAT(corral.ReadUntil("comes back"), HasSubstr("detached"));
  EXPECT_EQ(corral.Wait(), 0);
}

TEST(AttachTest, AttachesAnyNumberOfClientsAtATime) {
  FakeServer server(Shell);
  StartInTerminal(server);
  CorralProcess first(server.address(), {"attach", "s1/e1"}, Io::kTerminal);
  CorralProcess second(server.address(), {"attach", "s1/e1"}, Io::kTerminal);
  for (CorralProcess* corral : {&first, &second}) {
    corral->ReadUntil("\x1b[5n");
    corral->Write(kTerminalAnswer);
  }
  first.Write("one\r");
  first.ReadUntil("<one>");
  second.ReadUntil("<one>");
  second.Write("exit\r");
  EXPECT_EQ(first.Wait(), 3);
  EXPECT_EQ(second.Wait(), 3);
}

TEST(AttachTest, LeavesTheCommandRunningWhenItIsSignalled) {
  FakeServer server(Shell);
  StartInTerminal(server);
  CorralProcess corral(server.address(), {"attach", "s1/e1"});
  EXPECT_EQ(corral.ReadUntil("prompt> "), "prompt> ");
  corral.Signal(SIGTERM);
  EXPECT_THAT(corral.ReadError(), HasSubstr("detached from s1/e1"));
  EXPECT_EQ(corral.Wait(), 0);
  EXPECT_TRUE(server.signals().empty());
}

TEST(AttachTest, DetachesWhileNobodyReadsTheOutput) {
  FakeServer server([](FakeExecution& command) {
    command.Print(std::string(1 << 20, 'x'));
    command.Hang();
  });
  StartInTerminal(server);
  CorralProcess corral(server.address(), {"attach", "s1/e1"});
  corral.ReadUntil("x");
  corral.Signal(SIGTERM);
  EXPECT_THAT(corral.ReadError(), HasSubstr("detached from s1/e1"));
  EXPECT_EQ(corral.Wait(), 0);
}

TEST(AttachTest, GoesOnAfterTheServerWasRestarted) {
  FakeServer server(Shell);
  StartInTerminal(server);
  CorralProcess corral(server.address(), {"attach", "s1/e1"});
  corral.ReadUntil("prompt> ");
  corral.Write("one\r");
  EXPECT_EQ(corral.ReadUntil("<one>"), "<one>");
  server.Stop();
  corral.Write("two\r");
  server.Start();
  EXPECT_EQ(corral.ReadUntil("<two>"), "<two>");
  corral.Write("exit\r");
  EXPECT_EQ(corral.Wait(), 3);
}

TEST(AttachTest, LeavesTheInputOfTheFirstClientAlone) {
  FakeServer server(Shell);
  RunCorral(server, {"create", "--no-workspace"});
  CorralProcess exec(server.address(), {"exec", "s1", "sh"}, Io::kTerminal);
  exec.ReadUntil("prompt> ");
  CorralProcess corral(server.address(), {"attach", "s1/e1"});
  corral.Write("one\r");
  corral.ReadUntil("<one>");
  exec.Write("two\r");
  exec.ReadUntil("<two>");
  corral.Write("exit\r");
  EXPECT_EQ(exec.Wait(), 3);
  EXPECT_EQ(corral.Wait(), 3);
}

TEST(AttachTest, ReportsTerminalOutputThatIsNoLongerKept) {
  FakeServer server([](FakeExecution& command) {
    command.Print(std::string(3 << 20, 'x'));
    command.Print("end");
  });
  RunCorral(server, {"create", "--no-workspace"});
  RunCorral(server, {"exec", "-d", "-t", "--keep", "1M", "s1", "sh"});
  RunCorral(server, {"wait", "s1/e1"});
  CorralProcess corral(server.address(), {"attach", "s1/e1"});
  EXPECT_EQ(corral.ReadOutput().size(), 1 << 20);
  EXPECT_THAT(corral.ReadError(),
              AllOf(HasSubstr("corral: bytes 0 to "),
                    HasSubstr(" of terminal are no longer kept\r\n")));
}

TEST(AttachTest, ShowsACommandThatHasEnded) {
  FakeServer server([](FakeExecution& command) {
    command.Print("done");
    command.SetExit(7);
  });
  StartInTerminal(server);
  CorralProcess corral(server.address(), {"attach", "s1/e1"});
  EXPECT_EQ(corral.ReadOutput(), "done");
  EXPECT_EQ(corral.Wait(), 7);
}

TEST(ExecTest, DetachesAndIsAttachedToAgain) {
  FakeServer server(Shell);
  RunCorral(server, {"create", "--no-workspace"});
  CorralProcess exec(server.address(), {"exec", "s1", "sh"}, Io::kTerminal);
  exec.ReadUntil("prompt> ");
  exec.Write(absl::StrCat("one\r", kDetachKeys));
  EXPECT_THAT(exec.ReadUntil("comes back"), HasSubstr("detached from s1/e1"));
  EXPECT_EQ(exec.Wait(), 0);
  CorralProcess corral(server.address(), {"attach", "s1/e1"});
  corral.Write("exit\r");
  EXPECT_EQ(corral.ReadOutput(), "prompt> <one><exit>");
  EXPECT_EQ(corral.Wait(), 3);
}

}  // namespace
}  // namespace bridge

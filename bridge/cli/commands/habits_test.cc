// Runs what users of docker and kill(1) type, against a fake server.

#include <errno.h>
#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/network/loopback.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::FakeExecution;
using ::tests::FakeServer;

constexpr char kSandbox[] = "tenants/default/sandboxes/s1";
constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e1";

// A server whose commands print three lines and end by a signal.
class HabitsTest : public ::testing::Test {
 protected:
  HabitsTest()
      : server_([](FakeExecution& command) {
          command.Print("one\ntwo\nthree\n");
          command.Hang();
        }) {}

  std::string Output(const std::vector<std::string>& arguments,
                     int expected = 0) {
    CorralProcess corral(server_.address(), arguments);
    std::string output = corral.ReadOutput();
    error_ = corral.ReadError();
    EXPECT_EQ(corral.Wait(), expected) << error_;
    return output;
  }

  // The sandbox s1 with the command s1/e1.
  void StartOne() {
    Output({"create", "--no-workspace"});
    EXPECT_EQ(Output({"exec", "-d", "s1", "cmd"}), "s1/e1\n");
    // A command prints in its own time.
    while (Output({"logs", "s1/e1"}) != "one\ntwo\nthree\n") {
    }
  }

  void FailStarts(corral::v1::StartFailure::Stage stage, int errno_value) {
    corral::v1::StartFailure failure;
    failure.set_stage(stage);
    failure.set_errno_value(errno_value);
    server_.FailStarts(failure);
  }

  FakeServer server_;
  std::string error_;  // of the last Output()
};

TEST_F(HabitsTest, KillTakesASignalAsAnOption) {
  StartOne();
  Output({"kill", "-9", "s1/e1"});
  Output({"wait", "s1/e1"}, 128 + SIGKILL);
  Output({"exec", "-d", "s1", "cmd"});
  Output({"kill", "-KILL", "s1/e2"});
  Output({"wait", "s1/e2"}, 128 + SIGKILL);
  Output({"exec", "-d", "s1", "cmd"});
  Output({"kill", "-s", "USR1", "s1/e3"});
  EXPECT_EQ(server_.signals().back().signal(), SIGUSR1);
  Output({"kill", "-NOPE", "s1/e1"}, 2);
  EXPECT_THAT(error_, HasSubstr("unknown option -N"));
}

TEST_F(HabitsTest, LogsTailPrintsTheLastLines) {
  StartOne();
  server_.FindExecution(kExecution)->Signal(SIGKILL);
  Output({"wait", "s1/e1"}, 128 + SIGKILL);
  EXPECT_EQ(Output({"logs", "--tail", "2", "s1/e1"}), "two\nthree\n");
  EXPECT_EQ(Output({"logs", "-n", "1", "s1/e1"}), "three\n");
  EXPECT_EQ(Output({"logs", "--tail=0", "s1/e1"}), "");
  EXPECT_EQ(Output({"logs", "--tail", "9", "-f", "s1/e1"}),
            "one\ntwo\nthree\n");
  EXPECT_EQ(Output({"logs", "--tail", "all", "s1/e1"}), "one\ntwo\nthree\n");
  Output({"logs", "--tail", "x", "s1/e1"}, 2);
  EXPECT_THAT(error_, HasSubstr("allowed is a number of lines, or all"));
  Output({"logs", "--tail", "1", "--from", "2", "--stdout", "s1/e1"}, 2);
}

TEST_F(HabitsTest, LogsTailFindsLongLines) {
  FakeServer server([](FakeExecution& command) {
    command.Print(absl::StrCat(std::string(300'000, 'a'), "\n",
                               std::string(300'000, 'b'), "\nlast"));
  });
  CorralProcess(server.address(), {"create", "--no-workspace"}).Wait();
  CorralProcess(server.address(), {"exec", "-d", "s1", "cmd"}).Wait();
  CorralProcess(server.address(), {"wait", "s1/e1"}).Wait();
  const auto tail = [&server](const char* lines) {
    return CorralProcess(server.address(), {"logs", "-n", lines, "s1/e1"})
        .ReadOutput();
  };
  EXPECT_TRUE(tail("1") == "last");
  EXPECT_TRUE(tail("2") == std::string(300'000, 'b') + "\nlast");
  EXPECT_EQ(tail("3").size(), 600'006);
  EXPECT_EQ(tail("4").size(), 600'006);
}

TEST_F(HabitsTest, LogsEndsAsInAPipelineWhenNobodyReads) {
  FakeServer server(
      [](FakeExecution& command) { command.Print(std::string(1 << 20, 'x')); });
  CorralProcess(server.address(), {"create", "--no-workspace"}).Wait();
  CorralProcess(server.address(), {"exec", "-d", "s1", "cmd"}).Wait();
  CorralProcess logs(server.address(), {"logs", "-f", "s1/e1"});
  logs.ReadUntil("x");
  logs.CloseOutput();
  EXPECT_EQ(logs.Wait(), 141);
}

TEST_F(HabitsTest, PsTakesAllAndQuiet) {
  StartOne();
  EXPECT_EQ(Output({"ps", "-q"}), "s1\ns1/e1\n");
  EXPECT_EQ(Output({"ps", "-aq"}), "s1\ns1/e1\n");
  EXPECT_THAT(Output({"ps", "-a"}),
              AllOf(HasSubstr("\ns1 "), HasSubstr("\ns1/e1  running")));
  Output({"ps", "-q", "--json"}, 2);
}

TEST_F(HabitsTest, RmTakesTheNamesThatPsPrints) {
  StartOne();
  Output({"rm", "s1", "s1/e1"});
  EXPECT_THAT(server_.deletions(), ElementsAre(kSandbox));
}

TEST_F(HabitsTest, RmForceIgnoresNamesThatDoNotExist) {
  Output({"rm", "s1"}, 125);
  Output({"rm", "-f", "s1", "s1/e1"});
  StartOne();
  Output({"rm", "--force", "s7", "s1"});
  EXPECT_EQ(server_.deletions().back(), kSandbox);
}

TEST_F(HabitsTest, RunTakesInteractiveTtyNameAndRm) {
  CorralProcess corral(server_.address(),
                       {"run", "-it", "--rm", "--name", "mine", "cmd"},
                       CorralProcess::Io::kTerminal);
  corral.ReadUntil("three");
  corral.Signal(SIGTERM);
  EXPECT_EQ(corral.Wait(), 128 + SIGTERM);
  EXPECT_EQ(server_.runs().at(0).sandbox_id(), "mine");
  EXPECT_TRUE(server_.runs().at(0).command().has_terminal());
}

TEST_F(HabitsTest, ExecTakesANameAndInteractive) {
  Output({"create", "--no-workspace"});
  CorralProcess corral(server_.address(),
                       {"exec", "-i", "--rm", "--name", "mine", "s1", "cmd"});
  corral.ReadUntil("three\n");
  EXPECT_EQ(server_.runs().at(0).execution_id(), "mine");
  EXPECT_TRUE(server_.runs().at(0).command().stdin());
  corral.Signal(SIGTERM);
  EXPECT_EQ(corral.Wait(), 128 + SIGTERM);
}

TEST_F(HabitsTest, RunDetachedTakesANameForItsSandbox) {
  Output({"run", "-d", "--name", "mine", "cmd"});
  EXPECT_EQ(server_.creations().at(0).sandbox_id(), "mine");
}

TEST_F(HabitsTest, ExecDetachedTakesAName) {
  Output({"create", "--no-workspace"});
  EXPECT_EQ(Output({"exec", "-d", "--name", "mine", "s1", "cmd"}), "s1/mine\n");
}

TEST_F(HabitsTest, RunAndExecSayWhereAPublishedPortIs) {
  Output({"create", "--no-workspace"});
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{
           {"run", "-p", "8080:0", "cmd"},
           {"exec", "-p", "8080:0", "s1", "cmd"}}) {
    CorralProcess corral(server_.address(), arguments);
    corral.ReadUntil("three\n");
    corral.Signal(SIGTERM);
    EXPECT_THAT(corral.ReadError(),
                HasSubstr("corral: port 8080 of the sandbox is at 127.0.0.1:"));
    EXPECT_EQ(corral.Wait(), 128 + SIGTERM);
  }
}

TEST_F(HabitsTest, RunAndExecStartNothingIfAPublishedPortIsInUse) {
  const tests::LoopbackListener taken = tests::ListenOnLoopback();
  const std::string port = absl::StrCat("8080:", taken.port);
  Output({"create", "--no-workspace"});
  Output({"run", "-p", port, "cmd"}, 125);
  EXPECT_THAT(error_, HasSubstr("choose another port"));
  Output({"exec", "-p", port, "s1", "cmd"}, 125);
  EXPECT_THAT(error_, HasSubstr("choose another port"));
  EXPECT_THAT(server_.runs(), IsEmpty());
}

TEST_F(HabitsTest, DetachedCommandsRefuseRmInteractiveAndPublish) {
  for (const char* command : {"run", "exec"}) {
    const std::vector<std::string> rest =
        std::string(command) == "exec" ? std::vector<std::string>{"s1", "cmd"}
                                       : std::vector<std::string>{"cmd"};
    if (std::string(command) == "exec") {
      Output({"create", "--no-workspace"});
    }
    for (const char* option : {"--rm", "-i", "--publish=8080:0"}) {
      std::vector<std::string> arguments = {command, "-d", option};
      arguments.insert(arguments.end(), rest.begin(), rest.end());
      Output(arguments, 2);
      EXPECT_THAT(error_, HasSubstr("does not go with --detach"));
    }
  }
  EXPECT_THAT(server_.starts(), IsEmpty());
}

TEST_F(HabitsTest, DetachedCommandsTakeInteractiveWithATerminal) {
  Output({"run", "-d", "-it", "cmd"});
  EXPECT_TRUE(server_.starts().at(0).command().has_terminal());
}

TEST_F(HabitsTest, RunDetachedReportsACommandThatFailsToStart) {
  FailStarts(corral::v1::StartFailure::EXEC, ENOENT);
  EXPECT_EQ(Output({"run", "-d", "nope"}, 127), "");
  EXPECT_EQ(error_,
            "corral: nope: exec failed: No such file or directory (ENOENT)\n");
  EXPECT_THAT(server_.deletions(), ElementsAre(kSandbox));
  FailStarts(corral::v1::StartFailure::EXEC, EACCES);
  Output({"run", "-d", "nope"}, 126);
  FailStarts(corral::v1::StartFailure::CLONE, EAGAIN);
  Output({"run", "-d", "nope"}, 125);
}

TEST_F(HabitsTest, ExecDetachedReportsACommandThatFailsToStart) {
  Output({"create", "--no-workspace"});
  FailStarts(corral::v1::StartFailure::EXEC, ENOENT);
  EXPECT_EQ(Output({"exec", "-d", "s1", "nope"}, 127), "");
  EXPECT_THAT(error_, HasSubstr("nope: exec failed"));
  EXPECT_THAT(server_.deletions(), ElementsAre(kExecution));
}

TEST_F(HabitsTest, RunDetachedLeavesNoSandboxWhenTheStartIsRefused) {
  server_.RefuseStarts(1);
  EXPECT_EQ(Output({"run", "-d", "cmd"}, 125), "");
  EXPECT_THAT(error_, HasSubstr("too many executions"));
  EXPECT_THAT(server_.deletions(), ElementsAre(kSandbox));
}

TEST_F(HabitsTest, SaysWhichNameAnExecutionHas) {
  StartOne();
  for (const char* command : {"kill", "logs", "wait", "attach"}) {
    Output({command, "s1"}, 2);
    EXPECT_THAT(error_, HasSubstr("\"s1\" names a sandbox; name one of its "
                                  "executions: s1/EXECUTION"));
  }
}

TEST_F(HabitsTest, RmTakesRecursive) {
  StartOne();
  Output({"rm", "-rf", "s1"});
  EXPECT_THAT(server_.deletions(), ElementsAre(kSandbox));
}

TEST_F(HabitsTest, SaysWhatToUseInstead) {
  Output({"stop", "s1"}, 2);
  EXPECT_THAT(error_, HasSubstr("corral kill SANDBOX/EXECUTION sends SIGTERM"));
  Output({"ls"}, 2);
  EXPECT_THAT(error_, HasSubstr("corral ps"));
  Output({"logs", "-t", "s1/e1"}, 2);
  EXPECT_THAT(error_, HasSubstr("without times"));
  EXPECT_EQ(Output({"-v"}), Output({"--version"}));
  Output({"nosuch\x1b[2J"}, 2);
  EXPECT_THAT(error_, HasSubstr("\"nosuch\\x1b[2J\"; see corral --help"));
}

}  // namespace
}  // namespace bridge

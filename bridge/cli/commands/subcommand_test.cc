// The other commands of corral, the program, against a fake server.

#include <errno.h>
#include <signal.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::tests::FakeExecution;
using ::tests::FakeServer;

constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e1";

// A server with the sandbox s1 and a detached command s1/e1 in it, which prints
// and waits for a signal.
class SubcommandTest : public ::testing::Test {
 protected:
  SubcommandTest()
      : server_([](FakeExecution& command) {
          command.CatchSignals();
          command.Write(corral::v1::STDOUT, "0123456789");
          command.Write(corral::v1::STDERR, "oops");
          command.SetExit(command.WaitForSignal());
        }) {
    EXPECT_EQ(Output({"create", "-w", "/tmp"}), "s1\n");
    EXPECT_EQ(Output({"exec", "-d", "s1", "cmd", "arg"}), "s1/e1\n");
  }

  std::string Output(const std::vector<std::string>& arguments,
                     int expected = 0) {
    CorralProcess corral(server_.address(), arguments);
    std::string output = corral.ReadOutput();
    error_ = corral.ReadError();
    EXPECT_EQ(corral.Wait(), expected) << error_;
    return output;
  }

  FakeServer server_;
  std::string error_;  // of the last one
};

TEST_F(SubcommandTest, DetachedCommandsNeverWaitForAReader) {
  const auto command = server_.starts().at(0).command();
  EXPECT_NE(command.output().overflow(), corral::v1::OutputPolicy::BLOCK);
  EXPECT_FALSE(command.stdin());
}

TEST_F(SubcommandTest, CreateMakesOneSandboxIfTheAnswerIsLost) {
  server_.LoseAnswers(1);
  EXPECT_EQ(Output({"create", "--no-workspace"}), "s2\n");
  EXPECT_EQ(Output({"create", "--no-workspace"}), "s3\n");
}

TEST_F(SubcommandTest, DetachedCommandsStartOnceIfTheAnswerIsLost) {
  server_.LoseAnswers(1);
  EXPECT_EQ(Output({"exec", "-d", "s1", "cmd"}), "s1/e2\n");
  server_.LoseAnswers(1);
  EXPECT_EQ(Output({"run", "-d", "cmd"}), "s2/e1\n");
}

TEST_F(SubcommandTest, ExecRunsInASandboxThatExistsAndDeletesTheExecution) {
  EXPECT_EQ(server_.starts().at(0).parent(), "tenants/default/sandboxes/s1");
  CorralProcess corral(server_.address(), {"exec", "s1", "--", "x"});
  corral.ReadUntil("9");
  corral.Signal(SIGQUIT);
  EXPECT_EQ(corral.Wait(), SIGQUIT);
  EXPECT_EQ(server_.runs().at(0).parent(), "tenants/default/sandboxes/s1");
  EXPECT_THAT(
      server_.deletions(),
      ::testing::ElementsAre("tenants/default/sandboxes/s1/executions/e2"));
}

TEST_F(SubcommandTest, ExecSaysThatThereIsNoSuchSandbox) {
  Output({"exec", "s9", "true"}, 125);
  EXPECT_THAT(error_, HasSubstr("s9"));
}

TEST_F(SubcommandTest, PsListsSandboxesAndExecutions) {
  EXPECT_THAT(Output({"ps"}),
              AllOf(ContainsRegex("NAME  *STATE  *AGE  *COMMAND\n"),
                    ContainsRegex("s1  *ready  *[0-9]*s  *\\[/tmp\\]\n"),
                    ContainsRegex("s1/e1  *running  *[0-9]*s  *cmd arg\n")));
}

TEST_F(SubcommandTest, CreateAndExecPrintJson) {
  EXPECT_THAT(Output({"create", "--no-workspace", "--json"}),
              StartsWith("{\"name\":\"tenants/default/sandboxes/s2\""));
  EXPECT_THAT(
      Output({"exec", "-d", "--json", "s2", "cmd"}),
      StartsWith("{\"name\":\"tenants/default/sandboxes/s2/executions/e1\""));
  Output({"exec", "--json", "s2", "cmd"}, 2);
  EXPECT_THAT(error_, HasSubstr("--json goes with --detach only"));
}

TEST_F(SubcommandTest, PsPrintsJson) {
  EXPECT_THAT(
      Output({"ps", "--json"}),
      AllOf(HasSubstr("{\"sandboxes\":[{\"name\":"),
            HasSubstr("\"create_time\":"), HasSubstr("\"executions\":[{")));
}

TEST_F(SubcommandTest, LogsAndAttachReportExpiredOutput) {
  Output({"kill", "-s", "7", "s1/e1"});
  Output({"wait", "s1/e1"}, 7);
  server_.FindExecution(kExecution)->Expire();
  EXPECT_EQ(Output({"logs", "s1/e1"}, 125), "");
  EXPECT_THAT(error_,
              HasSubstr("the output of s1/e1 has expired: all 10 bytes"));
  EXPECT_EQ(Output({"attach", "s1/e1"}, 7), "");
  EXPECT_EQ(error_, "corral: its output has expired\n");
}

TEST_F(SubcommandTest, LogsReportOutputThatIsNoLongerKept) {
  EXPECT_EQ(Output({"exec", "-d", "--overflow", "block", "s1", "cmd"}),
            "s1/e2\n");
  const auto execution =
      server_.FindExecution("tenants/default/sandboxes/s1/executions/e2");
  execution->WaitForOutput(corral::v1::STDOUT, 10);
  execution->Acknowledge(corral::v1::STDOUT, 4);
  EXPECT_EQ(Output({"logs", "--stdout", "s1/e2"}), "456789");
  EXPECT_EQ(error_, "corral: bytes 0 to 4 of stdout are no longer kept\n");
}

TEST_F(SubcommandTest, LogsPrintsTheOutputSoFar) {
  EXPECT_EQ(Output({"logs", "s1/e1"}), "0123456789");
  EXPECT_EQ(error_, "oops");
  EXPECT_EQ(Output({"logs", "--stderr", "s1/e1"}), "");
  EXPECT_EQ(error_, "oops");
  EXPECT_EQ(Output({"logs", "--stdout", "--from", "7", kExecution}), "789");
}

TEST_F(SubcommandTest, LogsFollowsToTheEnd) {
  CorralProcess logs(server_.address(), {"logs", "-f", "s1/e1"});
  logs.ReadUntil("9");
  Output({"kill", "s1/e1"});
  EXPECT_EQ(logs.Wait(), 0);
}

// Starts s1/e1 as a program would that keeps what failed to start.
void Start(const FakeServer& server) {
  const auto executions =
      corral::v1::ExecutionService::NewStub(grpc::CreateChannel(
          server.address(), grpc::InsecureChannelCredentials()));
  corral::v1::StartExecutionRequest request;
  request.set_parent("tenants/default/sandboxes/s1");
  request.mutable_command()->add_argv("cmd");
  grpc::ClientContext context;
  corral::v1::Execution started;
  EXPECT_TRUE(executions->StartExecution(&context, request, &started).ok());
}

// The outcome of logs -f for a command that runs `script`.
std::string LogsOf(const FakeExecution::Script& script,
                   const std::optional<corral::v1::StartFailure>& failure) {
  FakeServer server(script);
  if (failure.has_value()) {
    server.FailStarts(*failure);
  }
  CorralProcess(server.address(), {"create", "--no-workspace"}).Wait();
  Start(server);
  CorralProcess logs(server.address(), {"logs", "-f", "s1/e1"});
  const std::string output = logs.ReadOutput();
  const std::string error = logs.ReadError();
  return absl::StrCat(logs.Wait(), "|", output, "|", error);
}

TEST(LogsTest, SaysWhenTheEndIsNotKnown) {
  const auto script = [](FakeExecution& command) {
    command.Print("so far");
    command.SetLost();
  };
  EXPECT_THAT(LogsOf(script, std::nullopt),
              AllOf(StartsWith("125|so far|"),
                    HasSubstr("how the command ended is not known")));
}

TEST(LogsTest, SaysWhenTheCommandNeverBegan) {
  corral::v1::StartFailure failure;
  failure.set_stage(corral::v1::StartFailure::EXEC);
  failure.set_errno_value(ENOENT);
  EXPECT_EQ(LogsOf([](FakeExecution&) {}, failure),
            "127||corral: cmd: exec failed: No such file or directory "
            "(ENOENT)\n");
}

TEST_F(SubcommandTest, LogsRefusesOptionsThatExcludeEachOther) {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--stdout", "--stderr"},
                                             {"--from", "1", "--tail", "1"},
                                             {"--json"},
                                             {"--network", "--stdout"},
                                             {"--network", "--stderr"},
                                             {"--network", "--from", "1"},
                                             {"--network", "--tail", "1"}}) {
    std::vector<std::string> arguments = {"logs"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("s1/e1");
    Output(arguments, 2);
    EXPECT_THAT(error_, ContainsRegex("exclude each other|allows only"));
  }
}

// Starts s1/e1 in a terminal of the server.
void StartInTerminal(const FakeServer& server) {
  CorralProcess(server.address(), {"create", "--no-workspace"}).Wait();
  CorralProcess(server.address(), {"exec", "-d", "-t", "s1", "cmd"}).Wait();
}

void PrintDigits(FakeExecution& command) {
  command.Print("0123456789");
  command.Hang();
}

TEST(LogsTest, SaysThatATerminalHasOneStream) {
  FakeServer server(PrintDigits);
  StartInTerminal(server);
  CorralProcess logs(server.address(), {"logs", "--stderr", "s1/e1"});
  EXPECT_THAT(logs.ReadError(),
              HasSubstr("s1/e1 has no separate standard error"));
  EXPECT_EQ(logs.Wait(), 125);
}

TEST_F(SubcommandTest, AttachBeginsAtAnOffsetOfOneStream) {
  Output({"attach", "--from", "3", "s1/e1"}, 2);
  EXPECT_THAT(error_, HasSubstr("--from counts the bytes of one stream"));
  FakeServer server(PrintDigits);
  StartInTerminal(server);
  CorralProcess attach(server.address(), {"attach", "--from", "7", "s1/e1"});
  EXPECT_EQ(attach.ReadUntil("9"), "789");
}

TEST_F(SubcommandTest, WaitSaysWhyTheCommandEnded) {
  FakeServer server([](FakeExecution& command) {
    command.SetSignalled(SIGKILL, corral::v1::ExitStatus::OUT_OF_MEMORY);
  });
  CorralProcess(server.address(), {"create", "--no-workspace"}).Wait();
  CorralProcess(server.address(), {"exec", "-d", "s1", "cmd"}).Wait();
  CorralProcess wait(server.address(), {"wait", "s1/e1"});
  EXPECT_EQ(wait.ReadError(),
            "corral: out of memory: the sandbox reached its limit (SIGKILL)\n");
  EXPECT_EQ(wait.Wait(), 137);
}

TEST_F(SubcommandTest, KillAndRmGoOnAfterANameThatDoesNotExist) {
  Output({"kill", "s1/e9", "s1/e1"}, 125);
  EXPECT_THAT(error_, HasSubstr("e9"));
  ASSERT_EQ(server_.signals().size(), 2);
  EXPECT_EQ(server_.signals()[1].ShortDebugString(),
            std::string("name: \"") + kExecution + "\" signal: 15 scope: TREE");
  Output({"rm", "s9", "s1"}, 125);
  EXPECT_THAT(error_, HasSubstr("s9"));
  EXPECT_EQ(server_.deletions().back(), "tenants/default/sandboxes/s1");
}

TEST_F(SubcommandTest, NamesTheOptionInPlaceOfTheField) {
  Output({"create", "--no-workspace", "--name", "Not_A_Name"}, 2);
  EXPECT_THAT(error_, StartsWith("corral: --name"));
  Output({"create", "-w", "/sys"}, 2);
  EXPECT_THAT(error_, AllOf(StartsWith("corral: the workspace"),
                            HasSubstr("name another with --workspace DIR")));
}

TEST_F(SubcommandTest, LogsTakesAnOffsetOfOneStreamOnly) {
  Output({"logs", "--from", "7", "s1/e1"}, 2);
  EXPECT_THAT(error_, HasSubstr("--stdout or --stderr"));
}

TEST_F(SubcommandTest, KillSendsASignalAndWaitGivesTheStatus) {
  CorralProcess wait(server_.address(), {"wait", "s1/e1"});
  Output({"kill", "-s", "USR1", "--leader", "s1/e1"});
  EXPECT_EQ(wait.Wait(), SIGUSR1);
  EXPECT_EQ(server_.signals().at(0).scope(),
            corral::v1::SignalExecutionRequest::LEADER);
}

TEST_F(SubcommandTest, WaitGoesOnAfterTheServerWasRestarted) {
  CorralProcess wait(server_.address(), {"wait", "--json", "s1/e1"});
  server_.Stop();
  server_.Start();
  Output({"kill", "s1/e1"});
  EXPECT_THAT(wait.ReadOutput(), HasSubstr("\"state\":\"EXITED\""));
  EXPECT_EQ(wait.Wait(), SIGTERM);
}

TEST_F(SubcommandTest, RmRemovesExecutionsAndSandboxes) {
  Output({"rm", "s1/e1"});
  Output({"rm", "s1"});
  EXPECT_THAT(
      server_.deletions(),
      ::testing::ElementsAre(kExecution, "tenants/default/sandboxes/s1"));
  Output({"rm", "s1"}, 125);
}

TEST_F(SubcommandTest, InfoShowsWhatIsEnforced) {
  EXPECT_THAT(
      Output({"info"}),
      AllOf(ContainsRegex("kernel  *Linux 6.1\n"),
            ContainsRegex("user namespace  *enforced  *yes"),
            ContainsRegex("landlock  *missing  *no  *the kernel has none"),
            ContainsRegex("server  *unix:[^ ]*\n"),
            ContainsRegex("executions  *0\n"),
            ContainsRegex("default limits  *no limit of memory, any number of "
                          "processes, all CPUs\n"),
            Not(HasSubstr("storage failure"))));
  EXPECT_THAT(Output({"info", "--json"}), HasSubstr("\"version\":\"fake\""));
}

TEST_F(SubcommandTest, WrongUsageEndsWithTwoAndNamesWhatIsWrong) {
  const std::vector<std::vector<std::string>> wrong = {
      {"run", "--memory", "12Q", "x"},   {"run", "--pids", "7", "x"},
      {"run", "--cpus", "0", "x"},       {"run", "--timeout", "1y", "x"},
      {"run", "--network", "host", "x"}, {"run", "--env", "=x", "x"},
      {"kill", "-s", "NOPE", "s1/e1"},   {"logs", "--from", "-1", "s1/e1"}};
  for (const auto& arguments : wrong) {
    Output(arguments, 2);
    EXPECT_THAT(error_, AllOf(HasSubstr(arguments[1]), HasSubstr(arguments[2]),
                              HasSubstr("allowed is")));
  }
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"nope"},
                                             {"run"},
                                             {"run", "--nope"},
                                             {"exec"},
                                             {"rm", "A/b/c"},
                                             {"wait", "s1"},
                                             {"logs", "s1/E"},
                                             {"help", "nope"},
                                             {"run", "-w", "/x/../y", "x"},
                                             {"run", "--cwd", "/", "x"},
                                             {"run", "-t", "-T", "x"}}) {
    Output(arguments, 2);
  }
}

TEST_F(SubcommandTest, EachCommandHasHelp) {
  for (const char* name :
       {"run", "create", "exec", "ps", "logs", "wait", "kill", "rm", "info"}) {
    const std::string help = Output({name, "--help"});
    EXPECT_THAT(help, HasSubstr(std::string("Usage: corral ") + name));
    EXPECT_EQ(Output({"help", name}), help);
  }
  EXPECT_THAT(Output({"run", "--help"}), HasSubstr("--publish"));
  EXPECT_THAT(Output({"exec", "--help"}), HasSubstr("--publish"));
  EXPECT_EQ(Output({"help"}), Output({"--help"}));
}

TEST_F(SubcommandTest, SaysThatNoCommandIsGiven) {
  Output({}, 2);
  EXPECT_EQ(error_, "corral: no command is given; see corral --help\n");
  Output({"run", ""}, 2);
  EXPECT_EQ(error_, "corral: no command is given\n");
  EXPECT_THAT(Output({"--version"}), StartsWith("corral "));
}

}  // namespace
}  // namespace bridge

// The server from its start to its end.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/execution_file.h"
#include "tests/integration/integration_test.h"
#include "tests/integration/raw_call.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::STDOUT;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ExecutionStub = Client::ExecutionStub;

constexpr absl::Duration kPollInterval = absl::Milliseconds(10);

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/task/", pid, "/children"));
  return {std::istream_iterator<pid_t>(file), {}};
}

void AwaitNoBusySupervisor(const Corrald& server) {
  while (!server.BusySupervisors().empty()) {
    absl::SleepFor(kPollInterval);
  }
}

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(ConfigurationTest, RefusesAValueOutOfRange) {
  Corrald server("listen: \"unix:/x\"\nmax_sandboxes: 5000\n");
  server.Launch({"--config", server.config_file()});
  EXPECT_EQ(server.Wait(), 2);
  EXPECT_THAT(server.log(),
              AllOf(HasSubstr(server.config_file() + ":2:1"),
                    HasSubstr("max_sandboxes"), HasSubstr("[1, 4096]")));
}

TEST(ConfigurationTest, RefusesUnknownFields) {
  Corrald server("\n  max_sandbox: 5\n");
  server.Launch({"--config", server.config_file()});
  EXPECT_EQ(server.Wait(), 2);
  EXPECT_THAT(server.log(), AllOf(HasSubstr(server.config_file() + ":2:"),
                                  HasSubstr("max_sandbox")));
}

TEST(ConfigurationTest, RefusesTcpWithoutTls) {
  Corrald server;
  server.Launch(
      {"--listen", "127.0.0.1:4433", "--state-dir", server.state_directory()});
  EXPECT_EQ(server.Wait(), 2);
  EXPECT_THAT(server.log(), HasSubstr("TLS"));
}

TEST(ConfigurationTest, IsOverriddenByFlags) {
  Corrald server("listen: \"unix:/nonexistent/socket\" drain_seconds: 0");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  server.End();
}

TEST(IdleServerTest, ExitsByItself) {
  Corrald server("idle_exit_seconds: 1");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  EXPECT_EQ(server.Wait(), 0);
  server.ExpectNothingLeft();
}

TEST(IdleServerTest, ExitsThoughTheDirectoryOfASandboxCannotBeRead) {
  Corrald server("idle_exit_seconds: 1");
  // It cannot be read as a file.
  std::filesystem::create_directories(server.state_directory() +
                                      "/sandboxes/box/spec.pb");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_THAT(server.log(), HasSubstr("are left to the next server"));
}

class ServerTest : public IntegrationTest {};

TEST_F(ServerTest, OnlyItsOwnerCanConnect) {
  EXPECT_EQ(ModeOf(server_.socket_path()), 0600);
  EXPECT_EQ(ModeOf(server_.directory() + "/run"), 0700);
  EXPECT_EQ(ModeOf(server_.state_directory()), 0700);
  // Tried by user nobody, in a directory that everybody may enter.
  RunProgram(
      {"chmod", "711", server_.directory(), server_.directory() + "/run"});
  Process other({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                 "test", "-w", server_.socket_path()});
  EXPECT_EQ(other.Wait(), 1);
}

TEST_F(ServerTest, RefusesASecondServerOnItsStateOrItsSocket) {
  Corrald second;
  second.Launch(
      {"--listen", second.address(), "--state-dir", server_.state_directory()});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_NE(second.log(), "");
  second.Launch(
      {"--listen", server_.address(), "--state-dir", second.state_directory()});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.log(), HasSubstr("another server answers"));
}

TEST_F(ServerTest, StopsOnSigtermAfterSigusr1) {
  server_.Signal(SIGUSR1);
  EXPECT_NE(client_->GetInfo().version(), "");
  client_.reset();
  server_.End();
}

TEST_F(ServerTest, AnswersHealthChecksAndReflection) {
  // HealthCheckResponse{status: SERVING}
  EXPECT_EQ(RawCall(server_.Connect(), "/grpc.health.v1.Health/Check", ""),
            "\x08\x01");
  // ServerReflectionRequest{list_services: "*"}
  EXPECT_THAT(
      RawCall(server_.Connect(),
              "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              "\x3a\x01*"),
      AllOf(HasSubstr("corral.v1.SandboxService"),
            HasSubstr("corral.v1.ExecutionService"),
            HasSubstr("grpc.health.v1.Health")));
}

TEST_F(ServerTest, ListsInPages) {
  const std::string sandbox = CreateSandbox();
  for (const char* id : {"e", "c", "a", "b", "d"}) {
    corral::v1::StartExecutionRequest request;
    request.set_parent(sandbox);
    request.set_execution_id(id);
    *request.mutable_command() = MakeCommand({"true"});
    Execution execution;
    EXPECT_TRUE(
        client_->Call(&ExecutionStub::StartExecution, request, &execution)
            .ok());
    request.mutable_command()->add_argv("another");
    const grpc::Status again =
        client_->Call(&ExecutionStub::StartExecution, request, &execution);
    EXPECT_EQ(Reason(again), "EXECUTION_EXISTS");
  }
  corral::v1::ListExecutionsRequest request;
  request.set_parent(sandbox);
  request.set_page_size(2);
  std::string ids;
  std::vector<int> pages;
  do {
    corral::v1::ListExecutionsResponse page;
    EXPECT_TRUE(
        client_->Call(&ExecutionStub::ListExecutions, request, &page).ok());
    pages.push_back(page.executions_size());
    for (const Execution& execution : page.executions()) {
      ids += execution.name().back();
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(ids, "abcde");
  EXPECT_THAT(pages, ::testing::ElementsAre(2, 2, 1));
}

TEST_F(ServerTest, KilledServerLosesNoCommandNoOutputAndNoEnd) {
  const std::string sandbox = CreateSandbox();
  const auto await = [](const std::string& file) {
    return absl::StrCat("while [ ! -e ", file, " ]; do sleep 0.02; done; ");
  };
  const std::string orphan =
      client_
          ->Start(sandbox, Shell(absl::StrCat("echo before; ", await("orphan"),
                                              "echo after; exit 7")))
          .name();
  const std::string adopted =
      client_->Start(sandbox, Shell("echo one; read x; echo $x; exit 8"))
          .name();
  client_->Stream(orphan)->ReadUntil(STDOUT, "before\n");
  client_->Stream(adopted)->ReadUntil(STDOUT, "one\n");
  client_->WriteInput(adopted, 0, "tw");
  server_.Kill();
  EXPECT_THAT(server_.Supervisors(), ::testing::Not(::testing::IsEmpty()));

  // The command ends while there is no server.
  WriteFile(server_.workspace() + "/orphan", "");
  const std::vector<std::string> parts = absl::StrSplit(orphan, '/');
  const std::string file =
      absl::StrCat(server_.state_directory(), "/sandboxes/", parts.at(3),
                   "/executions/", parts.at(5));
  while (!sandbox::ExecutionRecords::Open(file)->synced()) {
    absl::SleepFor(kPollInterval);
  }

  ASSERT_NO_FATAL_FAILURE(server_.Start());
  client_ = std::make_unique<Client>(server_.Connect());
  EXPECT_EQ(client_->Get(orphan).exit().code(), 7);
  EXPECT_EQ(client_->Get(adopted).state(), Execution::RUNNING);
  EXPECT_EQ(client_->Get(adopted).command().argv(0), "sh");
  client_->WriteInput(adopted, 2, "o\n");
  EXPECT_EQ(client_->Wait(adopted).exit().code(), 8);
  for (const auto& [name, output] : {std::pair(orphan, "before\nafter\n"),
                                     std::pair(adopted, "one\ntwo\n")}) {
    auto call = client_->Stream(name);
    EXPECT_TRUE(call->Finish().ok());
    EXPECT_EQ(call->bytes[STDOUT], output);
  }
  // The sandbox still works.
  EXPECT_EQ(client_->Run(sandbox, Shell("exit 5"))->ended.exit().code(), 5);
}

TEST_F(ServerTest, ReportsLostCommandsAfterItsSupervisorWasKilled) {
  const std::string sandbox = CreateSandbox();
  const std::string ended =
      client_->Run(sandbox, Shell("exit 3"))->opened.name();
  const std::string running =
      client_->Start(sandbox, Shell("echo kept; sleep 1000")).name();
  client_->Stream(running)->ReadUntil(STDOUT, "kept\n");
  server_.KillBusySupervisors();
  EXPECT_EQ(client_->Wait(running).state(), Execution::LOST);
  EXPECT_EQ(client_->Get(running).loss().cause(),
            corral::v1::Loss::SUPERVISOR_DIED);
  EXPECT_EQ(client_->Get(ended).exit().code(), 3);
  auto call = client_->Stream(running);
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->bytes[STDOUT], "kept\n");
  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  *request.mutable_command() = MakeCommand({"true"});
  Execution execution;
  EXPECT_EQ(Reason(client_->Call(&ExecutionStub::StartExecution, request,
                                 &execution)),
            "SANDBOX_NOT_READY");
  client_->DeleteSandbox(sandbox);
  EXPECT_EQ(client_->Run(CreateSandbox(), Shell("exit 4"))->ended.exit().code(),
            4);
}

// Init and the spawner are the first children of a supervisor, in this order.
TEST_F(ServerTest, ReportsLostCommandsAfterInitOrSpawnerDied) {
  for (const size_t victim : {0, 1}) {
    // The death is seen by the server that runs, or found by one that starts
    // later.
    for (const bool seen : {true, false}) {
      const std::string sandbox = CreateSandbox();
      const std::string running =
          client_->Start(sandbox, Shell("echo kept; sleep 1000")).name();
      client_->Stream(running)->ReadUntil(STDOUT, "kept\n");
      const std::vector<pid_t> supervisors = server_.BusySupervisors();
      ASSERT_EQ(supervisors.size(), 1u);
      const pid_t pid = ChildrenOf(supervisors[0]).at(victim);
      if (!seen) {
        server_.Kill();
      }
      ::kill(pid, SIGKILL);
      if (!seen) {
        AwaitNoBusySupervisor(server_);
        ASSERT_NO_FATAL_FAILURE(server_.Start());
        client_ = std::make_unique<Client>(server_.Connect());
      }
      const Execution lost = client_->Wait(running);
      EXPECT_EQ(lost.state(), Execution::LOST);
      EXPECT_FALSE(lost.has_exit());
      EXPECT_EQ(lost.loss().cause(), corral::v1::Loss::SANDBOX_FAILED);
      client_->DeleteSandbox(sandbox);
      AwaitNoBusySupervisor(server_);
    }
  }
}

TEST_F(ServerTest, DeletesAnIdleSandbox) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.mutable_sandbox()
      ->mutable_lifetime()
      ->mutable_idle_timeout()
      ->set_seconds(1);
  const std::string sandbox = client_->CreateSandbox(request);
  // Runs longer than the idle timeout.
  EXPECT_EQ(
      client_->Run(sandbox, MakeCommand({"sleep", "1.5"}))->ended.exit().code(),
      0);
  corral::v1::ListSandboxesRequest list;
  list.set_parent(kTenant);
  corral::v1::ListSandboxesResponse page;
  do {
    page.Clear();
    EXPECT_TRUE(
        client_->Call(&Client::SandboxStub::ListSandboxes, list, &page).ok());
  } while (page.sandboxes_size() != 0);
}

TEST(DrainTest, FinishesRunningCommandsAndRefusesNewOnes) {
  Corrald server("drain_seconds: 600");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  Client client(server.Connect());
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  const std::string sandbox = client.CreateSandbox(create);
  const std::string name =
      client.Start(sandbox, Shell("echo up; read x; echo $x; exit 6")).name();
  auto call = client.Stream(name);
  call->ReadUntil(STDOUT, "up\n");

  server.Signal(SIGTERM);
  while (!client.GetInfo().draining()) {
    absl::SleepFor(kPollInterval);
  }
  corral::v1::StartExecutionRequest start;
  start.set_parent(sandbox);
  *start.mutable_command() = MakeCommand({"true"});
  Execution execution;
  corral::v1::Sandbox created;
  for (const grpc::Status& refused :
       {client.Call(&ExecutionStub::StartExecution, start, &execution),
        client.Call(&Client::SandboxStub::CreateSandbox, create, &created)}) {
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Reason(refused), "SERVER_DRAINING");
    EXPECT_TRUE(SaysWhenToRetry(refused));
  }
  EXPECT_EQ(RawCall(server.Connect(), "/grpc.health.v1.Health/Check", ""),
            "\x08\x02");
  client.WriteInput(name, 0, "done\n");
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->bytes[STDOUT], "up\ndone\n");
  EXPECT_EQ(call->ended.exit().code(), 6);
  EXPECT_EQ(server.Wait(), 0);
  server.ExpectNothingLeft();
}

TEST(DrainTest, SecondSignalEndsTheDrain) {
  Corrald server("drain_seconds: 600");
  ASSERT_NO_FATAL_FAILURE(server.Start());
  Client client(server.Connect());
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  const std::string name =
      client.Start(client.CreateSandbox(create), MakeCommand({"sleep", "1000"}))
          .name();
  auto call = client.Stream(name);
  ASSERT_TRUE(call->Next());
  server.Signal(SIGTERM);
  while (!client.GetInfo().draining()) {
    absl::SleepFor(kPollInterval);
  }
  server.Signal(SIGTERM);
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(call->ended.exit().signal(), SIGKILL);
  EXPECT_EQ(call->ended.exit().cause(),
            corral::v1::ExitStatus::SERVER_SHUTDOWN);
  EXPECT_EQ(server.Wait(), 0);
  server.ExpectNothingLeft();
}

}  // namespace
}  // namespace tests

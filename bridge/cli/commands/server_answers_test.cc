// corral, the program, and answers that the fake server never gives.

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::Execution;
using corral::v1::OutputEvent;
using google::protobuf::Empty;
using grpc::ServerContext;
using grpc::Status;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSandbox[] = "tenants/default/sandboxes/s1";

std::string NameOf(int number) {
  return absl::StrCat(kSandbox, "/executions/e", number);
}

// Executions and sandboxes are deleted with these results; OK by default.
struct Deletions {
  Status Delete(const std::string& name) {
    names.push_back(name);
    return results[name];
  }

  std::map<std::string, Status> results;
  std::vector<std::string> names;
};

class Sandboxes : public corral::v1::SandboxService::Service {
 public:
  explicit Sandboxes(Deletions& deletions) : deletions_(deletions) {
    sandbox.set_name(kSandbox);
  }

  Status CreateSandbox(ServerContext*, const corral::v1::CreateSandboxRequest*,
                       corral::v1::Sandbox* response) override {
    *response = sandbox;
    return Status::OK;
  }
  Status GetSandbox(ServerContext*, const corral::v1::GetSandboxRequest*,
                    corral::v1::Sandbox* response) override {
    *response = sandbox;
    return Status::OK;
  }
  Status ListSandboxes(ServerContext*, const corral::v1::ListSandboxesRequest*,
                       corral::v1::ListSandboxesResponse* response) override {
    *response->add_sandboxes() = sandbox;
    return Status::OK;
  }
  Status DeleteSandbox(ServerContext*,
                       const corral::v1::DeleteSandboxRequest* request,
                       Empty*) override {
    return deletions_.Delete(request->name());
  }
  Status AllowHosts(ServerContext*, const corral::v1::AllowHostsRequest*,
                    corral::v1::Sandbox*) override {
    return {grpc::StatusCode::PERMISSION_DENIED, "not this one"};
  }

  corral::v1::Sandbox sandbox;

 private:
  Deletions& deletions_;
};

// Every execution is the first of `executions`.
class Executions : public corral::v1::ExecutionService::Service {
 public:
  explicit Executions(Deletions& deletions) : deletions_(deletions) {}

  Status StartExecution(ServerContext*,
                        const corral::v1::StartExecutionRequest*,
                        Execution* response) override {
    *response = executions.executions(0);
    return Status::OK;
  }
  Status RunExecution(ServerContext*, const corral::v1::RunExecutionRequest*,
                      grpc::ServerWriter<OutputEvent>* writer) override {
    return Stream(writer);
  }
  Status StreamOutput(ServerContext*, const corral::v1::StreamOutputRequest*,
                      grpc::ServerWriter<OutputEvent>* writer) override {
    return Stream(writer);
  }
  Status GetExecution(ServerContext*, const corral::v1::GetExecutionRequest*,
                      Execution* response) override {
    *response = executions.executions(0);
    return Status::OK;
  }
  Status ListExecutions(ServerContext*,
                        const corral::v1::ListExecutionsRequest*,
                        corral::v1::ListExecutionsResponse* response) override {
    *response = executions;
    return Status::OK;
  }
  Status WaitExecution(ServerContext*, const corral::v1::WaitExecutionRequest*,
                       Execution* response) override {
    *response = waits.front();
    waits.pop_front();
    return Status::OK;
  }
  Status DeleteExecution(ServerContext*,
                         const corral::v1::DeleteExecutionRequest* request,
                         Empty*) override {
    return deletions_.Delete(request->name());
  }

  corral::v1::ListExecutionsResponse executions;
  // The answers to WaitExecution.
  std::deque<Execution> waits;
  // The events of a stream; without any, there is none.
  std::vector<OutputEvent> events;

 private:
  Status Stream(grpc::ServerWriter<OutputEvent>* writer) const {
    for (const OutputEvent& event : events) {
      writer->Write(event);
    }
    return events.empty() ? Status(grpc::StatusCode::INTERNAL, "no stream")
                          : Status::OK;
  }

  Deletions& deletions_;
};

class Admin : public corral::v1::AdminService::Service {
 public:
  Status GetServerInfo(ServerContext*, const corral::v1::GetServerInfoRequest*,
                       corral::v1::ServerInfo* response) override {
    *response = info;
    return Status::OK;
  }

  corral::v1::ServerInfo info;
};

class ServerAnswersTest : public ::testing::Test {
 protected:
  ServerAnswersTest() {
    char directory[] = "/tmp/server_answers_test.XXXXXX";
    directory_ = ::mkdtemp(directory);
    address_ = absl::StrCat("unix:", directory_, "/socket");
    server_ = grpc::ServerBuilder()
                  .AddListeningPort(address_, grpc::InsecureServerCredentials())
                  .RegisterService(&sandboxes_)
                  .RegisterService(&executions_)
                  .RegisterService(&admin_)
                  .BuildAndStart();
  }
  ~ServerAnswersTest() override {
    server_->Shutdown();
    ::unlink((directory_ + "/socket").c_str());
    ::rmdir(directory_.c_str());
  }

  // Adds the next execution, which is not kept by its creator.
  Execution& Add(Execution::State state) {
    Execution& execution = *executions_.executions.add_executions();
    execution.set_name(NameOf(executions_.executions.executions_size()));
    execution.set_state(state);
    execution.mutable_command()->add_argv("cmd");
    return execution;
  }
  void AddFailure() {
    corral::v1::StartFailure& failure =
        *Add(Execution::FAILED_TO_START).mutable_start_failure();
    failure.set_stage(corral::v1::StartFailure::EXEC);
    failure.set_errno_value(ENOENT);
  }
  void AddEvent(const OutputEvent& event) {
    executions_.events.push_back(event);
  }
  // The first execution begins or ends.
  void AddOpened() {
    OutputEvent event;
    *event.mutable_opened() = executions_.executions.executions(0);
    AddEvent(event);
  }
  void AddEnded() {
    OutputEvent event;
    *event.mutable_ended() = executions_.executions.executions(0);
    event.mutable_ended()->set_state(Execution::EXITED);
    event.mutable_ended()->mutable_exit()->set_code(0);
    AddEvent(event);
  }
  void RefuseDeletion(const std::string& name) {
    deletions_.results[name] = {grpc::StatusCode::PERMISSION_DENIED,
                                "not this one"};
  }

  std::string Output(const std::vector<std::string>& arguments,
                     int expected = 0) {
    CorralProcess corral(address_, arguments);
    std::string output = corral.ReadOutput();
    error_ = corral.ReadError();
    EXPECT_EQ(corral.Wait(), expected) << error_;
    return output;
  }

  Deletions deletions_;
  Sandboxes sandboxes_{deletions_};
  Executions executions_{deletions_};
  Admin admin_;
  std::string directory_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  std::string error_;  // of the last Output()
};

TEST_F(ServerAnswersTest, InfoShowsLimitsServicesAndWhatFails) {
  admin_.info.set_draining(true);
  admin_.info.mutable_default_limits()->set_memory_bytes(512 << 20);
  admin_.info.mutable_default_limits()->set_pids(100);
  admin_.info.mutable_default_limits()->set_cpu_millis(1500);
  admin_.info.mutable_default_limits()->set_file_bytes(uint64_t{2} << 30);
  admin_.info.mutable_default_limits()->set_disk_bytes_per_second(1 << 20);
  admin_.info.mutable_default_limits()->set_disk_operations_per_second(20);
  admin_.info.mutable_default_limits()->set_disk_bytes(3 << 20);
  admin_.info.mutable_default_limits()->set_disk_inodes(50);
  admin_.info.add_egress_services("model");
  admin_.info.add_egress_services("forge");
  admin_.info.set_storage_failure("the disk is full");
  EXPECT_THAT(
      Output({"info"}),
      AllOf(ContainsRegex("server  *unix:[^ ]* \\(shutting down\\)\n"),
            ContainsRegex(
                "default limits  *512 MiB of memory, 100 processes, "
                "1.5 CPUs, files of at most 2 GiB, 1 MiB of each disk in "
                "a second, 20 operations of each disk in a second, 3 MiB in "
                "each workspace, 50 files in each workspace\n"),
            ContainsRegex("services  *model, forge\n"),
            ContainsRegex("storage failure  *the disk is full\n")));
}

TEST_F(ServerAnswersTest, InfoCountsSandboxesAndExecutions) {
  admin_.info.set_version("1.2");
  admin_.info.set_sandboxes(2);
  admin_.info.set_executions(3);
  EXPECT_THAT(
      Output({"info"}),
      AllOf(ContainsRegex("version  *1[.]2\n"),
            ContainsRegex("sandboxes  *2\n"), ContainsRegex("executions  *3\n"),
            ContainsRegex("ISOLATION  *STATE  *REQUIRED  *DETAIL\n"),
            Not(HasSubstr("services"))));
}

TEST_F(ServerAnswersTest, InfoUnderstandsAServerWithoutStates) {
  corral::v1::IsolationFeature* feature = admin_.info.add_isolation();
  feature->set_name("seccomp");
  feature->set_enforced(true);
  feature->set_required(true);
  admin_.info.add_isolation()->set_name("landlock");
  feature = admin_.info.add_isolation();
  feature->set_name("cgroup");
  feature->set_state(corral::v1::IsolationFeature::DEGRADED);
  EXPECT_THAT(Output({"info"}), AllOf(ContainsRegex("seccomp  *enforced  *yes"),
                                      ContainsRegex("landlock  *missing  *no"),
                                      ContainsRegex("cgroup  *degraded  *no")));
}

TEST_F(ServerAnswersTest, PsShowsHowOldEachIs) {
  const int64_t now = ::time(nullptr);
  // Some minutes short of the next hour.
  sandboxes_.sandbox.mutable_create_time()->set_seconds(now - 51 * 3600 + 900);
  sandboxes_.sandbox.set_state(corral::v1::Sandbox::READY);
  Add(Execution::STARTING)
      .mutable_create_time()
      ->set_seconds(now - 3 * 3600 - 15 * 60 - 30);
  EXPECT_THAT(Output({"ps"}),
              AllOf(ContainsRegex("s1  *ready  *2d2h  *\\[no workspace\\]\n"),
                    ContainsRegex("s1/e1  *starting  *3h1[56]m  *cmd\n")));
}

TEST_F(ServerAnswersTest, PruneGoesOnAfterADeletionThatIsRefused) {
  Add(Execution::STARTING);
  Add(Execution::RUNNING);
  Add(Execution::EXITED);
  Add(Execution::EXITED);
  Add(Execution::LOST);
  RefuseDeletion(NameOf(3));
  // Its retention was quicker.
  deletions_.results[NameOf(4)] = {grpc::StatusCode::NOT_FOUND, "none"};
  EXPECT_EQ(Output({"prune"}, 125), "s1/e4\ns1/e5\n");
  EXPECT_EQ(error_, "corral: not this one\n");
  EXPECT_THAT(deletions_.names, ElementsAre(NameOf(3), NameOf(4), NameOf(5)));
}

TEST_F(ServerAnswersTest, AllowReportsARefusal) {
  EXPECT_EQ(Output({"allow", "s1", "a.example"}, 125), "");
  EXPECT_EQ(error_, "corral: not this one\n");
}

TEST_F(ServerAnswersTest, RmForceReportsADeletionThatIsRefused) {
  RefuseDeletion(kSandbox);
  Output({"rm", "-f", "s1"}, 125);
  EXPECT_EQ(error_, "corral: not this one\n");
}

TEST_F(ServerAnswersTest, WaitGoesOnWhileTheCommandIsStarted) {
  Execution execution;
  execution.set_state(Execution::STARTING);
  executions_.waits.push_back(execution);
  execution.set_state(Execution::EXITED);
  execution.mutable_exit()->set_code(5);
  executions_.waits.push_back(execution);
  EXPECT_EQ(Output({"wait", "s1/e1"}, 5), "");
}

TEST_F(ServerAnswersTest, RunSaysThatItsSandboxIsLeft) {
  Add(Execution::RUNNING);
  AddOpened();
  AddEnded();
  RefuseDeletion(kSandbox);
  EXPECT_EQ(Output({"run", "cmd"}), "");
  EXPECT_EQ(error_,
            "corral: s1 could not be deleted; the server will delete it later: "
            "not this one\n");
}

TEST_F(ServerAnswersTest, DetachedCommandsSayWhatIsLeft) {
  AddFailure();
  RefuseDeletion(kSandbox);
  Output({"run", "-d", "cmd"}, 127);
  EXPECT_EQ(error_,
            "corral: s1 could not be deleted: not this one\n"
            "corral: cmd: exec failed: No such file or directory (ENOENT)\n");
  RefuseDeletion(NameOf(1));
  Output({"exec", "-d", "s1", "cmd"}, 127);
  EXPECT_EQ(error_,
            "corral: cmd: exec failed: No such file or directory (ENOENT)\n"
            "corral: s1/e1 could not be deleted: not this one\n");
}

TEST_F(ServerAnswersTest, DetachedCommandsSayNothingAboutWhatIsGone) {
  AddFailure();
  deletions_.results[kSandbox] = {grpc::StatusCode::NOT_FOUND, "none"};
  Output({"run", "-d", "cmd"}, 127);
  EXPECT_EQ(error_,
            "corral: cmd: exec failed: No such file or directory (ENOENT)\n");
  EXPECT_THAT(deletions_.names, ElementsAre(kSandbox));
}

TEST_F(ServerAnswersTest, LogsAsksForNoStreamWhereThereWasNone) {
  AddFailure();
  EXPECT_EQ(Output({"logs", "s1/e1"}, 127), "");
  EXPECT_EQ(error_,
            "corral: cmd: exec failed: No such file or directory (ENOENT)\n");
}

TEST_F(ServerAnswersTest, AttachShowsQuestionsWhereTheServerHasNoScreens) {
  Execution& execution = Add(Execution::RUNNING);
  execution.mutable_command()->mutable_terminal()->set_rows(24);
  execution.add_streams()->set_stream(corral::v1::TERMINAL);
  AddOpened();
  OutputEvent event;
  event.mutable_chunk()->set_stream(corral::v1::TERMINAL);
  event.mutable_chunk()->set_data("a\x1b[6nb");
  AddEvent(event);
  AddEnded();
  EXPECT_EQ(Output({"attach", "s1/e1"}), "a\x1b[6nb");
}

}  // namespace
}  // namespace bridge

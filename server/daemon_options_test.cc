// Tests of what a whole server makes of its configuration.

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/isolation.h"
#include "server/daemon.h"
#include "server/daemon_fixture.h"
#include "server/net/listener.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::IsOk;

using DaemonOptionsTest = DaemonFixture;

TEST_F(DaemonOptionsTest, KeepsAsManyEndedExecutionsAsConfigured) {
  config_.set_max_ended_executions(1);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  const auto stub = corral::v1::ExecutionService::NewStub(Connect());
  corral::v1::StartExecutionRequest start;
  start.set_parent("tenants/default/sandboxes/box");
  start.mutable_command()->add_argv("true");
  for (const char* id : {"one", "two"}) {
    start.set_execution_id(id);
    grpc::ClientContext context;
    corral::v1::Execution execution;
    ASSERT_TRUE(stub->StartExecution(&context, start, &execution).ok());
    factory_.Exit(execution.name(), 0);
  }
  corral::v1::ListExecutionsRequest list;
  list.set_parent(start.parent());
  corral::v1::ListExecutionsResponse kept;
  do {
    grpc::ClientContext context;
    ASSERT_TRUE(stub->ListExecutions(&context, list, &kept).ok());
  } while (kept.executions_size() > 1);
  ASSERT_EQ(kept.executions_size(), 1);
  EXPECT_THAT(kept.executions(0).name(), HasSubstr("/two"));
}

TEST_F(DaemonOptionsTest, BoundsTheProcessesOfAllSandboxes) {
  config_.set_max_pids(4100);
  Serve();
  ASSERT_TRUE(Create("one").ok());
  // The default is 4096 processes for each.
  EXPECT_THAT(Create("two").error_message(), HasSubstr("processes"));
}

TEST_F(DaemonOptionsTest, BoundsTheMemoryOfAllSandboxes) {
  config_.set_max_memory_bytes(100 << 20);
  Serve();
  ASSERT_TRUE(Create("one", "limits { memory_bytes: 60000000 }").ok());
  EXPECT_THAT(
      Create("two", "limits { memory_bytes: 60000000 }").error_message(),
      HasSubstr("memory"));
}

TEST_F(DaemonOptionsTest, BoundsTheOutputOfAllCommands) {
  config_.set_max_output_bytes(uint64_t{12} << 20);
  Serve();
  ASSERT_TRUE(Create("one", "limits { output_bytes: 8388608 }").ok());
  EXPECT_THAT(Create("two", "limits { output_bytes: 8388608 }").error_message(),
              HasSubstr("output"));
}

TEST_F(DaemonOptionsTest, BoundsTheNumbersOfSandboxesAndCommands) {
  config_.set_max_sandboxes(1);
  config_.set_max_executions_per_sandbox(1);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  EXPECT_THAT(Create("two").error_message(), HasSubstr("at most 1 sandboxes"));
  ASSERT_TRUE(StartCommand("one").ok());
  EXPECT_THAT(StartCommand("two").error_message(),
              HasSubstr("at most 1 executions"));
}

TEST_F(DaemonOptionsTest, HoldsRequestsToTheCeilings) {
  config_.mutable_ceilings()->mutable_limits()->set_pids(100);
  config_.mutable_ceilings()->set_wall_timeout_seconds(5);
  Serve();
  EXPECT_THAT(Create("box", "limits { pids: 101 }").error_message(),
              HasSubstr("sandbox.limits.pids"));
  ASSERT_TRUE(Create("box", "limits { pids: 100 }").ok());
  EXPECT_THAT(StartCommand("one", "argv: 'true' wall_timeout { seconds: 6 }")
                  .error_message(),
              HasSubstr("command.wall_timeout"));
}

TEST_F(DaemonOptionsTest, GivesOnlyProtectionsThatTheHostEnforces) {
  Serve();
  EXPECT_TRUE(Create("one", "required_protections: 'seccomp'").ok());
  EXPECT_FALSE(Create("two", "required_protections: 'landlock'").ok());
}

TEST_F(DaemonOptionsTest, LendsOnlyWhatLiesInTheRoots) {
  config_.add_workspace_roots(path_);
  auto* const tools = config_.add_mount_roots();
  tools->set_path("/tmp");
  Serve();
  std::filesystem::create_directory(path_ + "/work");
  EXPECT_TRUE(
      Create("a", absl::StrCat("workspace { path: '", path_, "/work' }")).ok());
  EXPECT_THAT(Create("b", "workspace { path: '/tmp' }").error_message(),
              HasSubstr("workspace_roots: " + path_));
  EXPECT_THAT(
      Create("b", absl::StrCat("workspace { path: '", path_, "/state' }"))
          .error_message(),
      HasSubstr("the server's state_dir"));
  EXPECT_THAT(Create("b", absl::StrCat("workspace { path: '", path_, "/run' }"))
                  .error_message(),
              HasSubstr("the server's socket"));
  EXPECT_THAT(
      Create("b", "mounts { source: '/var/tmp' target: '/x' }").error_message(),
      HasSubstr(absl::StrCat("mount_roots: ", path_, ", /tmp (read-only)")));
  const std::string other = path_ + "_other";
  std::filesystem::create_directory(other);
  const std::string mount =
      absl::StrCat("mounts { source: '", other, "' target: '/x' ");
  EXPECT_TRUE(Create("b", mount + "}").ok());
  EXPECT_THAT(Create("c", mount + "writable: true }").error_message(),
              HasSubstr("sandbox.mounts[0].source"));
  std::filesystem::remove(other);
}

TEST_F(DaemonOptionsTest, LendsALocalUserAllButTheSystemWithoutRoots) {
  Serve();
  std::filesystem::create_directory(path_ + "/work");
  EXPECT_TRUE(
      Create("a", absl::StrCat("workspace { path: '", path_, "/work' }")).ok());
  EXPECT_THAT(Create("b", "workspace { path: '/var/lib' }").error_message(),
              HasSubstr(::geteuid() == 0 ? "not of the system" : "may write"));
}

TEST_F(DaemonOptionsTest, LendsNothingToRemoteUsersWithoutRoots) {
  // Clients of this server come over the socket all the same.
  auto remote = config_;
  remote.set_listen("localhost:1");
  daemon_ =
      std::make_unique<Daemon>(remote, std::vector<sandbox::IsolationFeature>(),
                               &factory_, state_.get());
  listener_ = Listener::Prepare(config_).value();
  ASSERT_THAT(listener_->Listen(), IsOk());
  ASSERT_THAT(daemon_->Start(listener_.get()), IsOk());
  std::filesystem::create_directory(path_ + "/work");
  EXPECT_THAT(
      Create("a", absl::StrCat("workspace { path: '", path_, "/work' }"))
          .error_message(),
      HasSubstr("names no workspace_roots"));
}

TEST_F(DaemonOptionsTest, NamesTheServicesThatItOffers) {
  auto* const service = config_.mutable_egress()->add_services();
  service->set_name("model");
  service->set_upstream("api.example");
  service->set_header("x-api-key");
  service->set_value_file("/key");
  Serve();
  EXPECT_THAT(Info().egress_services(), ElementsAre("model"));
}

TEST_F(DaemonOptionsTest, BoundsTheInputThatWaits) {
  config_.set_max_waiting_input_bytes(10);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  ASSERT_TRUE(StartCommand("job", "argv: 'true' stdin: true").ok());
  corral::v1::WriteInputRequest request;
  request.set_name(NameOf("job"));
  request.set_data("more than ten bytes");
  grpc::ClientContext context;
  corral::v1::InputState response;
  const grpc::Status refused =
      corral::v1::ExecutionService::NewStub(Connect())->WriteInput(
          &context, request, &response);
  EXPECT_THAT(refused.error_message(), HasSubstr("of the 10 bytes of input"));
}

TEST_F(DaemonOptionsTest, BoundsTheCallsThatWait) {
  config_.set_max_waiting_calls(1);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  const auto stub = corral::v1::ExecutionService::NewStub(Connect());
  corral::v1::RunExecutionRequest request;
  request.set_parent("tenants/default/sandboxes/box");
  request.mutable_command()->add_argv("true");
  grpc::ClientContext first;
  const auto stream = stub->RunExecution(&first, request);
  corral::v1::OutputEvent event;
  ASSERT_TRUE(stream->Read(&event));
  grpc::ClientContext second;
  const auto refused = stub->RunExecution(&second, request);
  EXPECT_FALSE(refused->Read(&event));
  EXPECT_EQ(refused->Finish().error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  first.TryCancel();
  stream->Finish();
}

TEST_F(DaemonOptionsTest, EndsWhenNobodyHasUsedItForAsLongAsConfigured) {
  config_.set_idle_exit_seconds(1);
  Serve();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kEnded);
}

}  // namespace
}  // namespace server

// SandboxService and drain, from a client's side.

#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "server/core/workspace_checks.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::tests::FakeSupervisor;

class SandboxServiceTest : public ServerFixture {
 protected:
  grpc::Status Create(const corral::v1::CreateSandboxRequest& request,
                      corral::v1::Sandbox* response) {
    return Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, request,
                response);
  }

  grpc::Status GetBox(const std::string& name, corral::v1::Sandbox* response) {
    corral::v1::GetSandboxRequest request;
    request.set_name(name);
    return Call(sandbox_stub_.get(), &SandboxStub::GetSandbox, request,
                response);
  }

  grpc::Status Delete(const std::string& name) {
    corral::v1::DeleteSandboxRequest request;
    request.set_name(name);
    google::protobuf::Empty response;
    return Call(sandbox_stub_.get(), &SandboxStub::DeleteSandbox, request,
                &response);
  }

  static corral::v1::CreateSandboxRequest Request() {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    return request;
  }
};

TEST_F(SandboxServiceTest, AnswersWithWhatIsEnforced) {
  corral::v1::CreateSandboxRequest request = Request();
  request.set_sandbox_id("box");
  request.mutable_sandbox()->mutable_workspace()->set_path("/usr/src/");
  request.mutable_sandbox()->mutable_limits()->set_pids(50);
  corral::v1::Sandbox sandbox;
  ASSERT_TRUE(Create(request, &sandbox).ok());
  EXPECT_EQ(sandbox.name(), "tenants/default/sandboxes/box");
  EXPECT_EQ(sandbox.state(), corral::v1::Sandbox::READY);
  EXPECT_EQ(sandbox.workspace().path(), "/usr/src");
  EXPECT_EQ(sandbox.limits().pids(), 50);
  EXPECT_EQ(sandbox.network(), corral::v1::Sandbox::NONE);
  // It stays although nobody watches a command.
  EXPECT_FALSE(sandboxes_->registry().Find("box")->spec().ephemeral());
  request.mutable_sandbox()->mutable_limits()->set_pids(51);
  EXPECT_EQ(Reason(Create(request, &sandbox)), "SANDBOX_EXISTS");
}

TEST_F(SandboxServiceTest, RefusesARequestWithAnInvalidField) {
  corral::v1::Sandbox sandbox;
  corral::v1::CreateSandboxRequest request = Request();
  request.set_parent("tenants/other");
  EXPECT_EQ(Field(Create(request, &sandbox)), "parent");
  request = Request();
  request.set_sandbox_id("-");
  EXPECT_EQ(Field(Create(request, &sandbox)), "sandbox_id");
  request = Request();
  request.mutable_sandbox()->mutable_workspace()->set_path("work");
  EXPECT_EQ(Field(Create(request, &sandbox)), "sandbox.workspace.path");
  request = Request();
  request.mutable_sandbox()->mutable_limits()->set_cpu_millis(1ULL << 63);
  EXPECT_EQ(Field(Create(request, &sandbox)), "sandbox.limits.cpu_millis");
  EXPECT_EQ(Field(GetBox("box", &sandbox)), "name");
  EXPECT_EQ(Reason(GetBox("tenants/default/sandboxes/none", &sandbox)),
            "SANDBOX_NOT_FOUND");
  EXPECT_EQ(sandboxes_->registry().size(), 0);
}

TEST_F(SandboxServiceTest, TwoWorkspacesThatHangDelayNoOtherCreation) {
  std::promise<void> mended;
  const std::shared_future<void> mending = mended.get_future().share();
  std::promise<void> entered[2];
  check_workspace_ = [&](const std::string& path, bool /*read_only*/) {
    if (path == "/hung/0" || path == "/hung/1") {
      // The checks may end after this test.
      const std::shared_future<void> own = mending;
      entered[path.back() - '0'].set_value();
      own.wait();
    }
    return absl::OkStatus();
  };
  const auto create = [this](const std::string& workspace) {
    corral::v1::CreateSandboxRequest request = Request();
    request.mutable_sandbox()->mutable_workspace()->set_path(workspace);
    corral::v1::Sandbox sandbox;
    return Create(request, &sandbox);
  };
  std::vector<std::future<grpc::Status>> hung;
  for (const char* workspace : {"/hung/0", "/hung/1"}) {
    hung.push_back(std::async(std::launch::async, create, workspace));
  }
  for (std::promise<void>& check : entered) {
    check.get_future().wait();
  }
  CreateSandbox("without");
  EXPECT_TRUE(create("/srv/good").ok());

  timers_.Advance(WorkspaceChecks::kPatience);
  for (std::future<grpc::Status>& creation : hung) {
    const grpc::Status status = creation.get();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
    EXPECT_THAT(status.error_message(), HasSubstr("directory /hung/"));
  }
  EXPECT_EQ(sandboxes_->registry().size(), 2);
  mended.set_value();
}

TEST_F(SandboxServiceTest, RefusesAWorkspaceThatThePolicyForbids) {
  corral::v1::Sandbox sandbox;
  corral::v1::CreateSandboxRequest request = Request();
  request.set_sandbox_id("box");
  request.mutable_sandbox()->mutable_workspace()->set_path(
      std::filesystem::canonical(path_));
  const grpc::Status status = Create(request, &sandbox);
  EXPECT_EQ(Field(status), "sandbox.workspace.path");
  EXPECT_THAT(status.error_message(), HasSubstr("state_dir"));
  AwaitNoSandbox();
  EXPECT_FALSE(std::filesystem::exists(state_->SandboxPath("box")));
  request.mutable_sandbox()->clear_workspace();
  EXPECT_TRUE(Create(request, &sandbox).ok());
}

TEST_F(SandboxServiceTest, ChecksEachMountByThePolicyOfMounts) {
  corral::v1::Sandbox sandbox;
  corral::v1::CreateSandboxRequest request = Request();
  request.set_sandbox_id("box");
  for (const std::string& source :
       {std::string("/srv"), std::filesystem::canonical(path_).string()}) {
    corral::v1::Mount* const mount = request.mutable_sandbox()->add_mounts();
    mount->set_source(source);
    mount->set_target(absl::StrCat("/mnt/", request.sandbox().mounts_size()));
  }
  const grpc::Status status = Create(request, &sandbox);
  EXPECT_EQ(Field(status), "sandbox.mounts[1].source");
  EXPECT_THAT(status.error_message(),
              AllOf(StartsWith("sandbox.mounts[1].source: \"/"),
                    HasSubstr("state_dir")));
  EXPECT_EQ(sandboxes_->registry().size(), 0);
  request.mutable_sandbox()->mutable_mounts()->DeleteSubrange(1, 1);
  ASSERT_TRUE(Create(request, &sandbox).ok());
  EXPECT_EQ(sandbox.mounts(0).target(), "/mnt/1");
}

TEST_F(SandboxServiceTest, RefusesARequestAboveACeiling) {
  corral::v1::Sandbox sandbox;
  corral::v1::CreateSandboxRequest request = Request();
  request.mutable_sandbox()->mutable_limits()->set_pids(kMaxPids + 1);
  EXPECT_EQ(Field(Create(request, &sandbox)), "sandbox.limits.pids");
  EXPECT_EQ(sandboxes_->registry().size(), 0);
}

TEST_F(SandboxServiceTest, ReportsWhatTheHostCannotEnforce) {
  corral::v1::Sandbox sandbox;
  factory_.FailCreations(sandbox::MakeFailure(sandbox::wire::Reply::ISOLATION,
                                              "no idmapped mounts"));
  grpc::Status status = Create(Request(), &sandbox);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "ISOLATION_UNAVAILABLE");
  EXPECT_THAT(status.error_message(), HasSubstr("idmapped"));
  factory_.FailCreations(sandbox::MakeFailure(sandbox::wire::Reply::WORKSPACE,
                                              "no such directory"));
  EXPECT_EQ(Field(Create(Request(), &sandbox)), "sandbox.workspace.path");
  factory_.FailCreations(
      sandbox::MakeFailure(sandbox::wire::Reply::FAULT, "fork"));
  EXPECT_EQ(Reason(Create(Request(), &sandbox)), "SERVER_FAULT");
  AwaitNoSandbox();
  // Directories that were made ahead have no ids.
  EXPECT_THAT(state_->ListSandboxes().value(), Each(StartsWith(".blank-")));
}

TEST_F(SandboxServiceTest, NamesTheWorkspaceWhosePathCannotBeProtected) {
  corral::v1::CreateSandboxRequest request = Request();
  request.mutable_sandbox()->mutable_workspace()->set_path("/usr/src");
  request.mutable_sandbox()->add_further_workspaces()->set_path("/usr/share");
  corral::v1::Sandbox sandbox;
  const std::pair<const char*, const char*> cases[] = {
      {"/usr/src", "sandbox.workspace.read_only_paths"},
      {"/usr/share", "sandbox.further_workspaces[0].read_only_paths"}};
  for (const auto& [path, field] : cases) {
    factory_.FailCreations(sandbox::MakeFailure(
        sandbox::wire::Reply::READ_ONLY_PATH,
        absl::StrCat("workspace ", path, ": read-only path x: a link")));
    const grpc::Status status = Create(request, &sandbox);
    EXPECT_EQ(Field(status), field);
    EXPECT_THAT(status.error_message(), HasSubstr("x: a link"));
  }
}

TEST_F(SandboxServiceTest, ACreationWhoseSupervisorsDiedMayBeRepeated) {
  corral::v1::CreateSandboxRequest request = Request();
  request.set_request_id("r1");
  corral::v1::Sandbox sandbox;
  factory_.FailCreations(
      sandbox::MakeFailure(sandbox::wire::Reply::SUPERVISOR_GONE, "killed"));
  const grpc::Status status = Create(request, &sandbox);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  factory_.FailCreations(absl::OkStatus());
  EXPECT_TRUE(Create(request, &sandbox).ok());
}

TEST_F(SandboxServiceTest, KeepsNoMoreSandboxesThanConfigured) {
  for (int i = 0; i < kMaxSandboxes; ++i) {
    CreateSandbox();
  }
  corral::v1::Sandbox sandbox;
  const grpc::Status status = Create(Request(), &sandbox);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "TOO_MANY_SANDBOXES");
}

TEST_F(SandboxServiceTest, ListsPageByPage) {
  for (const char* id : {"c", "a", "b"}) {
    CreateSandbox(id);
  }
  corral::v1::ListSandboxesRequest request;
  request.set_parent("tenants/default");
  request.set_page_size(2);
  corral::v1::ListSandboxesResponse response;
  ASSERT_TRUE(
      Call(sandbox_stub_.get(), &SandboxStub::ListSandboxes, request, &response)
          .ok());
  ASSERT_THAT(response.sandboxes(), SizeIs(2));
  EXPECT_EQ(response.sandboxes(0).name(), "tenants/default/sandboxes/a");
  request.set_page_token(response.next_page_token());
  ASSERT_TRUE(
      Call(sandbox_stub_.get(), &SandboxStub::ListSandboxes, request, &response)
          .ok());
  ASSERT_THAT(response.sandboxes(), SizeIs(1));
  EXPECT_EQ(response.sandboxes(0).name(), "tenants/default/sandboxes/c");
  EXPECT_TRUE(response.next_page_token().empty());
}

TEST_F(SandboxServiceTest, DeletionKillsCommandsAndLeavesNothing) {
  const std::string sandbox = CreateSandbox("box");
  const std::string name = StartExecution(sandbox, Command());
  const auto stream = Stream(name);
  EXPECT_TRUE(stream->Next().has_opened());
  EXPECT_TRUE(Delete(sandbox).ok());
  const auto ended = stream->Next().ended();
  EXPECT_EQ(ended.exit().signal(), SIGKILL);
  EXPECT_EQ(ended.exit().cause(), corral::v1::ExitStatus::SANDBOX_DELETED);
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(path_, "/sandboxes/box")));
  EXPECT_EQ(Reason(Delete(sandbox)), "SANDBOX_NOT_FOUND");
}

TEST_F(SandboxServiceTest, ASandboxWhoseSupervisorDiedStaysReadable) {
  const std::string sandbox = CreateSandbox("box");
  const std::string running = StartExecution(sandbox, Command());
  const std::string ended = StartExecution(sandbox, Command());
  factory_.Write(running, sandbox::wire::STDOUT, "kept");
  factory_.Exit(ended, 5);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::INIT_DIED, "killed");
  });
  EXPECT_EQ(Wait(running).state(), corral::v1::Execution::LOST);
  EXPECT_EQ(Wait(ended).exit().code(), 5);
  EXPECT_EQ(BytesOf(Stream(running)->Rest(), corral::v1::STDOUT), "kept");
  corral::v1::Sandbox failed;
  ASSERT_TRUE(GetBox(sandbox, &failed).ok());
  EXPECT_EQ(failed.state(), corral::v1::Sandbox::FAILED);
  EXPECT_EQ(failed.failure().message(), "killed");

  corral::v1::StartExecutionRequest request;
  request.set_parent(sandbox);
  *request.mutable_command() = Command();
  corral::v1::Execution response;
  EXPECT_EQ(Reason(Call(execution_stub_.get(), &ExecutionStub::StartExecution,
                        request, &response)),
            "SANDBOX_NOT_READY");
  corral::v1::DeleteExecutionRequest deletion;
  deletion.set_name(running);
  google::protobuf::Empty empty;
  EXPECT_TRUE(Call(execution_stub_.get(), &ExecutionStub::DeleteExecution,
                   deletion, &empty)
                  .ok());
  EXPECT_TRUE(Delete(sandbox).ok());
}

TEST_F(SandboxServiceTest, ADrainRefusesNewWorkAndWaitsForCommands) {
  const std::string sandbox = CreateSandbox();
  const std::string name = StartExecution(sandbox, Command());
  const auto begin_drain = [this] {
    auto drain = std::async(std::launch::async, [this] {
      return activity_->Drain(absl::Minutes(1));
    });
    timers_.AwaitTimers(1);
    return drain;
  };
  std::future<bool> drain = begin_drain();
  corral::v1::Sandbox response;
  const grpc::Status status = Create(Request(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SERVER_DRAINING");
  grpc::Status refused;
  corral::v1::RunExecutionRequest run;
  run.set_parent(sandbox);
  *run.mutable_command() = Command();
  Run(run)->Rest(&refused);
  EXPECT_EQ(Reason(refused), "SERVER_DRAINING");
  EXPECT_EQ(Get(name).state(), corral::v1::Execution::RUNNING);
  timers_.Advance(absl::Minutes(1));
  EXPECT_FALSE(drain.get());
  drain = begin_drain();
  factory_.Exit(name, 0);
  EXPECT_TRUE(drain.get());
}

TEST_F(SandboxServiceTest, ReservesTheOutputOfEachSandbox) {
  corral::v1::CreateSandboxRequest request = Request();
  auto* limits = request.mutable_sandbox()->mutable_limits();
  limits->set_output_bytes(kMaxOutputBytes - kOutputBytes);
  corral::v1::Sandbox big;
  ASSERT_TRUE(Create(request, &big).ok());
  EXPECT_EQ(big.limits().output_bytes(), kMaxOutputBytes - kOutputBytes);
  limits->set_output_bytes(kOutputBytes + 1);
  corral::v1::Sandbox refused;
  const grpc::Status status = Create(request, &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Reason(status), "TOO_MUCH_OUTPUT");
  CreateSandbox();  // the default fits
  Restart();
  EXPECT_EQ(Reason(Create(request, &refused)), "TOO_MUCH_OUTPUT");
  corral::v1::DeleteSandboxRequest deletion;
  deletion.set_name(big.name());
  google::protobuf::Empty response;
  ASSERT_TRUE(Call(sandbox_stub_.get(), &SandboxStub::DeleteSandbox, deletion,
                   &response)
                  .ok());
  EXPECT_TRUE(Create(request, &refused).ok());
}

TEST_F(SandboxServiceTest, ReportsStorageFailedWhenTheSpecCannotBeWritten) {
  const std::string sandboxes = absl::StrCat(path_, "/sandboxes");
  const std::string aside = absl::StrCat(path_, "/aside");
  std::filesystem::rename(sandboxes, aside);
  corral::v1::CreateSandboxRequest request = Request();
  request.set_sandbox_id("box");
  corral::v1::Sandbox sandbox;
  const grpc::Status status = Create(request, &sandbox);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "STORAGE_FAILED");
  EXPECT_NE(storage_.failure(), "");
  std::filesystem::rename(aside, sandboxes);
  ASSERT_TRUE(Create(request, &sandbox).ok());
  EXPECT_EQ(storage_.failure(), "");
}

TEST_F(SandboxServiceTest, IsRefusedWhenTheHostLacksWhatItDemands) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent("tenants/default");
  request.mutable_sandbox()->add_required_protections("seccomp");
  corral::v1::Sandbox sandbox;
  EXPECT_TRUE(
      Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, request, &sandbox)
          .ok());
  request.mutable_sandbox()->add_required_protections("magic");
  const grpc::Status status =
      Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, request, &sandbox);
  EXPECT_EQ(Field(status), "sandbox.required_protections");
}

}  // namespace
}  // namespace server

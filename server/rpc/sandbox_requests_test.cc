// Lists, events, workspaces and counts of sandboxes, from a client's side.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/storage/network_log.h"
#include "server/core/retention.h"
#include "server/core/sandbox.h"
#include "server/core/teardown_queue.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/find_execution.h"
#include "server/rpc/server_fixture.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kTenant[] = "tenants/default";
constexpr char kBox[] = "tenants/default/sandboxes/box";

class SandboxRequestsTest : public ServerFixture {
 protected:
  grpc::Status List(const corral::v1::ListSandboxesRequest& request,
                    corral::v1::ListSandboxesResponse* response) {
    return Call(sandbox_stub_.get(), &SandboxStub::ListSandboxes, request,
                response);
  }
  grpc::Status Create(const corral::v1::CreateSandboxRequest& request) {
    corral::v1::Sandbox response;
    return Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, request,
                &response);
  }
  // The numbers of the events.
  std::vector<uint64_t> Events(uint64_t after, int page_size,
                               grpc::Status* status) {
    corral::v1::ListNetworkEventsRequest request;
    request.set_name(kBox);
    request.set_after(after);
    request.set_page_size(page_size);
    corral::v1::ListNetworkEventsResponse response;
    *status = Call(sandbox_stub_.get(), &SandboxStub::ListNetworkEvents,
                   request, &response);
    std::vector<uint64_t> numbers;
    for (const auto& event : response.events()) {
      numbers.push_back(event.number());
    }
    return numbers;
  }
};

TEST_F(SandboxRequestsTest, AListWithAnInvalidFieldIsRefused) {
  corral::v1::ListSandboxesResponse response;
  corral::v1::ListSandboxesRequest request;
  request.set_parent("tenants/other");
  EXPECT_EQ(Field(List(request, &response)), "parent");
  request.set_parent(kTenant);
  request.set_page_size(-1);
  EXPECT_EQ(Field(List(request, &response)), "page_size");
  request.set_page_size(0);
  request.set_page_token("No");
  EXPECT_EQ(Field(List(request, &response)), "page_token");
}

TEST_F(SandboxRequestsTest, TheFirstPageNamesSandboxesThatCannotBeReadYet) {
  CreateSandbox("a");
  CreateSandbox("b");
  sandboxes_->registry().Reserve("hidden");
  corral::v1::ListSandboxesRequest request;
  request.set_parent(kTenant);
  request.set_page_size(1);
  corral::v1::ListSandboxesResponse response;
  ASSERT_TRUE(List(request, &response).ok());
  EXPECT_THAT(response.unreachable(),
              ElementsAre("tenants/default/sandboxes/hidden"));
  request.set_page_token(response.next_page_token());
  ASSERT_TRUE(List(request, &response).ok());
  EXPECT_THAT(response.sandboxes(), SizeIs(1));
  EXPECT_THAT(response.unreachable(), IsEmpty());
}

TEST_F(SandboxRequestsTest, AListOfExecutionsNamesThemOnItsFirstPageToo) {
  for (const char* id : {"a", "b"}) {
    StartExecution(CreateSandbox(id), Command());
  }
  sandboxes_->registry().Reserve("hidden");
  corral::v1::ListExecutionsRequest request;
  request.set_parent("tenants/default/sandboxes/-");
  request.set_page_size(1);
  corral::v1::ListExecutionsResponse response;
  const auto list = [&] {
    return Call(execution_stub_.get(), &ExecutionStub::ListExecutions, request,
                &response);
  };
  ASSERT_TRUE(list().ok());
  EXPECT_THAT(response.unreachable(),
              ElementsAre("tenants/default/sandboxes/hidden"));
  request.set_page_token(response.next_page_token());
  ASSERT_TRUE(list().ok());
  EXPECT_THAT(response.executions(), SizeIs(1));
  EXPECT_THAT(response.unreachable(), IsEmpty());
}

TEST_F(SandboxRequestsTest, ListsTheNetworkEventsOfASandbox) {
  grpc::Status status;
  Events(0, 0, &status);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_FOUND");
  CreateSandbox("box");
  EXPECT_THAT(Events(0, 0, &status), IsEmpty());
  EXPECT_TRUE(status.ok());
  auto log = sandbox::NetworkLog::Create(state_->SandboxPath("box"));
  ASSERT_TRUE(log.ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(log->Append(corral::egress::v1::Event()).ok());
  }
  EXPECT_THAT(Events(0, 0, &status), ElementsAre(1, 2, 3));
  EXPECT_THAT(Events(1, 1, &status), ElementsAre(2));
  Events(0, -1, &status);
  EXPECT_EQ(Field(status), "page_size");
  const std::string path =
      absl::StrCat(state_->SandboxPath("box"), "/network.log");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  Events(0, 0, &status);
  EXPECT_EQ(Reason(status), "STORAGE_FAILED");
}

TEST_F(SandboxRequestsTest, EveryWorkspaceIsCheckedBeforeASandboxIsMade) {
  std::vector<std::pair<std::string, bool>> checked;
  check_workspace_ = [&](const std::string& path, bool read_only) {
    checked.emplace_back(path, read_only);
    return path == "/bad" ? absl::InvalidArgumentError("bad")
                          : absl::OkStatus();
  };
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.mutable_sandbox()->mutable_workspace()->set_path("/first");
  request.mutable_sandbox()->mutable_workspace()->set_read_only(true);
  for (const char* path : {"/second", "/third"}) {
    request.mutable_sandbox()->add_further_workspaces()->set_path(path);
  }
  request.mutable_sandbox()->mutable_further_workspaces(1)->set_read_only(true);
  ASSERT_TRUE(Create(request).ok());
  EXPECT_THAT(checked, ElementsAre(Pair("/first", true), Pair("/second", false),
                                   Pair("/third", true)));
  request.mutable_sandbox()->mutable_further_workspaces(1)->set_path("/bad");
  EXPECT_EQ(Field(Create(request)), "sandbox.further_workspaces[1]");
  EXPECT_EQ(sandboxes_->registry().size(), 1);
}

TEST_F(SandboxRequestsTest, ADirectoryThatTheServerDoesNotKnowStays) {
  const std::string path = state_->SandboxPath("box");
  std::filesystem::create_directory(path);
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.set_sandbox_id("box");
  EXPECT_EQ(Reason(Create(request)), "SANDBOX_EXISTS");
  AwaitNoSandbox();
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(sandboxes_->registry().size(), 0);
}

TEST_F(SandboxRequestsTest, ShowsWhenASandboxWasMade) {
  const absl::Time before = absl::Now();
  CreateSandbox("box");
  const absl::Time made =
      absl::FromUnixNanos(state_->ReadSpec("box")->create_time_ns());
  EXPECT_GE(made, before);
  EXPECT_LE(made, absl::Now());
}

TEST_F(SandboxRequestsTest, CountsTheSandboxesThatHaveProcesses) {
  EXPECT_EQ(sandboxes_->Living(), 0);
  CreateSandbox("box");
  EXPECT_EQ(sandboxes_->Living(), 1);
  sandboxes_->DeleteAll(corral::supervisor::v1::ExitRecord::SERVER_SHUTDOWN);
  AwaitNoSandbox();
  EXPECT_EQ(sandboxes_->Living(), 0);
}

TEST_F(SandboxRequestsTest, AnExecutionThatIsLookedForHurriesTheRecords) {
  corral::supervisor::v1::SandboxSpec spec;
  spec.set_id("box");
  spec.set_name(kBox);
  spec.set_directory(path_);
  spec.set_boot_id("boot");
  Sandbox::Environment environment = {};
  environment.activity = activity_.get();
  environment.timers = &timers_;
  environment.lanes = lanes_.get();
  environment.storage = &storage_;
  environment.heap = heap_.get();
  environment.all_ended =
      Retention::Create({1, absl::InfiniteDuration()}, &timers_,
                        {[](const std::string&) { return false; },
                         [](const std::string&, const Retention::Done&) {}});
  environment.teardowns = TeardownQueue::Create(&timers_);
  environment.boot_id = "boot";
  const auto sandbox =
      Sandbox::Create(spec, environment, Sandbox::Origin::kEarlierServer);
  ASSERT_TRUE(sandboxes_->registry().AddExisting(sandbox));
  const std::string name = absl::StrCat(kBox, "/executions/job");
  EXPECT_TRUE(
      absl::IsUnavailable(FindExecution(sandboxes_.get(), name).status()));
  AwaitLanes();
  EXPECT_TRUE(sandbox->knows_executions());
  EXPECT_TRUE(absl::IsNotFound(FindExecution(sandboxes_.get(), name).status()));
  sandboxes_->registry().Remove(*sandbox);
}

TEST_F(SandboxRequestsTest, TheServerReportsWhatItHasAndHowItIs) {
  corral::v1::ServerInfo fixed;
  fixed.set_kernel("Linux");
  AdminService admin(fixed, &sandboxes_->registry(), &storage_,
                     activity_.get());
  grpc::ServerBuilder builder;
  builder.RegisterService(&admin);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = corral::v1::AdminService::NewStub(
      server->InProcessChannel(grpc::ChannelArguments()));
  const auto info = [&] {
    grpc::ClientContext context;
    corral::v1::ServerInfo response;
    EXPECT_TRUE(stub->GetServerInfo(&context, {}, &response).ok());
    return response;
  };
  EXPECT_EQ(info().ShortDebugString(), "kernel: \"Linux\"");
  for (const char* id : {"a", "b"}) {
    const std::string sandbox = CreateSandbox(id);
    StartExecution(sandbox, Command());
    StartExecution(sandbox, Command());
  }
  EXPECT_EQ(info().sandboxes(), 2);
  EXPECT_EQ(info().executions(), 4);
  activity_->RefuseWork(absl::ZeroDuration());
  EXPECT_TRUE(info().draining());
  storage_.Set("box", "no space");
  EXPECT_EQ(info().storage_failure(), "box: no space");
  server->Shutdown();
}

}  // namespace
}  // namespace server

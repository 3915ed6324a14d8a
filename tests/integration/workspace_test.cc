// Where a workspace may lie on the host.

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::STDOUT;

class WorkspaceTest : public IntegrationTest {};

// Inside, a sandbox has its own /tmp and /var/tmp.
TEST_F(WorkspaceTest, MayLieBelowDirectoriesThatASandboxReplaces) {
  for (const std::string parent : {"/var/tmp", "/tmp"}) {
    std::string path = parent + "/corral-workspace-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    corral::v1::CreateSandboxRequest request;
    request.set_parent(kTenant);
    request.mutable_sandbox()->mutable_workspace()->set_path(path);
    const std::string sandbox = client_->CreateSandbox(request);
    const auto call =
        client_->Run(sandbox, MakeCommand({"sh", "-c", "pwd; echo hi > file"}));
    EXPECT_EQ(call->bytes[STDOUT], path + "\n");
    EXPECT_EQ(ReadFile(path + "/file"), "hi\n");
    client_->DeleteSandbox(sandbox);
    std::filesystem::remove_all(path);
  }
}

TEST_F(WorkspaceTest, MayBeSeveralDirectories) {
  std::string path = "/var/tmp/corral-workspaces-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  for (const char* name : {"/first", "/second", "/read", "/unseen"}) {
    std::filesystem::create_directory(path + name);
    WriteFile(path + name + "/there", std::string(name) + "\n");
  }
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.mutable_sandbox()->mutable_workspace()->set_path(path + "/first");
  request.mutable_sandbox()->add_further_workspaces()->set_path(path +
                                                                "/second");
  corral::v1::Workspace* const read_only =
      request.mutable_sandbox()->add_further_workspaces();
  read_only->set_path(path + "/read");
  read_only->set_read_only(true);
  const std::string sandbox = client_->CreateSandbox(request);
  corral::v1::Command command = MakeCommand(
      {"sh", "-c",
       "pwd; cat ../first/there ../second/there ../read/there; ls ..;"
       " echo made > made; echo no > ../read/made 2>/dev/null || echo kept"});
  command.set_working_directory(path + "/second");
  const auto call = client_->Run(sandbox, command);
  EXPECT_EQ(call->bytes[STDOUT],
            path +
                "/second\n/first\n/second\n/read\nfirst\nread\nsecond\n"
                "kept\n");
  EXPECT_EQ(ReadFile(path + "/second/made"), "made\n");
  client_->DeleteSandbox(sandbox);
  std::filesystem::remove_all(path);
}

TEST_F(WorkspaceTest, IsRefusedIfAFurtherOneIsMissing) {
  std::string path = "/var/tmp/corral-workspaces-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.mutable_sandbox()->mutable_workspace()->set_path(path);
  request.mutable_sandbox()->add_further_workspaces()->set_path("/nowhere/x");
  corral::v1::Sandbox sandbox;
  const grpc::Status status =
      client_->Call(&Client::SandboxStub::CreateSandbox, request, &sandbox);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Field(status), "sandbox.further_workspaces[0]");
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace tests

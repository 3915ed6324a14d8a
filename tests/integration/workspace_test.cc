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

}  // namespace
}  // namespace tests

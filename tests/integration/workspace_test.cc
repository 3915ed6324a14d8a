// The places on the host at which a workspace may lie.

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::STDOUT;
using ::testing::HasSubstr;

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

TEST_F(WorkspaceTest, IsRefusedIfNothingEnforcesTheLimitOfItsSpace) {
  // The file is in no project of the file system.
  WriteFile(server_.workspace() + "/file", "x");
  corral::v1::CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.mutable_sandbox()->mutable_workspace()->set_path(server_.workspace());
  request.mutable_sandbox()->mutable_limits()->set_disk_bytes(1 << 20);
  corral::v1::Sandbox sandbox;
  const grpc::Status status =
      client_->Call(&Client::SandboxStub::CreateSandbox, request, &sandbox);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "ISOLATION_UNAVAILABLE");
  EXPECT_THAT(status.error_message(),
              HasSubstr("workspace " + server_.workspace() + ": "));
  // A workspace that commands cannot write to needs no limit.
  request.mutable_sandbox()->mutable_workspace()->set_read_only(true);
  const std::string name = client_->CreateSandbox(request);
  EXPECT_EQ(client_->Run(name, MakeCommand({"cat", "file"}))->bytes[STDOUT],
            "x");
  client_->DeleteSandbox(name);
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

class HostToolsTest : public IntegrationTest {
 protected:
  HostToolsTest() {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    request_.set_parent(kTenant);
    workspace().set_path(path_);
    workspace().set_protect_host_tools(true);
  }
  ~HostToolsTest() override { std::filesystem::remove_all(path_); }

  corral::v1::Workspace& workspace() {
    return *request_.mutable_sandbox()->mutable_workspace();
  }
  // Returns the field that a creation is refused for.
  std::string Refused() {
    corral::v1::Sandbox sandbox;
    return Field(
        client_->Call(&Client::SandboxStub::CreateSandbox, request_, &sandbox));
  }

  std::string path_ = "/var/tmp/corral-host-tools-XXXXXX";
  corral::v1::CreateSandboxRequest request_;
};

TEST_F(HostToolsTest, AreProtectedWhileCommandsCommit) {
  if (::access("/usr/bin/git", X_OK) != 0) {
    GTEST_SKIP() << "git is not installed";
  }
  ASSERT_EQ(::system(absl::StrCat("git init -q -b main ", path_).c_str()), 0);
  const std::string config = ReadFile(path_ + "/.git/config");
  corral::v1::Sandbox made;
  ASSERT_TRUE(
      client_->Call(&Client::SandboxStub::CreateSandbox, request_, &made).ok());
  EXPECT_THAT(made.workspace().read_only_paths(),
              testing::IsSupersetOf({".git/config", ".git/hooks", ".vscode"}));
  const auto run = [&](const std::string& script) {
    const std::string git =
        "g() { git -c user.name=a -c user.email=a@b \"$@\"; }; ";
    return client_->Run(made.name(), MakeCommand({"sh", "-c", git + script}))
        ->bytes[STDOUT];
  };
  EXPECT_EQ(run("g commit -q --allow-empty -m one && g checkout -q -b topic && "
                "echo x > file && g add -A && g commit -q -m two && "
                "g checkout -q main && g merge -q topic && g tag v1 && "
                "g log --format=%s && g ls-files && g status --porcelain"),
            "two\none\nfile\n");
  EXPECT_EQ(run("g config core.fsmonitor x || echo refused; "
                "cp file .git/hooks/pre-commit || echo refused; "
                "echo x > .vscode/tasks.json || echo refused"),
            "refused\nrefused\nrefused\n");
  EXPECT_EQ(ReadFile(path_ + "/.git/config"), config);
  client_->DeleteSandbox(made.name());
  EXPECT_FALSE(std::filesystem::exists(path_ + "/.vscode"));
}

TEST_F(HostToolsTest, AreRefusedWithTheFieldWhenTheyCannotBeProtected) {
  workspace().add_read_only_paths("ci");
  workspace().add_read_only_paths("../x");
  EXPECT_EQ(Refused(), "sandbox.workspace.read_only_paths[1]");
  workspace().clear_read_only_paths();
  request_.mutable_sandbox()->set_profile(corral::v1::Sandbox::NESTED);
  EXPECT_EQ(Refused(), "sandbox.workspace.protect_host_tools");
  request_.mutable_sandbox()->clear_profile();
  std::filesystem::create_directory(path_ + "/.git");
  std::filesystem::create_symlink("x", path_ + "/.git/hooks");
  EXPECT_EQ(Refused(), "sandbox.workspace.read_only_paths");
  // The placeholders of the other paths are gone.
  EXPECT_FALSE(std::filesystem::exists(path_ + "/.envrc"));
}

class MountTest : public IntegrationTest {
 protected:
  MountTest() {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    for (const char* name : {"/tool", "/home", "/state"}) {
      std::filesystem::create_directory(path_ + name);
    }
    WriteFile(path_ + "/tool/there", "tool\n");
    request_.set_parent(kTenant);
  }
  ~MountTest() override { std::filesystem::remove_all(path_); }

  corral::v1::Mount* Add(const std::string& source) {
    corral::v1::Mount* const mount = request_.mutable_sandbox()->add_mounts();
    mount->set_source(source);
    return mount;
  }

  std::string path_ = "/var/tmp/corral-mounts-XXXXXX";
  corral::v1::CreateSandboxRequest request_;
};

TEST_F(MountTest, IsReadOnlyAtItsPlaceAndNeedsNoWorkspace) {
  Add(path_ + "/tool");
  Add(path_ + "/tool")->set_target("/opt/deep/tool");
  const std::string sandbox = client_->CreateSandbox(request_);
  const auto call = client_->Run(
      sandbox,
      MakeCommand({"sh", "-c",
                   absl::StrCat("cat ", path_, "/tool/there; ls ", path_,
                                "; cd /opt/deep/tool; cat "
                                "there; echo x > there || echo kept; "
                                "touch new; chmod 700 . ; ls")}));
  EXPECT_EQ(call->bytes[STDOUT], "tool\ntool\ntool\nkept\nthere\n");
  EXPECT_THAT(call->bytes[corral::v1::STDERR],
              HasSubstr("Read-only file system"));
  client_->DeleteSandbox(sandbox);
}

TEST_F(MountTest, CanBeAHomeThatOutlivesTheSandbox) {
  ASSERT_EQ(::chown((path_ + "/home").c_str(), 1234, 1235), 0);
  corral::v1::Mount* const home = Add(path_ + "/home");
  home->set_target("/home/corral");
  home->set_writable(true);
  for (const char* expected : {"1\n", "2\n"}) {
    const std::string sandbox = client_->CreateSandbox(request_);
    const auto call = client_->Run(
        sandbox,
        MakeCommand({"sh", "-c", "echo line >> ~/log; wc -l < ~/log"}));
    EXPECT_EQ(call->bytes[STDOUT], expected);
    client_->DeleteSandbox(sandbox);
  }
  struct stat made;
  ASSERT_EQ(::stat((path_ + "/home/log").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, 1234);
  EXPECT_EQ(made.st_gid, 1235);
}

TEST_F(MountTest, IsRefusedWithTheFieldWhenItMayNotBeLent) {
  std::filesystem::create_directory_symlink("/root", path_ + "/link");
  Add(path_ + "/tool");
  corral::v1::Mount* const mount = Add("/");
  for (const std::string& source :
       {server_.directory() + "/state", server_.directory(), path_ + "/link",
        path_ + "/link/.ssh", path_ + "/none", path_ + "/tool/there",
        std::string("/dev"), std::string("/dev/null"), std::string("/proc/1"),
        path_ + "/tool/../../../etc", std::string("/var/lib")}) {
    mount->set_source(source);
    mount->set_target("/mnt/x");
    corral::v1::Sandbox sandbox;
    const grpc::Status status =
        client_->Call(&Client::SandboxStub::CreateSandbox, request_, &sandbox);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << source;
    EXPECT_EQ(Field(status), "sandbox.mounts[1].source") << source;
    EXPECT_THAT(status.error_message(), HasSubstr("allowed: ")) << source;
  }
  mount->set_source(path_ + "/tool");
  mount->set_target("/usr/local/bin");
  corral::v1::Sandbox sandbox;
  EXPECT_EQ(Field(client_->Call(&Client::SandboxStub::CreateSandbox, request_,
                                &sandbox)),
            "sandbox.mounts[1].target");
}

}  // namespace
}  // namespace tests

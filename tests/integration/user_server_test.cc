// A corrald that a user without privileges runs, on a host that gives the user
// no control groups.

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corral/v1/admin.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/integration/corrald.h"
#include "tests/integration/integration_test.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using corral::v1::IsolationFeature;
using ::testing::HasSubstr;

constexpr uid_t kUser = 12345;

// True if a user of this host may make user namespaces.
bool HostHasUserNamespaces() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("setpriv", "setpriv", "--reuid=12345", "--regid=12345",
             "--clear-groups", "unshare", "--user", "true", nullptr);
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

class UserServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root, to become a user";
    }
    if (!HostHasUserNamespaces()) {
      GTEST_SKIP() << "this host refuses user namespaces to users";
    }
    // The program may lie where the user must not go.
    const std::string program = server_.directory() + "/corrald";
    std::filesystem::copy("corrald", program);
    for (const std::string& each : {server_.directory(), server_.workspace(),
                                    server_.config_file(), program}) {
      ASSERT_EQ(::chown(each.c_str(), kUser, kUser), 0);
    }
    // The test runner may forbid core dumps; users usually may have them.
    const rlimit core = {0, RLIM_INFINITY};
    ASSERT_EQ(::setrlimit(RLIMIT_CORE, &core), 0);
    Start();
  }
  void TearDown() override {
    client_.reset();
    if (server_.IsRunning()) {
      server_.End();
    }
  }

  void Start() {
    server_.Launch(
        server_.UsualArguments(),
        // "./corrald" becomes $0.
        {"setpriv", "--reuid=12345", "--regid=12345", "--groups=20001", "sh",
         "-c",
         absl::StrCat("export HOME=", server_.directory(), "/home; exec ",
                      server_.directory(), "/corrald \"$@\"")});
    const std::shared_ptr<grpc::Channel> channel = server_.Connect();
    while (server_.IsRunning() &&
           !channel->WaitForConnected(std::chrono::system_clock::now() +
                                      std::chrono::milliseconds(50))) {
    }
    ASSERT_TRUE(server_.IsRunning()) << server_.log();
    client_ = std::make_unique<Client>(channel);
  }

  corral::v1::CreateSandboxRequest Request() const {
    corral::v1::CreateSandboxRequest request;
    request.set_parent(kTenant);
    request.mutable_sandbox()->mutable_workspace()->set_path(
        server_.workspace());
    return request;
  }
  grpc::Status Create(const corral::v1::CreateSandboxRequest& request) {
    corral::v1::Sandbox sandbox;
    return client_->Call(&Client::SandboxStub::CreateSandbox, request,
                         &sandbox);
  }

  Corrald server_;
  std::unique_ptr<Client> client_;
};

TEST_F(UserServerTest, RunsCommandsInTheUsersWorkspace) {
  const std::string sandbox = client_->CreateSandbox(Request());
  const auto call = client_->Run(
      sandbox, MakeCommand({"sh", "-c", "id -u; echo text > file; exit 7"}));
  EXPECT_EQ(call->ended.exit().code(), 7);
  EXPECT_EQ(call->bytes[corral::v1::STDOUT], "1000\n");
  EXPECT_EQ(ReadFile(server_.workspace() + "/file"), "text\n");
  struct stat file = {};
  ASSERT_EQ(::stat((server_.workspace() + "/file").c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, kUser);
  client_->DeleteSandbox(sandbox);
}

TEST_F(UserServerTest, ReportsWhatItEnforces) {
  std::map<std::string, IsolationFeature> features;
  const corral::v1::ServerInfo info = client_->GetInfo();
  for (const IsolationFeature& feature : info.isolation()) {
    features[feature.name()] = feature;
  }
  for (const char* enforced : {"user namespace", "pid namespace", "proc",
                               "network namespace", "seccomp"}) {
    EXPECT_EQ(features[enforced].state(), IsolationFeature::ENFORCED)
        << enforced;
  }
  for (const char* degraded :
       {"user ids", "memory limit", "pids limit", "kill of a tree"}) {
    EXPECT_EQ(features[degraded].state(), IsolationFeature::DEGRADED)
        << degraded;
  }
  for (const char* missing :
       {"cpu limit", "supplementary groups", "limits shown inside"}) {
    EXPECT_EQ(features[missing].state(), IsolationFeature::MISSING) << missing;
    EXPECT_FALSE(features[missing].required()) << missing;
  }
}

TEST_F(UserServerTest, RefusesASandboxThatDemandsWhatIsDegradedOrMissing) {
  for (const char* demanded : {"user ids", "cpu limit", "memory limit"}) {
    corral::v1::CreateSandboxRequest request = Request();
    request.mutable_sandbox()->add_required_protections(demanded);
    const grpc::Status refused = Create(request);
    EXPECT_EQ(Reason(refused), "ISOLATION_UNAVAILABLE") << demanded;
    EXPECT_THAT(refused.error_message(), HasSubstr(demanded));
  }
  corral::v1::CreateSandboxRequest request = Request();
  request.mutable_sandbox()->add_required_protections("pid namespace");
  EXPECT_TRUE(Create(request).ok());
}

TEST_F(UserServerTest, RefusesALimitThatNothingEnforces) {
  corral::v1::CreateSandboxRequest request = Request();
  request.mutable_sandbox()->mutable_limits()->set_cpu_millis(500);
  const grpc::Status refused = Create(request);
  EXPECT_EQ(Reason(refused), "ISOLATION_UNAVAILABLE");
  EXPECT_THAT(refused.error_message(), HasSubstr("control groups"));
}

TEST_F(UserServerTest, RefusesAWorkspaceWithItsSocketsAndRecords) {
  std::filesystem::create_directories(server_.directory() + "/home/project");
  ASSERT_EQ(
      ::chown((server_.directory() + "/home/project").c_str(), kUser, kUser),
      0);
  ASSERT_EQ(::chown((server_.directory() + "/home").c_str(), kUser, kUser), 0);
  corral::v1::CreateSandboxRequest request = Request();
  auto& workspace = *request.mutable_sandbox()->mutable_workspace();
  for (const std::string& refused :
       {server_.directory(), server_.state_directory(),
        // The usual state directory is below it, though there is none.
        server_.directory() + "/home"}) {
    workspace.set_path(refused);
    EXPECT_EQ(Reason(Create(request)), "INVALID_FIELD") << refused;
  }
  workspace.set_path(server_.directory() + "/home/project");
  EXPECT_TRUE(Create(request).ok());
}

TEST_F(UserServerTest, FindsItsCommandsAgainAfterAKill) {
  const std::string sandbox = client_->CreateSandbox(Request());
  const std::string execution =
      client_
          ->Start(sandbox, MakeCommand({"sh", "-c",
                                        "until [ -e go ]; do :; done; exit 3"}))
          .name();
  server_.Kill();
  Start();
  std::filesystem::copy(server_.config_file(), server_.workspace() + "/go");
  EXPECT_EQ(client_->Wait(execution).exit().code(), 3);
  client_->DeleteSandbox(sandbox);
}

}  // namespace
}  // namespace tests

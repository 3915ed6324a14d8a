// The doctor at servers that lack something.

#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bridge/acp/doctor/doctor.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A server whose sandboxes are all named "s", and whose commands end at once.
class Server : public corral::v1::AdminService::Service,
               public corral::v1::ExecutionService::Service,
               public corral::v1::SandboxService::Service {
 public:
  grpc::Status GetServerInfo(grpc::ServerContext*,
                             const corral::v1::GetServerInfoRequest*,
                             corral::v1::ServerInfo* response) override {
    *response = info;
    return grpc::Status::OK;
  }
  grpc::Status CreateSandbox(grpc::ServerContext*,
                             const corral::v1::CreateSandboxRequest*,
                             corral::v1::Sandbox* response) override {
    calls.emplace_back("create");
    response->set_name("s");
    return grpc::Status::OK;
  }
  grpc::Status DeleteSandbox(grpc::ServerContext*,
                             const corral::v1::DeleteSandboxRequest* request,
                             google::protobuf::Empty*) override {
    calls.push_back("delete " + request->name());
    return deletion;
  }
  grpc::Status StartExecution(grpc::ServerContext*,
                              const corral::v1::StartExecutionRequest*,
                              corral::v1::Execution* response) override {
    calls.emplace_back("start");
    response->set_name("e");
    return grpc::Status::OK;
  }
  grpc::Status WaitExecution(grpc::ServerContext*,
                             const corral::v1::WaitExecutionRequest*,
                             corral::v1::Execution* response) override {
    response->set_state(corral::v1::Execution::EXITED);
    response->mutable_exit()->set_code(0);
    return grpc::Status::OK;
  }

  corral::v1::ServerInfo info;
  grpc::Status deletion;
  std::vector<std::string> calls;
};

class DoctorServerTest : public ::testing::Test {
 protected:
  DoctorServerTest() {
    char directory[] = "/tmp/doctor_server_test.XXXXXX";
    directory_ = ::mkdtemp(directory);
    checkup_.server.server = "unix:" + directory_ + "/socket";
    checkup_.attach = {"corral"};
    grpc_ =
        grpc::ServerBuilder()
            .AddListeningPort(checkup_.server.server,
                              grpc::InsecureServerCredentials())
            .RegisterService(
                static_cast<corral::v1::AdminService::Service*>(&server_))
            .RegisterService(
                static_cast<corral::v1::ExecutionService::Service*>(&server_))
            .RegisterService(
                static_cast<corral::v1::SandboxService::Service*>(&server_))
            .BuildAndStart();
    server_.info.set_kernel("Linux 6.1");
  }
  ~DoctorServerTest() override {
    grpc_->Shutdown();
    ::unlink((directory_ + "/socket").c_str());
    ::rmdir(directory_.c_str());
  }

  void AddFeature(const char* name, bool required, bool enforced) {
    corral::v1::IsolationFeature* feature = server_.info.add_isolation();
    feature->set_name(name);
    feature->set_detail(std::string("why ") + name);
    feature->set_required(required);
    feature->set_enforced(enforced);
  }
  bool Examine() {
    return bridge::Examine(checkup_, [this](absl::string_view line) {
      lines_.emplace_back(line);
    });
  }

  std::string directory_;
  Server server_;
  std::unique_ptr<grpc::Server> grpc_;
  Checkup checkup_;
  std::vector<std::string> lines_;
};

TEST_F(DoctorServerTest, MakesNoSandboxOnAHostThatLacksWhatIsRequired) {
  AddFeature("seccomp", true, false);
  AddFeature("landlock", false, false);
  AddFeature("cgroups", true, true);
  AddFeature("namespaces", true, false);
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_,
              ElementsAre(StartsWith("ok    server: "),
                          "FAIL  isolation: the server's host lacks: seccomp "
                          "(why seccomp), namespaces (why namespaces); "
                          "`corral info` shows more"));
  EXPECT_THAT(server_.calls, IsEmpty());
}

TEST_F(DoctorServerTest, SaysThatASandboxWasNotDeleted) {
  AddFeature("landlock", false, false);
  AddFeature("cgroups", true, true);
  server_.deletion = {grpc::StatusCode::PERMISSION_DENIED, "not you"};
  EXPECT_FALSE(Examine());
  EXPECT_THAT(lines_,
              ElementsAre(StartsWith("ok    server: "),
                          "ok    isolation: enforced, kernel Linux 6.1",
                          "ok    sandbox: s", StartsWith("ok    command: runs"),
                          "FAIL  deletion: not you"));
  EXPECT_THAT(server_.calls, ElementsAre("create", "start", "delete s"));
}

}  // namespace
}  // namespace bridge

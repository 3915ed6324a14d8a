// Runs a whole server on a Unix socket, with fake supervisors.

#ifndef SERVER_DAEMON_FIXTURE_H_
#define SERVER_DAEMON_FIXTURE_H_

#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "google/protobuf/text_format.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/isolation.h"
#include "server/config.h"
#include "server/core/state_directory.h"
#include "server/daemon.h"
#include "server/flags.h"
#include "server/net/listener.h"
#include "tests/fakes/fake_supervisor_launcher.h"
#include "tests/status_matchers.h"

namespace server {

class DaemonFixture : public ::testing::Test {
 protected:
  DaemonFixture() {
    char name[] = "/tmp/corral_daemon_XXXXXX";
    path_ = ::mkdtemp(name);
    Flags flags;
    flags.listen = absl::StrCat("unix:", socket());
    flags.state_dir = absl::StrCat(path_, "/state");
    config_ = ParseConfig("", "", flags).value();
    state_ = StateDirectory::Open(config_.state_dir()).value();
  }
  ~DaemonFixture() override {
    daemon_.reset();
    listener_.reset();
    std::filesystem::remove_all(path_);
  }

  std::string socket() const { return absl::StrCat(path_, "/run/sock"); }

  void Serve() {
    sandbox::IsolationFeature feature;
    feature.name = "seccomp";
    feature.enforced = true;
    Serve({feature});
  }
  void Serve(const std::vector<sandbox::IsolationFeature>& isolation) {
    daemon_ =
        std::make_unique<Daemon>(config_, isolation, &factory_, state_.get());
    listener_ = Listener::Prepare(config_).value();
    ASSERT_THAT(listener_->Listen(), tests::IsOk());
    ASSERT_THAT(daemon_->Start(listener_.get()), tests::IsOk());
  }

  // HealthCheckResponse{status}
  static constexpr char kServing[] = "\x08\x01";
  static constexpr char kNotServing[] = "\x08\x02";

  std::shared_ptr<grpc::Channel> Connect() const {
    return grpc::CreateChannel(config_.listen(),
                               grpc::InsecureChannelCredentials());
  }

  // The answer to a call whose messages this test writes itself.
  std::string Call(const std::string& method,
                   const std::string& content) const {
    grpc::GenericStub stub(Connect());
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    const grpc::Slice sent(content);
    const grpc::ByteBuffer request(&sent, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, method, grpc::StubOptions(), &request, &response,
                   [&](const grpc::Status& status) { done.set_value(status); });
    const grpc::Status status = done.get_future().get();
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::Slice slice;
    EXPECT_TRUE(response.DumpToSingleSlice(&slice).ok());
    return std::string(slice.begin(), slice.end());
  }

  // The answer of the health service for `service`; empty: the whole server.
  std::string Health(const std::string& service) const {
    // HealthCheckRequest{service}
    return Call("/grpc.health.v1.Health/Check",
                service.empty()
                    ? ""
                    : absl::StrCat("\x0a", std::string(1, char(service.size())),
                                   service));
  }

  corral::v1::ServerInfo Info() const {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    corral::v1::ServerInfo info;
    EXPECT_TRUE(corral::v1::AdminService::NewStub(Connect())
                    ->GetServerInfo(&context, {}, &info)
                    .ok());
    return info;
  }

  // `text` is the sandbox that is wanted, in protobuf's text format.
  grpc::Status Create(const std::string& id,
                      const std::string& text = "") const {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    request.set_sandbox_id(id);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        text, request.mutable_sandbox()));
    corral::v1::Sandbox sandbox;
    grpc::ClientContext context;
    return corral::v1::SandboxService::NewStub(Connect())->CreateSandbox(
        &context, request, &sandbox);
  }

  // Starts a command in the sandbox "box".
  grpc::Status StartCommand(const std::string& id,
                            const std::string& command = "argv: 'true'") const {
    corral::v1::StartExecutionRequest request;
    request.set_parent("tenants/default/sandboxes/box");
    request.set_execution_id(id);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        command, request.mutable_command()));
    corral::v1::Execution execution;
    grpc::ClientContext context;
    return corral::v1::ExecutionService::NewStub(Connect())->StartExecution(
        &context, request, &execution);
  }
  static std::string NameOf(const std::string& execution) {
    return "tenants/default/sandboxes/box/executions/" + execution;
  }

  std::string path_;
  corral::config::v1::ServerConfig config_;
  tests::FakeSupervisorLauncher factory_;
  std::unique_ptr<StateDirectory> state_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace server

#endif  // SERVER_DAEMON_FIXTURE_H_

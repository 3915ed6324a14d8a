// The whole server on a Unix socket.

#include "server/daemon.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/base/version.h"
#include "sandbox/kernel/isolation.h"
#include "server/config.h"
#include "server/core/state_directory.h"
#include "server/flags.h"
#include "server/net/handover.h"
#include "server/net/listener.h"
#include "server/runtime/activity.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/fakes/fake_supervisor_launcher.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() {
    char name[] = "/tmp/corral_daemon_XXXXXX";
    path_ = ::mkdtemp(name);
    Flags flags;
    flags.listen = absl::StrCat("unix:", socket());
    flags.state_dir = absl::StrCat(path_, "/state");
    config_ = ParseConfig("", "", flags).value();
    state_ = StateDirectory::Open(config_.state_dir()).value();
  }
  ~DaemonTest() override {
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
    ASSERT_THAT(listener_->Listen(), IsOk());
    ASSERT_THAT(daemon_->Start(listener_.get()), IsOk());
  }

  // HealthCheckResponse{status}
  static constexpr char kServing[] = "\x08\x01";
  static constexpr char kNotServing[] = "\x08\x02";

  std::shared_ptr<grpc::Channel> Connect() const {
    return grpc::CreateChannel(config_.listen(),
                               grpc::InsecureChannelCredentials());
  }

  // The answer of the health service for `service`; empty: the whole server.
  std::string Health(const std::string& service) const {
    grpc::GenericStub stub(Connect());
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    // HealthCheckRequest{service}
    const grpc::Slice content(
        service.empty()
            ? ""
            : absl::StrCat("\x0a", std::string(1, char(service.size())),
                           service));
    const grpc::ByteBuffer request(&content, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/grpc.health.v1.Health/Check",
                   grpc::StubOptions(), &request, &response,
                   [&](const grpc::Status& status) { done.set_value(status); });
    const grpc::Status status = done.get_future().get();
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::Slice slice;
    EXPECT_TRUE(response.DumpToSingleSlice(&slice).ok());
    return std::string(slice.begin(), slice.end());
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

  grpc::Status Create(const std::string& id) const {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    request.set_sandbox_id(id);
    corral::v1::Sandbox sandbox;
    grpc::ClientContext context;
    return corral::v1::SandboxService::NewStub(Connect())->CreateSandbox(
        &context, request, &sandbox);
  }

  std::string path_;
  corral::config::v1::ServerConfig config_;
  tests::FakeSupervisorLauncher factory_;
  std::unique_ptr<StateDirectory> state_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(DaemonTest, ServesOnASocketOfItsOwnerAlone) {
  Serve();
  struct stat info = {};
  ASSERT_EQ(::stat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  ASSERT_EQ(::stat(absl::StrCat(path_, "/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);

  const corral::v1::ServerInfo response = Info();
  EXPECT_EQ(response.isolation(0).name(), "seccomp");
  EXPECT_EQ(response.default_limits().pids(), 4096);
  EXPECT_THAT(response.kernel(), HasSubstr("Linux"));
}

TEST_F(DaemonTest, ReportsItsHealth) {
  Serve();
  EXPECT_EQ(Health(""), kServing);
}

TEST_F(DaemonTest, ReportsThatItsStorageFails) {
  Serve();
  EXPECT_EQ(Health("corral.v1.Storage"), kServing);
  const auto sandboxes =
      std::filesystem::path(state_->SandboxPath("box")).parent_path();
  const auto aside = sandboxes.parent_path() / "aside";
  std::filesystem::rename(sandboxes, aside);
  EXPECT_EQ(Create("box").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Health("corral.v1.Storage"), kNotServing);
  EXPECT_EQ(Health(""), kServing);
  std::filesystem::rename(aside, sandboxes);
  EXPECT_TRUE(Create("box").ok());
  EXPECT_EQ(Health("corral.v1.Storage"), kServing);
}

TEST_F(DaemonTest, KeepsAsManyEndedExecutionsAsConfigured) {
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

TEST_F(DaemonTest, RefusesASocketThatAnotherServerAnswersOn) {
  Serve();
  EXPECT_THAT(Listener::Prepare(config_).value()->Listen(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(socket())));
}

TEST_F(DaemonTest, ReplacesAStaleSocketButNoOtherFile) {
  std::filesystem::create_directories(absl::StrCat(path_, "/run"));
  std::ofstream(socket()) << "precious";
  EXPECT_THAT(
      Listener::Prepare(config_).value()->Listen(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a socket")));
  std::filesystem::remove(socket());

  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const sandbox::UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(stale.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  Serve();
}

TEST_F(DaemonTest, DeletesItsSandboxesWhenItIsAskedToStop) {
  Serve();
  ASSERT_TRUE(Create("box").ok());
  EXPECT_TRUE(std::filesystem::exists(state_->SandboxPath("box")));
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kEnded);
  EXPECT_FALSE(std::filesystem::exists(state_->SandboxPath("box")));
}

TEST_F(DaemonTest, LeavesItsSandboxesIfConfiguredSo) {
  config_.set_on_shutdown(corral::config::v1::ServerConfig::LEAVE_SANDBOXES);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kLeft);
  EXPECT_TRUE(std::filesystem::exists(state_->SandboxPath("box")));
}

TEST_F(DaemonTest, GoesOnWhenItsSuccessorHasGone) {
  Serve();
  auto handover = Handover::Listen(
      config_.state_dir(), [this] { daemon_->activity()->RequestHandover(); });
  ASSERT_THAT(handover.status(), IsOk());
  Activity::Start start = daemon_->activity()->BeginStart();
  std::thread server([&] {
    EXPECT_EQ(daemon_->RunToTheEnd(handover->get()), Daemon::End::kEnded);
  });
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  absl::StrCat(config_.state_dir(), "/handover.sock")
      .copy(address.sun_path, sizeof(address.sun_path) - 1);
  sandbox::UniqueFd successor(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  ASSERT_EQ(::connect(successor.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
            0);
  ASSERT_GT(::send(successor.get(), "corrald-handover 1 x", 20, 0), 0);
  // The server now waits for the start, and then looks for the successor.
  daemon_->activity()->AwaitDraining(true);
  successor.Reset();
  start.reset();
  daemon_->activity()->AwaitDraining(false);
  const auto stub = corral::v1::AdminService::NewStub(grpc::CreateChannel(
      config_.listen(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  corral::v1::ServerInfo response;
  EXPECT_TRUE(stub->GetServerInfo(&context, {}, &response).ok());
  daemon_->activity()->RequestStop();
  server.join();
}

TEST_F(DaemonTest, GivesWayToASuccessor) {
  Serve();
  auto handover = Handover::Listen(
      config_.state_dir(), [this] { daemon_->activity()->RequestHandover(); });
  ASSERT_THAT(handover.status(), IsOk());
  auto taken = std::async(std::launch::async,
                          [this] { return TakeOver(config_.state_dir()); });
  EXPECT_EQ(daemon_->RunToTheEnd(handover->get()), Daemon::End::kSucceeded);
  EXPECT_FALSE(daemon_->activity()->AdmitWork().ok());
  // A new connection waits for the successor.
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const sandbox::UniqueFd client(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
            0);
  EXPECT_THAT((*handover)->Send(listener_->fds()), IsOk());
  const auto sockets = taken.get();
  ASSERT_THAT(sockets.status(), IsOk());
  const sandbox::UniqueFd accepted(
      ::accept((*sockets)[0].get(), nullptr, nullptr));
  EXPECT_TRUE(accepted.valid());
}

TEST_F(DaemonTest, NamesTheCertificateThatItCannotRead) {
  config_.set_listen("localhost:4444");
  config_.mutable_tls()->set_client_ca_file(absl::StrCat(path_, "/ca.pem"));
  EXPECT_THAT(
      Listener::Prepare(config_).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/ca.pem")));
}

TEST_F(DaemonTest, LeavesFilesThatItCannotRemoveToTheNextServer) {
  Serve();
  ASSERT_TRUE(Create("box").ok());
  // No directory can be renamed to a file.
  std::ofstream(absl::StrCat(config_.state_dir(), "/sandboxes/.removed-box"))
      << "x";
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kLeft);
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    EXPECT_FALSE(supervisor.alive());
  });
}

TEST_F(DaemonTest, ReportsWhatTheHostEnforces) {
  const auto feature = [](const char* name, bool enforced, const char* gap) {
    sandbox::IsolationFeature made;
    made.name = name;
    made.enforced = enforced;
    made.required = enforced;
    made.detail = "why";
    made.gap = gap;
    return made;
  };
  Serve({feature("whole", true, ""), feature("partly", true, "but"),
         feature("none", false, "")});
  const corral::v1::ServerInfo info = Info();
  ASSERT_EQ(info.isolation_size(), 3);
  EXPECT_EQ(info.isolation(0).ShortDebugString(),
            "name: \"whole\" enforced: true required: true detail: \"why\" "
            "state: ENFORCED");
  EXPECT_EQ(info.isolation(1).ShortDebugString(),
            "name: \"partly\" enforced: true required: true detail: \"why; "
            "but\" state: DEGRADED");
  EXPECT_EQ(info.isolation(2).ShortDebugString(),
            "name: \"none\" detail: \"why\" state: MISSING");
  EXPECT_EQ(info.version(), sandbox::kVersion);
  EXPECT_FALSE(info.draining());
}

TEST_F(DaemonTest, BoundsSandboxesAsConfigured) {
  config_.set_max_sandboxes(2);
  config_.set_max_pids(4100);
  Serve();
  ASSERT_TRUE(Create("one").ok());
  // The default is 4096 processes for each.
  EXPECT_THAT(Create("two").error_message(), HasSubstr("processes"));
}

}  // namespace
}  // namespace server

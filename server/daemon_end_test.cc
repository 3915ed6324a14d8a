// Tests of how a whole server ends, or gives way to another.

#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
#include "corral/v1/admin.grpc.pb.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "server/api/errors.h"
#include "server/daemon.h"
#include "server/daemon_fixture.h"
#include "server/net/handover.h"
#include "server/runtime/activity.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::sandbox::UniqueFd;
using ::tests::IsOk;

// Longer than a test may take.
constexpr int kLong = 3600;

class DaemonEndTest : public DaemonFixture {
 protected:
  void AwaitNotServing() const {
    while (Health("") != kNotServing) {
    }
  }
};

UniqueFd ConnectRaw(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
            0);
  return client;
}

// A successor that waits in vain, as long as the descriptor is open.
UniqueFd AskToTakeOver(const std::string& state_directory) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  absl::StrCat(state_directory, "/handover.sock")
      .copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd successor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(successor.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
            0);
  EXPECT_GT(::send(successor.get(), "corrald-handover 1 x", 20, 0), 0);
  return successor;
}

// A command in the sandbox "box", and the stream of its output.
class RunningCommand {
 public:
  explicit RunningCommand(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(corral::v1::ExecutionService::NewStub(channel)) {
    corral::v1::RunExecutionRequest request;
    request.set_parent("tenants/default/sandboxes/box");
    request.mutable_command()->add_argv("true");
    stream_ = stub_->RunExecution(&context_, request);
    EXPECT_TRUE(stream_->Read(&last_));
  }

  // Blocks until the stream ends.
  grpc::Status Finish() {
    while (stream_->Read(&last_)) {
    }
    return stream_->Finish();
  }
  const corral::v1::OutputEvent& last() const { return last_; }

 private:
  const std::unique_ptr<corral::v1::ExecutionService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<corral::v1::OutputEvent>> stream_;
  corral::v1::OutputEvent last_;
};

TEST_F(DaemonEndTest, DeletesItsSandboxesWhenItIsAskedToStop) {
  Serve();
  ASSERT_TRUE(Create("box").ok());
  EXPECT_TRUE(std::filesystem::exists(state_->SandboxPath("box")));
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kEnded);
  EXPECT_FALSE(std::filesystem::exists(state_->SandboxPath("box")));
}

TEST_F(DaemonEndTest, LeavesItsSandboxesIfConfiguredSo) {
  config_.set_on_shutdown(corral::config::v1::ServerConfig::LEAVE_SANDBOXES);
  config_.set_drain_seconds(kLong);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  // It does not wait for commands.
  ASSERT_TRUE(StartCommand("job").ok());
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kLeft);
  EXPECT_TRUE(std::filesystem::exists(state_->SandboxPath("box")));
  // A new connection waits for the next server.
  const UniqueFd client = ConnectRaw(socket());
  EXPECT_TRUE(
      UniqueFd(::accept(listener_->fds()[0], nullptr, nullptr)).valid());
}

TEST_F(DaemonEndTest, EndsItsReadersWhenItLeavesItsSandboxes) {
  config_.set_on_shutdown(corral::config::v1::ServerConfig::LEAVE_SANDBOXES);
  config_.set_drain_seconds(kLong);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  RunningCommand command(Connect());
  daemon_->activity()->RequestStop();
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kLeft);
  EXPECT_EQ(command.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DaemonEndTest, LeavesASandboxThatItCannotReadToTheNextServer) {
  // No description can be read from a directory.
  std::filesystem::create_directories(state_->SandboxPath("box") + "/spec.pb");
  Serve();
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kLeft);
  EXPECT_TRUE(std::filesystem::exists(state_->SandboxPath("box")));
}

TEST_F(DaemonEndTest, EndsCommandsThatRunLongerThanTheDrain) {
  config_.set_drain_seconds(0);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  ASSERT_TRUE(StartCommand("job").ok());
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kEnded);
}

TEST_F(DaemonEndTest, WaitsForRunningCommands) {
  config_.set_drain_seconds(kLong);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  ASSERT_TRUE(StartCommand("job").ok());
  auto end = std::async(std::launch::async,
                        [this] { return daemon_->RunToTheEnd(nullptr); });
  daemon_->activity()->RequestStop();
  AwaitNotServing();
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    EXPECT_TRUE(supervisor.alive());
  });
  EXPECT_EQ(StartCommand("other").error_code(), grpc::StatusCode::UNAVAILABLE);
  factory_.Exit(NameOf("job"), 0);
  EXPECT_EQ(end.get(), Daemon::End::kEnded);
}

TEST_F(DaemonEndTest, ReadersOfItsLastCommandsReceiveTheEnd) {
  config_.set_drain_seconds(kLong);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  RunningCommand command(Connect());
  daemon_->activity()->RequestStop();
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kEnded);
  EXPECT_EQ(command.Finish().error_code(), grpc::StatusCode::OK);
  EXPECT_EQ(command.last().ended().exit().cause(),
            corral::v1::ExitStatus::SERVER_SHUTDOWN)
      << command.last().ShortDebugString();
}

TEST_F(DaemonEndTest, EndsCallsThatGoOnAfterItsSandboxes) {
  class Call final : public LastingCall {
   public:
    void Fail(const absl::Status& status) override { status_ = status; }
    const absl::Status& status() const { return status_; }

   private:
    absl::Status status_;
  };
  Serve();
  const auto call = std::make_shared<Call>();
  ASSERT_THAT(daemon_->activity()->AddLasting(call.get(), call), IsOk());
  daemon_->activity()->RequestStop();
  daemon_->activity()->RequestStop();
  EXPECT_EQ(daemon_->RunToTheEnd(nullptr), Daemon::End::kEnded);
  EXPECT_EQ(ReasonOf(call->status()), corral::v1::SERVER_DRAINING);
}

TEST_F(DaemonEndTest, GivesWayToASuccessorWhileItWaitsForCommands) {
  config_.set_drain_seconds(kLong);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  ASSERT_TRUE(StartCommand("job").ok());
  auto handover = Handover::Listen(
      config_.state_dir(), [this] { daemon_->activity()->RequestHandover(); });
  ASSERT_THAT(handover.status(), IsOk());
  auto end = std::async(std::launch::async, [this, &handover] {
    return daemon_->RunToTheEnd(handover->get());
  });
  daemon_->activity()->RequestStop();
  AwaitNotServing();
  auto taken = std::async(std::launch::async,
                          [this] { return TakeOver(config_.state_dir()); });
  EXPECT_EQ(end.get(), Daemon::End::kSucceeded);
  EXPECT_THAT((*handover)->Send(listener_->fds()), IsOk());
  EXPECT_THAT(taken.get().status(), IsOk());
}

TEST_F(DaemonEndTest, WaitsOnForCommandsWhenItsSuccessorHasGone) {
  config_.set_drain_seconds(kLong);
  Serve();
  ASSERT_TRUE(Create("box").ok());
  ASSERT_TRUE(StartCommand("job").ok());
  std::atomic<int> successors = 0;
  std::promise<void> asked;
  auto handover = Handover::Listen(config_.state_dir(), [&] {
    daemon_->activity()->RequestHandover();
    if (++successors == 1) {
      asked.set_value();
    }
  });
  ASSERT_THAT(handover.status(), IsOk());
  auto end = std::async(std::launch::async, [this, &handover] {
    return daemon_->RunToTheEnd(handover->get());
  });
  daemon_->activity()->RequestStop();
  AwaitNotServing();
  // The server waits for the start before it looks for the successor.
  Activity::Start start = daemon_->activity()->BeginStart();
  AskToTakeOver(config_.state_dir()).Reset();
  asked.get_future().wait();
  start.reset();
  while (daemon_->activity()->handover_requested()) {
    std::this_thread::yield();
  }
  auto taken = std::async(std::launch::async,
                          [this] { return TakeOver(config_.state_dir()); });
  EXPECT_EQ(end.get(), Daemon::End::kSucceeded);
  EXPECT_THAT((*handover)->Send(listener_->fds()), IsOk());
  EXPECT_THAT(taken.get().status(), IsOk());
}

TEST_F(DaemonEndTest, GoesOnWhenItsSuccessorHasGone) {
  Serve();
  auto handover = Handover::Listen(
      config_.state_dir(), [this] { daemon_->activity()->RequestHandover(); });
  ASSERT_THAT(handover.status(), IsOk());
  Activity::Start start = daemon_->activity()->BeginStart();
  std::thread server([&] {
    EXPECT_EQ(daemon_->RunToTheEnd(handover->get()), Daemon::End::kEnded);
  });
  UniqueFd successor = AskToTakeOver(config_.state_dir());
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

TEST_F(DaemonEndTest, GivesWayToASuccessor) {
  Serve();
  ASSERT_TRUE(Create("box").ok());
  RunningCommand command(Connect());
  auto handover = Handover::Listen(
      config_.state_dir(), [this] { daemon_->activity()->RequestHandover(); });
  ASSERT_THAT(handover.status(), IsOk());
  auto taken = std::async(std::launch::async,
                          [this] { return TakeOver(config_.state_dir()); });
  EXPECT_EQ(daemon_->RunToTheEnd(handover->get()), Daemon::End::kSucceeded);
  EXPECT_FALSE(daemon_->activity()->AdmitWork().ok());
  EXPECT_EQ(command.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  // A new connection waits for the successor.
  const UniqueFd client = ConnectRaw(socket());
  EXPECT_THAT((*handover)->Send(listener_->fds()), IsOk());
  const auto sockets = taken.get();
  ASSERT_THAT(sockets.status(), IsOk());
  const UniqueFd accepted(::accept((*sockets)[0].get(), nullptr, nullptr));
  EXPECT_TRUE(accepted.valid());
}

}  // namespace
}  // namespace server

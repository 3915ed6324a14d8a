#include "bridge/client/connection.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bridge/client/resource_name.h"
#include "bridge/client/timing.h"
#include "corral/v1/admin.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/server_posix.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/fakes/silent_proxy.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::FakeExecution;
using ::tests::FakeServer;
using ::tests::IsOk;
using ::tests::StatusIs;

// A directory with one file or socket.
class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    for (const char* name :
         {"CORRAL_TLS_CA", "CORRAL_TLS_CERT", "CORRAL_TLS_KEY"}) {
      ::unsetenv(name);
    }
    char directory[] = "/tmp/connection_test.XXXXXX";
    directory_ = ::mkdtemp(directory);
    path_ = directory_ + "/file";
  }
  ~ConnectionTest() override {
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }

  // The clock goes on by three seconds each time that it is read.
  ConnectOptions Options(const std::string& server) {
    ConnectOptions options;
    options.server = server;
    options.timing.now = [this] {
      return absl::UnixEpoch() + reads_++ * absl::Seconds(3);
    };
    return options;
  }

  absl::Status Open(const ConnectOptions& options) {
    return Connection::Open(options).status();
  }

  // A socket on which connections are made, but not answered.
  sandbox::UniqueFd Listen() {
    sandbox::UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
                     sizeof address),
              0);
    EXPECT_EQ(::listen(listener.get(), 64), 0);
    return listener;
  }

  int reads_ = 0;
  std::string directory_;
  std::string path_;
};

TEST_F(ConnectionTest, NamesTheCertificateThatIsMissing) {
  ConnectOptions options = Options("localhost:1");
  std::ofstream(path_) << "PEM";
  const auto missing = [](const std::string& names) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    "a server at HOST:PORT needs mutual TLS: set " + names +
                        " to a PEM file");
  };
  EXPECT_THAT(Open(options), missing("--tls-ca or CORRAL_TLS_CA"));
  options.tls_ca_file = path_;
  EXPECT_THAT(Open(options), missing("--tls-cert or CORRAL_TLS_CERT"));
  ::setenv("CORRAL_TLS_CERT", path_.c_str(), 1);
  EXPECT_THAT(Open(options), missing("--tls-key or CORRAL_TLS_KEY"));
}

TEST_F(ConnectionTest, RefusesACertificateThatItCannotRead) {
  ConnectOptions options = Options("localhost:1");
  options.tls_ca_file = path_;
  const auto unreadable =
      StatusIs(absl::StatusCode::kInvalidArgument,
               "--tls-ca \"" + path_ + "\": not a readable PEM file");
  EXPECT_THAT(Open(options), unreadable);
  std::ofstream(path_).flush();
  EXPECT_THAT(Open(options), unreadable);
}

TEST_F(ConnectionTest, PrefersTheCertificateOfTheOptionToTheEnvironment) {
  ConnectOptions options = Options("localhost:1");
  std::ofstream(path_) << "PEM";
  ::setenv("CORRAL_TLS_CA", path_.c_str(), 1);
  options.tls_ca_file = directory_ + "/none";
  EXPECT_THAT(Open(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                      "--tls-ca \"" + directory_ +
                                          "/none\": not a readable PEM file"));
}

TEST_F(ConnectionTest, ReportsAtOnceWhyASocketCannotBeReached) {
  std::ofstream(path_).flush();
  const std::string socket = path_ + "/socket";
  const absl::Status status = Open(Options("unix:" + socket));
  EXPECT_THAT(static_cast<std::string>(status.message()),
              StartsWith("connect(" + socket + ")"));
  EXPECT_EQ(reads_, 2);
}

TEST_F(ConnectionTest, WaitsForAServerWhoseSocketIsInTheRootDirectory) {
  EXPECT_THAT(Open(Options("unix:/connection_test.none")),
              StatusIs(absl::StatusCode::kUnavailable,
                       "no server listens at unix:/connection_test.none"));
  EXPECT_EQ(reads_, 3);
}

TEST_F(ConnectionTest, GivesUpAtOnceWhereNoServerWasEver) {
  const std::string address = "unix:" + directory_ + "/none/socket";
  EXPECT_THAT(Open(Options(address)),
              StatusIs(absl::StatusCode::kUnavailable,
                       "no server listens at " + address));
  EXPECT_EQ(reads_, 2);
}

TEST_F(ConnectionTest, WaitsForASlowServerForTenSeconds) {
  const sandbox::UniqueFd listener = Listen();
  EXPECT_THAT(Open(Options("unix:" + path_)),
              StatusIs(absl::StatusCode::kUnavailable,
                       StartsWith("no server at unix:" + path_ + ": ")));
  EXPECT_EQ(reads_, 7);
}

// A server that is started on demand listens at the end of the first attempt.
TEST_F(ConnectionTest, TheTimeOfTheFirstAttemptDoesNotCount) {
  const sandbox::UniqueFd listener = Listen();
  ConnectOptions options = Options("unix:" + path_);
  options.timing.now = [this, now = options.timing.now] {
    return reads_ == 0 ? now() : now() + absl::Hours(1);
  };
  EXPECT_THAT(Open(options), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_EQ(reads_, 7);
}

class AnsweringAdmin : public corral::v1::AdminService::Service {
  grpc::Status GetServerInfo(grpc::ServerContext*,
                             const corral::v1::GetServerInfoRequest*,
                             corral::v1::ServerInfo*) override {
    return grpc::Status::OK;
  }
};

TEST_F(ConnectionTest, TakesAServerThatAnswersInTheLastMoment) {
  AnsweringAdmin admin;
  const std::unique_ptr<grpc::Server> server =
      grpc::ServerBuilder().RegisterService(&admin).BuildAndStart();
  const sandbox::UniqueFd listener = Listen();
  ::fcntl(listener.get(), F_SETFL, O_NONBLOCK);
  ConnectOptions options = Options("unix:" + path_);
  options.timing.now = [&, now = options.timing.now] {
    if (reads_ == 6) {
      int connection = -1;
      while ((connection = ::accept4(listener.get(), nullptr, nullptr,
                                     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        grpc::AddInsecureChannelFromFd(server.get(), connection);
      }
    }
    return now();
  };
  EXPECT_THAT(Open(options), IsOk());
  EXPECT_EQ(reads_, 7);
  server->Shutdown(std::chrono::system_clock::now());
}

std::unique_ptr<Connection> Connect(const std::string& address,
                                    const Timing& timing = {}) {
  ConnectOptions options;
  options.server = address;
  options.timing = timing;
  auto connection = Connection::Open(options);
  EXPECT_THAT(connection.status(), IsOk());
  return *std::move(connection);
}

TEST_F(ConnectionTest, TakesMessagesOfUpToSixteenMegabytes) {
  FakeServer server([](FakeExecution&) {});
  server.SetUnreachableSandboxes({std::string(15 << 20, 'x')});
  const auto connection = Connect(server.address());
  corral::v1::ListSandboxesRequest request;
  request.set_parent(kTenant);
  grpc::ClientContext context;
  corral::v1::ListSandboxesResponse sandboxes;
  const grpc::Status status =
      connection->sandboxes().ListSandboxes(&context, request, &sandboxes);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(sandboxes.unreachable(0).size(), 15 << 20);
}

TEST_F(ConnectionTest, SendsNoMessageAboveSixteenMegabytes) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server.address());
  corral::v1::WriteInputRequest request;
  request.set_data(std::string(17 << 20, 'x'));
  grpc::ClientContext context;
  corral::v1::InputState state;
  EXPECT_THAT(connection->executions()
                  .WriteInput(&context, request, &state)
                  .error_message(),
              AllOf(HasSubstr("Sent message"), HasSubstr("16777216")));
}

TEST_F(ConnectionTest, NoticesThatNothingArrivesAnyMore) {
  FakeServer server([](FakeExecution& command) { command.Hang(); });
  tests::SilentProxy proxy(server.address());
  Timing timing;
  timing.keepalive_interval = absl::Milliseconds(10);
  timing.keepalive_timeout = absl::Milliseconds(10);
  const auto connection = Connect(proxy.address(), timing);
  corral::v1::RunExecutionRequest run;
  run.set_parent(kTenant);
  run.mutable_command()->add_argv("cmd");
  grpc::ClientContext context;
  auto stream = connection->executions().RunExecution(&context, run);
  corral::v1::OutputEvent event;
  // A slow machine may lose the connection before it is silent.
  if (stream->Read(&event)) {
    proxy.SilenceConnections();
    EXPECT_FALSE(stream->Read(&event));
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace client

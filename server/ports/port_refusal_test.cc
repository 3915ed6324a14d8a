// Connections that are refused, or never made.

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/registry.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/ports/port_fixture.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/network/loopback.h"

namespace server {
namespace {

using sandbox::UniqueFd;
using ::testing::HasSubstr;
namespace wire = sandbox::wire;

class PortRefusalTest : public PortFixture {};

TEST_F(PortRefusalTest, ReportsThatNobodyListens) {
  const tests::LoopbackPort port = tests::ReserveLoopbackPort();
  const grpc::Status status = StatusOf(name_, port.number);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "PORT_REFUSED");
}

TEST_F(PortRefusalTest, RefusesBadRequests) {
  EXPECT_EQ(Field(StatusOf("box", 1)), "open.name");
  EXPECT_EQ(Field(StatusOf(name_, 0)), "open.port");
  EXPECT_EQ(Field(StatusOf(name_, 65536)), "open.port");
  for (const uint32_t port : {1, 65535}) {
    EXPECT_EQ(Field(StatusOf(name_, port)), "");
  }
  EXPECT_EQ(Reason(StatusOf("tenants/default/sandboxes/none", 1)),
            "SANDBOX_NOT_FOUND");
  const std::unique_ptr<Call> unopened = Begin();
  unopened->Send("data");
  EXPECT_EQ(Field(unopened->Finish()), "message");
  const std::unique_ptr<Call> twice = Connect();
  twice->Open(name_, listener_.port);
  EXPECT_EQ(Field(twice->Finish()), "message");
  EXPECT_EQ(tests::ReceiveEnd(inside_.get()), -ECONNRESET);
  const std::unique_ptr<Call> empty = Connect();
  empty->Send("");
  EXPECT_EQ(Field(empty->Finish()), "data");
  const std::unique_ptr<Call> large = Connect();
  large->Send(std::string((256 << 10) + 1, 'x'));
  EXPECT_EQ(Field(large->Finish()), "data");
  const std::unique_ptr<Call> largest = Connect();
  largest->Send(std::string(256 << 10, 'x'));
  EXPECT_EQ(tests::Receive(inside_.get(), 256 << 10).size(), size_t{256} << 10);
}

TEST_F(PortRefusalTest, SaysWhatASandboxOfAnOlderVersionLacks) {
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    supervisor.RefuseSockets(
        sandbox::MakeFailure(wire::Reply::UNKNOWN_REQUEST, "unknown"));
  });
  const grpc::Status status = StatusOf(name_, listener_.port);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "SANDBOX_TOO_OLD");
}

TEST_F(PortRefusalTest, ReportsWhyTheSupervisorHasNoSockets) {
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    supervisor.RefuseSockets(sandbox::MakeFailure(
        wire::Reply::SANDBOX_NOT_READY, "the sandbox is not ready"));
  });
  EXPECT_EQ(Reason(StatusOf(name_, listener_.port)), "SANDBOX_NOT_READY");
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    supervisor.RefuseSockets(
        sandbox::MakeFailure(wire::Reply::SUPERVISOR_GONE, "gone"));
  });
  EXPECT_EQ(Reason(StatusOf(name_, listener_.port)), "SANDBOX_NOT_READY");
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    supervisor.RefuseSockets(
        sandbox::MakeFailure(wire::Reply::SHORTAGE, "no descriptor"));
  });
  EXPECT_EQ(Reason(StatusOf(name_, listener_.port)), "SERVER_FAULT");
}

TEST_F(PortRefusalTest, ReportsAServerThatDoesNotAccept) {
  EndService();
  Serve(absl::Milliseconds(50));
  listener_ = tests::ListenOnLoopback(AF_INET, 0, /*backlog=*/0);
  const UniqueFd first = tests::ConnectToLoopback(listener_.port);
  const grpc::Status status = StatusOf(name_, listener_.port);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "PORT_TIMED_OUT");
}

TEST_F(PortRefusalTest, IsRefusedWhileTheSandboxIsBeingDeleted) {
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    supervisor.IgnoreDeletions(true);
  });
  sandboxes_->registry().Find("box")->Delete(wire::ExitRecord::SANDBOX_DELETED,
                                             [](const absl::Status&) {});
  EXPECT_EQ(Reason(StatusOf(name_, listener_.port)), "SANDBOX_NOT_READY");
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    supervisor.Die(wire::SandboxEnd::DELETED, "");
  });
}

TEST_F(PortRefusalTest, WaitsForASupervisorThatIsNotFoundAgainYet) {
  EndService();
  factory_.FailAdoptions(absl::ResourceExhaustedError("open files"));
  Restart();
  Serve();
  std::unique_ptr<Call> call = Begin();
  call->Open(name_, listener_.port);
  timers_.AwaitTimers(2);  // the next attempt to connect, and the call's
  timers_.Advance(Sandbox::kKnownPatience);
  const grpc::Status status = call->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");

  timers_.AwaitTimers(1);
  call = Begin();
  call->Open(name_, listener_.port);
  timers_.AwaitTimers(2);
  factory_.FailAdoptions(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  EXPECT_TRUE(call->Next().has_connected());
}

TEST_F(PortRefusalTest, ReportsASocketThatCannotConnect) {
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    // A socket that listens cannot connect.
    std::vector<UniqueFd> sockets;
    sockets.push_back(tests::ListenOnLoopback().socket);
    supervisor.GiveSockets(std::move(sockets));
  });
  const grpc::Status status = StatusOf(name_, listener_.port);
  EXPECT_EQ(Reason(status), "SERVER_FAULT");
  EXPECT_THAT(status.error_message(),
              HasSubstr(absl::StrCat("connection to ", name_, ": connect: ")));
}

}  // namespace
}  // namespace server

// Calls of ConnectPort on fake supervisors, whose sandboxes share the network
// of the test.

#include "server/ports/port_call.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/port.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "server/core/connections.h"
#include "server/core/sandbox.h"
#include "server/ports/loopback_dial.h"
#include "server/ports/port_service.h"
#include "server/rpc/server_fixture.h"
#include "server/runtime/activity.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/network/loopback.h"

namespace server {
namespace {

using corral::v1::ConnectPortRequest;
using corral::v1::ConnectPortResponse;
using sandbox::UniqueFd;
namespace wire = sandbox::wire;

class PortCallTest : public ServerFixture {
 protected:
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<
        grpc::ClientReaderWriter<ConnectPortRequest, ConnectPortResponse>>
        stream;

    void Open(const std::string& name, uint32_t port) {
      ConnectPortRequest request;
      request.mutable_open()->set_name(name);
      request.mutable_open()->set_port(port);
      stream->Write(request);
    }
    void Send(const std::string& data) {
      ConnectPortRequest request;
      request.set_data(data);
      stream->Write(request);
    }
    void End() {
      ConnectPortRequest request;
      request.mutable_end();
      stream->Write(request);
    }
    // The next message; an empty one at the end of the stream.
    ConnectPortResponse Next() {
      ConnectPortResponse response;
      return stream->Read(&response) ? response : ConnectPortResponse();
    }
    // The next bytes: as many as `size`.
    std::string Receive(size_t size) {
      std::string bytes;
      while (bytes.size() < size) {
        const ConnectPortResponse response = Next();
        if (!response.has_data()) {
          break;
        }
        bytes += response.data();
      }
      return bytes;
    }
    grpc::Status Finish() {
      ConnectPortResponse ignored;
      while (stream->Read(&ignored)) {
      }
      return stream->Finish();
    }
  };

  PortCallTest() {
    Serve();
    name_ = CreateSandbox("box");
  }
  ~PortCallTest() override { EndService(); }

  // Serves ports from now on.
  void Serve(absl::Duration patience = LoopbackDial::kPatience) {
    service_ = std::make_unique<PortService>(sandboxes_.get(), activity_.get(),
                                             patience);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    // Not an in-process channel, on which a write waits for its reader.
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    ports_server_ = builder.BuildAndStart();
    stub_ = corral::v1::PortService::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  }
  void EndService() {
    ports_server_->Shutdown(std::chrono::system_clock::now());
    ports_server_.reset();
    service_.reset();
  }

  std::unique_ptr<Call> Begin() {
    auto call = std::make_unique<Call>();
    call->stream = stub_->ConnectPort(&call->context);
    return call;
  }
  // A call that is connected to the listener.
  std::unique_ptr<Call> Connect() {
    std::unique_ptr<Call> call = Begin();
    call->Open(name_, listener_.port);
    EXPECT_TRUE(call->Next().has_connected());
    inside_ = Accept();
    return call;
  }
  UniqueFd Accept() const {
    return UniqueFd(
        ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  grpc::Status StatusOf(const std::string& name, uint32_t port) {
    std::unique_ptr<Call> call = Begin();
    call->Open(name, port);
    return call->Finish();
  }
  void WithSupervisor(const std::function<void(tests::FakeSupervisor&)>& use) {
    factory_.With("box", use);
  }

  tests::LoopbackListener listener_ = tests::ListenOnLoopback();
  std::unique_ptr<PortService> service_;
  std::unique_ptr<grpc::Server> ports_server_;
  std::unique_ptr<corral::v1::PortService::Stub> stub_;
  std::string name_;
  UniqueFd inside_;
};

TEST_F(PortCallTest, PassesBytesBothWaysUntilBothHaveEnded) {
  const std::unique_ptr<Call> call = Connect();
  call->Send("question");
  EXPECT_EQ(tests::Receive(inside_.get(), 8), "question");
  call->End();
  EXPECT_EQ(tests::ReceiveEnd(inside_.get()), 0);
  tests::Send(inside_.get(), "answer");
  EXPECT_EQ(call->Receive(6), "answer");
  inside_.Reset();
  EXPECT_TRUE(call->Next().has_end());
  EXPECT_TRUE(call->Finish().ok());
}

TEST_F(PortCallTest, TakesDataThatIsSentBeforeTheAnswer) {
  const std::unique_ptr<Call> call = Begin();
  call->Open(name_, listener_.port);
  call->Send("early");
  inside_ = Accept();
  EXPECT_EQ(tests::Receive(inside_.get(), 5), "early");
}

TEST_F(PortCallTest, ReportsThatNobodyListens) {
  const grpc::Status status = StatusOf(name_, tests::UnusedPort());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "PORT_REFUSED");
}

TEST_F(PortCallTest, RefusesBadRequests) {
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
  large->Send(std::string((64 << 10) + 1, 'x'));
  EXPECT_EQ(Field(large->Finish()), "data");
  const std::unique_ptr<Call> largest = Connect();
  largest->Send(std::string(64 << 10, 'x'));
  EXPECT_EQ(tests::Receive(inside_.get(), 64 << 10).size(), size_t{64} << 10);
}

TEST_F(PortCallTest, PassesAResetFromInsideOnAfterItsData) {
  const std::unique_ptr<Call> call = Connect();
  tests::Send(inside_.get(), "last words");
  tests::ResetConnection(&inside_);
  EXPECT_EQ(call->Receive(10), "last words");
  const grpc::Status status = call->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(Reason(status), "CONNECTION_RESET");
}

TEST_F(PortCallTest, ResetsTheServerWhenTheClientCancels) {
  const std::unique_ptr<Call> call = Connect();
  call->context.TryCancel();
  EXPECT_EQ(tests::ReceiveEnd(inside_.get()), -ECONNRESET);
}

TEST_F(PortCallTest, ResetsTheServerWhenTheClientLeavesWithoutAnEnd) {
  const std::unique_ptr<Call> call = Connect();
  call->stream->WritesDone();
  EXPECT_EQ(tests::ReceiveEnd(inside_.get()), -ECONNRESET);
  EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(PortCallTest, EndsWithTheSandbox) {
  const std::unique_ptr<Call> call = Connect();
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    supervisor.Die(wire::SandboxEnd::INIT_DIED, "init died");
  });
  const grpc::Status status = call->Finish();
  EXPECT_EQ(Reason(status), "CONNECTION_RESET");
  EXPECT_EQ(tests::ReceiveEnd(inside_.get()), -ECONNRESET);
  EXPECT_EQ(Reason(StatusOf(name_, listener_.port)), "SANDBOX_NOT_READY");
}

TEST_F(PortCallTest, SaysWhatASandboxOfAnOlderVersionLacks) {
  WithSupervisor([](tests::FakeSupervisor& supervisor) {
    supervisor.RefuseSockets(
        sandbox::MakeFailure(wire::Reply::UNKNOWN_REQUEST, "unknown"));
  });
  const grpc::Status status = StatusOf(name_, listener_.port);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "SANDBOX_TOO_OLD");
}

TEST_F(PortCallTest, ReportsWhyTheSupervisorHasNoSockets) {
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

TEST_F(PortCallTest, EndsWhenItIsCancelledBeforeItIsConnected) {
  WithSupervisor(
      [](tests::FakeSupervisor& supervisor) { supervisor.HoldSockets(); });
  const std::unique_ptr<Call> call = Begin();
  call->Open(name_, listener_.port);
  size_t held = 0;
  while (held == 0) {
    WithSupervisor([&](tests::FakeSupervisor& supervisor) {
      held = supervisor.held_sockets();
    });
  }
  call->context.TryCancel();
  EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(PortCallTest, EndsWhenTheServerGivesWay) {
  const std::unique_ptr<Call> call = Connect();
  activity_->EndLastingCalls();
  EXPECT_EQ(Reason(call->Finish()), "SERVER_DRAINING");
  EXPECT_EQ(tests::ReceiveEnd(inside_.get()), -ECONNRESET);
  EXPECT_EQ(Reason(StatusOf(name_, listener_.port)), "SERVER_DRAINING");
}

TEST_F(PortCallTest, EndsThoughTheClientDoesNotRead) {
  const std::unique_ptr<Call> call = Connect();
  // More than gRPC and the kernel take.
  const timeval patience = {0, 200'000};
  ::setsockopt(inside_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience,
               sizeof(patience));
  const std::string block(64 << 10, 'x');
  while (::send(inside_.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
  }
  activity_->EndLastingCalls();
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::InfiniteDuration()));
  call->context.TryCancel();
}

TEST_F(PortCallTest, ReportsAServerThatDoesNotAccept) {
  EndService();
  Serve(absl::Milliseconds(50));
  listener_ = tests::ListenOnLoopback(AF_INET, 0, /*backlog=*/0);
  const UniqueFd first = tests::ConnectToLoopback(listener_.port);
  const grpc::Status status = StatusOf(name_, listener_.port);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(status), "PORT_TIMED_OUT");
}

TEST_F(PortCallTest, KeepsItsSandboxWhileItIsConnected) {
  corral::v1::CreateSandboxRequest request;
  request.set_parent("tenants/default");
  request.set_sandbox_id("idle");
  auto* const lifetime = request.mutable_sandbox()->mutable_lifetime();
  lifetime->mutable_idle_timeout()->set_seconds(60);
  corral::v1::Sandbox sandbox;
  grpc::ClientContext context;
  ASSERT_TRUE(sandbox_stub_->CreateSandbox(&context, request, &sandbox).ok());
  name_ = sandbox.name();
  const std::unique_ptr<Call> call = Connect();
  timers_.Advance(absl::Seconds(600));
  call->Send("question");
  EXPECT_EQ(tests::Receive(inside_.get(), 8), "question");
  call->context.TryCancel();
  call->Finish();
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::InfiniteDuration()));
  timers_.Advance(absl::Seconds(60));
  while (sandboxes_->registry().Find("idle") != nullptr) {
    std::this_thread::yield();
  }
}

TEST_F(PortCallTest, LeavesItsPlaceToAnotherConnection) {
  class IdleCall final : public LastingCall {
    void Fail(const absl::Status& /*status*/) override {}
  };
  Connections& connections = sandboxes_->registry().Find("box")->connections();
  // All places but one are taken.
  std::vector<std::shared_ptr<IdleCall>> calls;
  for (size_t i = 1; i < Connections::kMost; ++i) {
    calls.push_back(std::make_shared<IdleCall>());
    ASSERT_TRUE(connections.Add(calls.back().get(), calls.back()).ok());
  }
  {
    const std::unique_ptr<Call> call = Connect();
    EXPECT_EQ(Reason(StatusOf(name_, listener_.port)), "TOO_MANY_CONNECTIONS");
    call->context.TryCancel();
    call->Finish();
  }
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::InfiniteDuration()));
  Connect();
}

TEST_F(PortCallTest, IsRefusedWhileTheSandboxIsBeingDeleted) {
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

TEST_F(PortCallTest, WaitsForASupervisorThatIsNotFoundAgainYet) {
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

}  // namespace
}  // namespace server

// Connections to servers in sandboxes, and how they end.

#include "server/ports/port_call.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/core/connections.h"
#include "server/core/sandbox.h"
#include "server/ports/port_fixture.h"
#include "server/runtime/activity.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/network/loopback.h"

namespace server {
namespace {

namespace wire = sandbox::wire;

class PortCallTest : public PortFixture {
 protected:
  // Sends to the client, which does not read, more than gRPC and the kernel
  // take.
  void Fill() const {
    const timeval patience = {0, 200'000};
    ::setsockopt(inside_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience,
                 sizeof(patience));
    const std::string block(64 << 10, 'x');
    while (::send(inside_.get(), block.data(), block.size(), MSG_NOSIGNAL) >
           0) {
    }
  }
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
  Fill();
  activity_->EndLastingCalls();
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::Hours(1)));
  call->context.TryCancel();
}

TEST_F(PortCallTest, IgnoresWhatTheClientSendsWhileItEnds) {
  const std::unique_ptr<Call> call = Connect();
  // The end waits for the client to read.
  Fill();
  activity_->EndLastingCalls();
  call->Send("late");
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::Hours(1)));
  call->context.TryCancel();
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
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::Hours(1)));
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
  EXPECT_TRUE(activity_->AwaitNoLastingCall(absl::Hours(1)));
  Connect();
}

}  // namespace
}  // namespace server

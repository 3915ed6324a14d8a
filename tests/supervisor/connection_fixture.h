// A connection to a supervisor that the test plays on a socketpair.

#ifndef TESTS_SUPERVISOR_CONNECTION_FIXTURE_H_
#define TESTS_SUPERVISOR_CONNECTION_FIXTURE_H_

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "sandbox/client/sandbox_creation.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_process.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/idle_process.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {

class ConnectionFixture : public ::testing::Test {
 protected:
  ConnectionFixture() {
    auto pair = PacketSocket::Pair();
    first_ = std::move(pair->second);
    connection_ = MakeConnection(thread_.get_id(), std::move(pair->first));
  }
  ~ConnectionFixture() override {
    connection_.reset();
    loop_->Stop();
    thread_.join();
  }

  std::unique_ptr<LocalSupervisorConnection> MakeConnection(
      std::thread::id loop_thread, PacketSocket socket) {
    return std::make_unique<LocalSupervisorConnection>(
        loop_.get(), loop_thread, std::move(socket), &recorder_, &let_go_,
        [this] { ++lost_; });
  }

  SandboxCreation::Replace WithOther() {
    return [this]() -> absl::StatusOr<SupervisorProcess> {
      auto pair = PacketSocket::Pair();
      second_ = std::move(pair->second);
      replaced_.Callback()(absl::OkStatus());
      return SupervisorProcess{std::move(pair->first), other_.pidfd()};
    };
  }

  // Waits until the loop has nothing to do.
  void AwaitIdle() {
    Outcome idle;
    loop_->Post([this, &idle] {
      loop_->WhenIdle(
          [done = idle.Callback()]() mutable { done(absl::OkStatus()); });
    });
    EXPECT_THAT(idle.Wait(), tests::IsOk());
  }
  // Waits until the loop has run the timers that are due in `delay`.
  void AwaitTimers(absl::Duration delay) {
    Outcome due;
    loop_->Post([this, delay, &due] {
      loop_->After(
          delay, [done = due.Callback()]() mutable { done(absl::OkStatus()); });
    });
    EXPECT_THAT(due.Wait(), tests::IsOk());
  }
  // Sends more messages than a socket takes.
  static void Fill(SupervisorConnection& connection) {
    wire::Acknowledge acknowledge;
    acknowledge.set_execution_id(std::string(1000, 'x'));
    for (int i = 0; i < 2000; ++i) {
      connection.Acknowledge(acknowledge);
    }
  }

  static wire::ToSupervisor Read(PacketSocket& socket) {
    pollfd readable = {socket.fd(), POLLIN, 0};
    while (::poll(&readable, 1, -1) != 1) {
    }
    wire::ToSupervisor request;
    EXPECT_TRUE(*socket.Receive(&request));
    return request;
  }

  static wire::FromSupervisor ReplyTo(uint64_t request,
                                      wire::Reply::Failure failure) {
    wire::FromSupervisor message;
    message.mutable_reply()->set_request_id(request);
    message.mutable_reply()->set_failure(failure);
    message.mutable_reply()->set_message("why");
    return message;
  }

  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create().value();
  std::thread thread_ = std::thread([this] { loop_->Run(); });
  Recorder recorder_;
  std::atomic<bool> let_go_ = false;
  // How many supervisors were reported as lost.
  std::atomic<int> lost_ = 0;
  // The supervisors' ends of the sockets, and processes that stand for them.
  PacketSocket first_;
  PacketSocket second_;
  const IdleProcess process_;
  const IdleProcess other_;
  Outcome created_;
  Outcome replaced_;
  std::unique_ptr<LocalSupervisorConnection> connection_;
};

}  // namespace sandbox

#endif  // TESTS_SUPERVISOR_CONNECTION_FIXTURE_H_

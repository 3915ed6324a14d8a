// A connection to a supervisor that the test plays on a socketpair.

#include "sandbox/client/local_supervisor_connection.h"

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_process.h"
#include "tests/failure_matchers.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/connection_fixture.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

class LocalSupervisorConnectionTest : public ConnectionFixture {};

TEST_F(LocalSupervisorConnectionTest,
       AsksAnotherSupervisorWhenOneDoesNotAnswer) {
  wire::SandboxSpec spec;
  spec.set_id("box");
  connection_->Create(spec, process_.pidfd(), absl::Milliseconds(1),
                      WithOther(), created_.Callback());
  EXPECT_EQ(Read(first_).create_sandbox().id(), "box");
  process_.AwaitEnd();
  first_ = PacketSocket();  // the kernel closes it at the end of a process
  ASSERT_THAT(replaced_.Wait(), IsOk());
  const wire::ToSupervisor request = Read(second_);
  EXPECT_EQ(request.create_sandbox().id(), "box");
  wire::FromSupervisor answer;
  answer.mutable_reply()->set_request_id(request.request_id());
  ASSERT_THAT(second_.Send(answer), IsOk());
  EXPECT_THAT(created_.Wait(), IsOk());
}

TEST_F(LocalSupervisorConnectionTest, ReplacesASupervisorOnce) {
  connection_->Create(
      {}, process_.pidfd(), absl::Hours(1),
      [this]() -> absl::StatusOr<SupervisorProcess> {
        // Its other end is closed when this returns.
        auto pair = PacketSocket::Pair();
        return SupervisorProcess{std::move(pair->first), other_.pidfd()};
      },
      created_.Callback());
  first_ = PacketSocket();
  EXPECT_THAT(created_.Wait(),
              FailsWith(wire::Reply::SUPERVISOR_GONE, HasSubstr("gone")));
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
}

TEST_F(LocalSupervisorConnectionTest, ReplacesNoSupervisorThatHasAnswered) {
  connection_->Create({}, process_.pidfd(), absl::Hours(1), WithOther(),
                      created_.Callback());
  const uint64_t request = Read(first_).request_id();
  ASSERT_THAT(first_.Send(ReplyTo(request, wire::Reply::NONE)), IsOk());
  EXPECT_THAT(created_.Wait(), IsOk());
  first_ = PacketSocket();
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
  EXPECT_FALSE(second_.valid());
}

TEST_F(LocalSupervisorConnectionTest, KillsAReplacementWhoseConnectionFails) {
  connection_->Create({}, process_.pidfd(), absl::Hours(1), WithOther(),
                      created_.Callback());
  first_ = PacketSocket();
  ASSERT_THAT(replaced_.Wait(), IsOk());
  ASSERT_GE(::send(second_.fd(), "\xff", 1, 0), 0);  // no message
  EXPECT_THAT(created_.Wait(),
              FailsWith(wire::Reply::SUPERVISOR_GONE, HasSubstr("gone")));
  other_.AwaitEnd();
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
  EXPECT_EQ(lost_, 1);
  EXPECT_TRUE(process_.LivesOn());
}

TEST_F(LocalSupervisorConnectionTest,
       AsksAReplacementOnceThoughTheFirstWasNotAskedYet) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan opens a pipe to look at the first object of a class";
#endif
  wire::SandboxSpec spec;
  spec.set_workspace(std::string(1 << 20, 'x'));
  auto pair = PacketSocket::Pair();
  ASSERT_THAT(pair.status(), IsOk());
  second_ = std::move(pair->second);
  const auto socket = std::make_shared<PacketSocket>(std::move(pair->first));
  AwaitIdle();
  {
    // A message of this size needs one.
    const tests::NoDescriptors none;
    connection_->Create(
        spec, process_.pidfd(), absl::Hours(1),
        [this, socket]() -> absl::StatusOr<SupervisorProcess> {
          return SupervisorProcess{std::move(*socket), other_.pidfd()};
        },
        created_.Callback());
    AwaitIdle();
    first_ = PacketSocket();
    AwaitIdle();
  }
  const wire::ToSupervisor request = Read(second_);
  EXPECT_EQ(request.create_sandbox().workspace().size(), size_t{1} << 20);
  ASSERT_THAT(second_.Send(ReplyTo(request.request_id(), wire::Reply::NONE)),
              IsOk());
  EXPECT_THAT(created_.Wait(), IsOk());
  wire::ToSupervisor more;
  EXPECT_FALSE(*second_.Receive(&more));
}

TEST_F(LocalSupervisorConnectionTest,
       SendsLaterWhenTheHostIsShortOfDescriptors) {
  connection_->Listen(process_.pidfd());
  wire::WriteInput input;
  input.set_data(std::string(1 << 20, 'x'));
  // UBSan opens a pipe to look at the first object of a class.
  AwaitIdle();
  {
    const tests::NoDescriptors none;
    connection_->WriteInput(input,
                            [](absl::Status, const wire::InputState&) {});
    // It has tried once more.
    AwaitIdle();
  }
  EXPECT_EQ(Read(first_).write_input().data(), input.data());
}

TEST_F(LocalSupervisorConnectionTest, KillsASupervisorWhoseConnectionFails) {
  connection_->Listen(process_.pidfd());
  ASSERT_GE(::send(first_.fd(), "\xff", 1, 0), 0);  // no message
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
  process_.AwaitEnd();
}

TEST_F(LocalSupervisorConnectionTest, ReportsASupervisorThatEndsUnasked) {
  auto pair = PacketSocket::Pair();
  ASSERT_THAT(pair.status(), IsOk());
  Outcome lost;
  LocalSupervisorConnection connection(
      loop_.get(), thread_.get_id(), std::move(pair->first), &recorder_,
      &let_go_, [&lost] { lost.Callback()(absl::OkStatus()); });
  connection.Listen(process_.pidfd());
  pair->second = PacketSocket();
  EXPECT_THAT(lost.Wait(), IsOk());
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
}

TEST_F(LocalSupervisorConnectionTest,
       KillsASupervisorThatDoesNotEndItsSandbox) {
  auto pair = PacketSocket::Pair();
  ASSERT_THAT(pair.status(), IsOk());
  LocalSupervisorConnection connection(
      loop_.get(), thread_.get_id(), std::move(pair->first), &recorder_,
      &let_go_, [] {}, absl::Milliseconds(1));
  connection.Listen(process_.pidfd());
  Outcome deleted;
  connection.DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                           deleted.Callback());
  process_.AwaitEnd();
  pair->second = PacketSocket();  // the kernel closes it then
  EXPECT_FALSE(deleted.Wait().ok());
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
}

TEST_F(LocalSupervisorConnectionTest, PassesEachRequestAndItsReply) {
  connection_->Listen(process_.pidfd());
  using Request = wire::ToSupervisor;
  const std::function<void(SupervisorConnection::Done)> calls[] = {
      [&](auto done) { connection_->Start({}, std::move(done)); },
      [&](auto done) { connection_->Signal({}, std::move(done)); },
      [&](auto done) { connection_->Resize({}, std::move(done)); },
      [&](auto done) { connection_->AllowHosts({}, std::move(done)); },
      [&](auto done) { connection_->DeleteExecution("e1", std::move(done)); },
      [&](auto done) {
        connection_->DeleteSandbox(wire::ExitRecord::SANDBOX_EXPIRED,
                                   std::move(done));
      }};
  const Request::RequestCase cases[] = {
      Request::kStartExecution,  Request::kSignal,
      Request::kResize,          Request::kAllowHosts,
      Request::kDeleteExecution, Request::kDeleteSandbox};
  uint64_t last = 0;
  for (size_t i = 0; i < std::size(calls); ++i) {
    Outcome outcome;
    calls[i](outcome.Callback());
    const Request request = Read(first_);
    EXPECT_EQ(request.request_case(), cases[i]);
    EXPECT_EQ(request.delete_execution().execution_id(),
              cases[i] == Request::kDeleteExecution ? "e1" : "");
    EXPECT_GT(request.request_id(), last);
    last = request.request_id();
    // A reply to nobody is ignored.
    ASSERT_THAT(first_.Send(ReplyTo(last + 1, wire::Reply::FAULT)), IsOk());
    ASSERT_THAT(first_.Send(ReplyTo(last, wire::Reply::OFFSET_GAP)), IsOk());
    EXPECT_THAT(outcome.Wait(), FailsWith(wire::Reply::OFFSET_GAP, "why"));
    // So is a second one.
    ASSERT_THAT(first_.Send(ReplyTo(last, wire::Reply::FAULT)), IsOk());
    AwaitIdle();
  }
}

TEST_F(LocalSupervisorConnectionTest, PassesInputItsStateAndAcknowledgements) {
  connection_->Listen(process_.pidfd());
  wire::WriteInput input;
  input.set_offset(7);
  Outcome outcome;
  uint64_t accepted = 0;
  connection_->WriteInput(
      input, [&, done = outcome.Callback()](
                 absl::Status status, const wire::InputState& state) mutable {
        accepted = state.accepted_offset();
        done(std::move(status));
      });
  const wire::ToSupervisor request = Read(first_);
  EXPECT_EQ(request.write_input().offset(), 7u);
  wire::FromSupervisor reply = ReplyTo(request.request_id(), wire::Reply::NONE);
  reply.mutable_reply()->mutable_input()->set_accepted_offset(9);
  ASSERT_THAT(first_.Send(reply), IsOk());
  EXPECT_THAT(outcome.Wait(), IsOk());
  EXPECT_EQ(accepted, 9u);
  wire::Acknowledge acknowledge;
  acknowledge.set_offset(5);
  connection_->Acknowledge(acknowledge);
  EXPECT_EQ(Read(first_).acknowledge().offset(), 5u);
}

TEST_F(LocalSupervisorConnectionTest, PassesReportsOn) {
  connection_->Listen(process_.pidfd());
  wire::FromSupervisor message;
  message.mutable_snapshot()->set_schema_version(3);
  ASSERT_THAT(first_.Send(message), IsOk());
  EXPECT_EQ(recorder_.WaitForSnapshot().schema_version(), 3u);
  message.mutable_execution()->set_id("e1");
  message.mutable_execution()->set_state(wire::ExecutionRecord::EXITED);
  ASSERT_THAT(first_.Send(message), IsOk());
  EXPECT_EQ(recorder_.WaitForEnd("e1").id(), "e1");
  // One report for each change.
  message.mutable_output_changed()->add_changes();
  message.mutable_output_changed()->add_changes();
  ASSERT_THAT(first_.Send(message), IsOk());
  EXPECT_EQ(recorder_.WaitForMore(2), 3);
  message.mutable_egress_rules()->add_rules();
  ASSERT_THAT(first_.Send(message), IsOk());
  // A newer supervisor may send what this server does not know.
  ASSERT_THAT(first_.Send(wire::FromSupervisor()), IsOk());
  message.mutable_storage()->set_failure("full");
  ASSERT_THAT(first_.Send(message), IsOk());
  EXPECT_EQ(recorder_.WaitForStorage(true), "full");
  EXPECT_EQ(recorder_.egress_rules().rules_size(), 1);
}

TEST_F(LocalSupervisorConnectionTest, AnswersCallsWhoseSupervisorIsGone) {
  connection_->Listen(process_.pidfd());
  Outcome before;
  connection_->Resize({}, before.Callback());
  first_ = PacketSocket();
  const auto gone = FailsWith(wire::Reply::SUPERVISOR_GONE, HasSubstr("gone"));
  EXPECT_THAT(before.Wait(), gone);
  EXPECT_EQ(recorder_.WaitForGone().message(), "the supervisor ended unasked");
  Outcome after;
  connection_->Resize({}, after.Callback());
  EXPECT_THAT(after.Wait(), gone);
  connection_->Acknowledge({});
}

TEST_F(LocalSupervisorConnectionTest, ReportsTheEndThatASupervisorExplains) {
  connection_->Listen(process_.pidfd());
  wire::FromSupervisor message;
  message.mutable_failed()->set_cause(wire::SandboxEnd::SPAWNER_DIED);
  message.mutable_failed()->set_message("why");
  ASSERT_THAT(first_.Send(message), IsOk());
  first_ = PacketSocket();
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::SPAWNER_DIED);
  EXPECT_EQ(recorder_.WaitForGone().message(), "why");
  EXPECT_EQ(lost_, 0);
  EXPECT_TRUE(process_.LivesOn());
}

TEST_F(LocalSupervisorConnectionTest, ReportsADeletionThatWasAnswered) {
  connection_->Listen(process_.pidfd());
  Outcome deleted;
  connection_->DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                             deleted.Callback());
  const wire::ToSupervisor request = Read(first_);
  EXPECT_EQ(request.delete_sandbox().cause(),
            wire::ExitRecord::SANDBOX_DELETED);
  ASSERT_THAT(first_.Send(ReplyTo(request.request_id(), wire::Reply::NONE)),
              IsOk());
  first_ = PacketSocket();
  EXPECT_THAT(deleted.Wait(), IsOk());
  EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::DELETED);
  EXPECT_EQ(lost_, 0);
  EXPECT_TRUE(process_.LivesOn());
}

TEST_F(LocalSupervisorConnectionTest, SendsWhatASocketDoesNotTakeLaterInOrder) {
  connection_->Listen(process_.pidfd());
  constexpr uint64_t kCount = 2000;
  wire::Acknowledge acknowledge;
  acknowledge.set_execution_id(std::string(1000, 'x'));
  for (uint64_t i = 0; i < kCount; ++i) {
    acknowledge.set_offset(i);
    connection_->Acknowledge(acknowledge);
  }
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(Read(first_).acknowledge().offset(), i);
  }
  // It no longer waits for room, which there is.
  AwaitIdle();
}

}  // namespace
}  // namespace sandbox

// How a connection learns that a command was started, or why not.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/connection_fixture.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

class StartAnswerTest : public ConnectionFixture {};

wire::FromSupervisor ReportOf(const std::string& id, uint64_t answers) {
  wire::FromSupervisor report;
  report.mutable_execution()->set_id(id);
  report.mutable_execution()->set_answers(answers);
  return report;
}

TEST_F(StartAnswerTest, AsksForAUserOnlyWhereItIsNotOverlooked) {
  connection_->Listen(nullptr);
  Outcome started;
  wire::StartExecution start;
  start.set_id("e1");
  connection_->Start(start, [](const absl::Status&) {});
  EXPECT_EQ(Read(first_).start_execution().id(), "e1");
  start.mutable_command()->set_user_id(2001);
  connection_->Start(start, started.Callback());
  const wire::ToSupervisor request = Read(first_);
  EXPECT_EQ(request.start_with_user().command().user_id(), 2001u);
  ASSERT_THAT(
      first_.Send(ReplyTo(request.request_id(), wire::Reply::UNKNOWN_REQUEST)),
      IsOk());
  EXPECT_THAT(started.Wait(), FailsWith(wire::Reply::UNKNOWN_REQUEST, "why"));
}

TEST_F(StartAnswerTest, TakesTheReportOfAStartAsItsAnswer) {
  connection_->Listen(process_.pidfd());
  wire::StartExecution start;
  start.set_id("e1");
  int reports = 0;
  for (const uint32_t user : {0U, 2001U}) {
    start.mutable_command()->set_user_id(user);
    Outcome started;
    connection_->Start(start, started.Callback());
    const wire::ToSupervisor request = Read(first_);
    EXPECT_EQ(user == 0 ? request.start_execution().report_answers()
                        : request.start_with_user().report_answers(),
              request.request_id());
    const wire::FromSupervisor report = ReportOf("e1", request.request_id());
    ASSERT_THAT(first_.Send(report), IsOk());
    EXPECT_THAT(started.Wait(), IsOk());
    // An older supervisor replies too.
    ASSERT_THAT(first_.Send(ReplyTo(request.request_id(), wire::Reply::NONE)),
                IsOk());
    ASSERT_THAT(first_.Send(report), IsOk());
    reports += 2;
    recorder_.WaitForMore(reports - 1);
  }
}

TEST_F(StartAnswerTest, TakesTheReplyToAStartThatIsRefused) {
  connection_->Listen(process_.pidfd());
  wire::StartExecution start;
  start.set_id("e1");
  for (int i = 0; i < 2; ++i) {
    Outcome started;
    Outcome same;
    connection_->Start(start, started.Callback());
    connection_->Start(start, same.Callback());
    const wire::ToSupervisor first = Read(first_);
    const wire::ToSupervisor second = Read(first_);
    // Neither a report of the execution that exists answers them, nor one of
    // another execution, which an earlier server has started.
    const uint64_t number = first.request_id();
    ASSERT_THAT(first_.Send(ReportOf("e1", number - 1)), IsOk());
    ASSERT_THAT(first_.Send(ReportOf("e0", number)), IsOk());
    for (const wire::ToSupervisor& request : {first, second}) {
      ASSERT_THAT(
          first_.Send(ReplyTo(request.request_id(), wire::Reply::STORAGE)),
          IsOk());
    }
    EXPECT_THAT(started.Wait(),
                FailsWith(wire::Reply::STORAGE, HasSubstr("why")));
    EXPECT_THAT(same.Wait(), FailsWith(wire::Reply::STORAGE, HasSubstr("why")));
  }
}

}  // namespace
}  // namespace sandbox

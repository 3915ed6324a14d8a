// RunExecutions, from a client's side.

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "grpcpp/support/sync_stream.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/rpc/run_stream.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::ExecutionAnswer;
using ::corral::v1::RunExecutionsRequest;
using ::corral::v1::RunExecutionsResponse;
using ::corral::v1::StartExecutionRequest;
using ::tests::FakeSupervisor;

class RunExecutionsTest : public ServerFixture {
 protected:
  // More executions may run in a sandbox than a stream may leave unanswered.
  RunExecutionsTest() : ServerFixture(kMaxSandboxes, 5000, 2) {}

  struct RunCall {
    grpc::ClientContext context;
    std::unique_ptr<
        grpc::ClientReaderWriter<RunExecutionsRequest, RunExecutionsResponse>>
        stream;
    // Answers that were received.
    std::deque<ExecutionAnswer> answers;

    static StartExecutionRequest StartOf(const std::string& sandbox,
                                         const std::string& id,
                                         const std::string& request_id = "") {
      StartExecutionRequest start;
      start.set_parent(sandbox);
      start.set_execution_id(id);
      start.set_request_id(request_id);
      *start.mutable_command() = Command();
      return start;
    }
    void Start(const std::string& sandbox, const std::string& id,
               const std::string& request_id = "") {
      RunExecutionsRequest request;
      *request.add_starts() = StartOf(sandbox, id, request_id);
      EXPECT_TRUE(stream->Write(request));
    }
    // Returns the next answer; an empty one at the end of the call.
    ExecutionAnswer Next() {
      RunExecutionsResponse response;
      while (answers.empty() && stream->Read(&response)) {
        answers.insert(answers.end(), response.answers().begin(),
                       response.answers().end());
      }
      if (answers.empty()) {
        return {};
      }
      ExecutionAnswer answer = answers.front();
      answers.pop_front();
      return answer;
    }
    // Sends no more requests, and returns the status after the last answer.
    grpc::Status End() {
      stream->WritesDone();
      return Finish();
    }
    grpc::Status Finish() {
      EXPECT_EQ(Next().result_case(), ExecutionAnswer::RESULT_NOT_SET);
      return stream->Finish();
    }
  };

  std::unique_ptr<RunCall> Begin() {
    auto call = std::make_unique<RunCall>();
    call->stream = execution_stub_->RunExecutions(&call->context);
    return call;
  }
  static std::string NameOf(const std::string& sandbox, const std::string& id) {
    return absl::StrCat(sandbox, "/executions/", id);
  }
  void AwaitRunning(const std::string& name) {
    corral::v1::GetExecutionRequest request;
    request.set_name(name);
    Execution execution;
    while (!Call(execution_stub_.get(), &ExecutionStub::GetExecution, request,
                 &execution)
                .ok() ||
           execution.state() == Execution::STARTING) {
      std::this_thread::yield();
    }
  }
  void Exit(const std::string& name, int code) {
    AwaitRunning(name);
    factory_.Exit(name, code);
  }
};

TEST_F(RunExecutionsTest, AnswersWhenACommandHasEnded) {
  const std::string sandbox = CreateSandbox("box");
  const auto call = Begin();
  call->Start(sandbox, "a");
  call->Start(sandbox, "b");
  Exit(NameOf(sandbox, "b"), 2);
  ExecutionAnswer answer = call->Next();
  EXPECT_EQ(answer.start_number(), 1);
  EXPECT_EQ(answer.ended().name(), NameOf(sandbox, "b"));
  EXPECT_EQ(answer.ended().state(), Execution::EXITED);
  EXPECT_EQ(answer.ended().exit().code(), 2);
  EXPECT_FALSE(answer.ended().has_command());
  Exit(NameOf(sandbox, "a"), 0);
  answer = call->Next();
  EXPECT_EQ(answer.start_number(), 0);
  EXPECT_EQ(answer.ended().name(), NameOf(sandbox, "a"));
  EXPECT_TRUE(call->End().ok());
}

TEST_F(RunExecutionsTest, ARefusalEndsNothingButItsStart) {
  const std::string sandbox = CreateSandbox("box");
  const auto call = Begin();
  call->Start("tenants/default/sandboxes/none", "a");
  ExecutionAnswer answer = call->Next();
  EXPECT_EQ(answer.start_number(), 0);
  EXPECT_EQ(answer.error().code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Reason(grpc::Status(grpc::StatusCode::NOT_FOUND, "",
                                answer.error().SerializeAsString())),
            "SANDBOX_NOT_FOUND");
  // A start without anything.
  RunExecutionsRequest empty;
  empty.add_starts();
  ASSERT_TRUE(call->stream->Write(empty));
  answer = call->Next();
  EXPECT_EQ(answer.start_number(), 1);
  EXPECT_EQ(answer.error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  call->Start(sandbox, "b");
  Exit(NameOf(sandbox, "b"), 0);
  answer = call->Next();
  EXPECT_EQ(answer.start_number(), 2);
  EXPECT_TRUE(answer.has_ended());
  EXPECT_TRUE(call->End().ok());
}

TEST_F(RunExecutionsTest, EndsAfterTheLastAnswerWhenTheCallerHasHalfClosed) {
  const std::string sandbox = CreateSandbox("box");
  const auto call = Begin();
  call->Start(sandbox, "a");
  call->stream->WritesDone();
  Exit(NameOf(sandbox, "a"), 0);
  EXPECT_TRUE(call->Next().has_ended());
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_TRUE(Begin()->End().ok());
}

TEST_F(RunExecutionsTest, TheSameStartOnAnotherCallGetsTheSameExecution) {
  const std::string sandbox = CreateSandbox("box");
  auto call = Begin();
  call->Start(sandbox, "a", "first");
  AwaitRunning(NameOf(sandbox, "a"));
  call->context.TryCancel();
  EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(Get(NameOf(sandbox, "a")).state(), Execution::RUNNING);
  call = Begin();
  call->Start(sandbox, "a", "first");
  call->Start(sandbox, "a", "second");
  ExecutionAnswer answer = call->Next();
  EXPECT_EQ(answer.start_number(), 1);
  EXPECT_EQ(answer.error().code(), grpc::StatusCode::ALREADY_EXISTS);
  Exit(NameOf(sandbox, "a"), 3);
  answer = call->Next();
  EXPECT_EQ(answer.start_number(), 0);
  EXPECT_EQ(answer.ended().exit().code(), 3);
  // It has ended before this request.
  call->Start(sandbox, "a", "first");
  EXPECT_EQ(call->Next().ended().exit().code(), 3);
  EXPECT_TRUE(call->End().ok());
  factory_.With("box", [](FakeSupervisor& supervisor) {
    EXPECT_EQ(supervisor.starts(), 1);
  });
}

TEST_F(RunExecutionsTest, ReportsCommandsThatAreLostWithTheirSandbox) {
  const std::string sandbox = CreateSandbox("box");
  const auto call = Begin();
  call->Start(sandbox, "a");
  AwaitRunning(NameOf(sandbox, "a"));
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
  });
  EXPECT_EQ(call->Next().ended().state(), Execution::LOST);
  EXPECT_TRUE(call->End().ok());
}

TEST_F(RunExecutionsTest, ReadsNoMoreThanItMayLeaveUnanswered) {
  const std::string sandbox = CreateSandbox("box");
  const auto call = Begin();
  constexpr int kMore = 5;
  const int all = static_cast<int>(RunStream::kMaxUnanswered) + kMore;
  std::thread writer([&] {
    for (int i = 0; i < all; ++i) {
      call->Start(sandbox, absl::StrCat("e", i));
    }
    call->stream->WritesDone();
  });
  const int last = static_cast<int>(RunStream::kMaxUnanswered) - 1;
  AwaitRunning(NameOf(sandbox, absl::StrCat("e", last)));
  const auto found = sandboxes_->registry().Find("box");
  EXPECT_EQ(found->execution_count(), RunStream::kMaxUnanswered);
  for (int i = 0; i < all; ++i) {
    Exit(NameOf(sandbox, absl::StrCat("e", i)), 0);
    EXPECT_EQ(call->Next().start_number(), i);
    EXPECT_LE(found->execution_count(), RunStream::kMaxUnanswered + i + 1);
  }
  writer.join();
  EXPECT_TRUE(call->Finish().ok());
}

TEST_F(RunExecutionsTest, KeepsASandboxWhileACommandIsUnanswered) {
  corral::v1::CreateSandboxRequest create;
  create.set_parent("tenants/default");
  create.set_sandbox_id("box");
  create.mutable_sandbox()
      ->mutable_lifetime()
      ->mutable_lease_timeout()
      ->set_seconds(60);
  corral::v1::Sandbox sandbox;
  ASSERT_TRUE(
      Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, create, &sandbox)
          .ok());
  const auto call = Begin();
  call->Start(sandbox.name(), "a");
  AwaitRunning(NameOf(sandbox.name(), "a"));
  timers_.Advance(absl::Minutes(10));
  EXPECT_EQ(sandboxes_->registry().Find("box")->Describe().state(),
            corral::v1::Sandbox::READY);
  Exit(NameOf(sandbox.name(), "a"), 0);
  EXPECT_TRUE(call->Next().has_ended());
  EXPECT_TRUE(call->End().ok());
}

TEST_F(RunExecutionsTest, ADrainingServerRefusesStartsAndEndsTheCall) {
  const std::string sandbox = CreateSandbox("box");
  const auto call = Begin();
  call->Start(sandbox, "a");
  AwaitRunning(NameOf(sandbox, "a"));
  activity_->RefuseWork(absl::Seconds(1));
  call->Start(sandbox, "b");
  const ExecutionAnswer answer = call->Next();
  EXPECT_EQ(answer.start_number(), 1);
  EXPECT_EQ(answer.error().code(), grpc::StatusCode::UNAVAILABLE);
  activity_->EndLastingCalls();
  const grpc::Status status = call->Finish();
  EXPECT_EQ(Reason(status), "SERVER_DRAINING");
  EXPECT_EQ(Get(NameOf(sandbox, "a")).state(), Execution::RUNNING);
  activity_->AdmitWorkAgain();
}

TEST_F(RunExecutionsTest, ARequestMayHaveManyStarts) {
  const std::string sandbox = CreateSandbox("box");
  const auto call = Begin();
  RunExecutionsRequest request;
  *request.add_starts() = RunCall::StartOf(sandbox, "a");
  *request.add_starts() = RunCall::StartOf("tenants/default/sandboxes/b", "b");
  *request.add_starts() = RunCall::StartOf(sandbox, "c");
  ASSERT_TRUE(call->stream->Write(request));
  ExecutionAnswer answer = call->Next();
  EXPECT_EQ(answer.start_number(), 1);
  EXPECT_TRUE(answer.has_error());
  call->Start(sandbox, "d");
  for (const auto& [id, number] : {std::pair("d", 3), {"c", 2}, {"a", 0}}) {
    Exit(NameOf(sandbox, id), 0);
    answer = call->Next();
    EXPECT_EQ(answer.start_number(), number);
    EXPECT_EQ(answer.ended().name(), NameOf(sandbox, id));
  }
  EXPECT_TRUE(call->End().ok());
}

TEST_F(RunExecutionsTest, ARequestWithTooManyStartsEndsTheCall) {
  const auto call = Begin();
  RunExecutionsRequest request;
  for (size_t i = 0; i <= RunStream::kMaxStarts; ++i) {
    request.add_starts();
  }
  ASSERT_TRUE(call->stream->Write(request));
  const grpc::Status status = call->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Field(status), "starts");
}

// No retention removes what is watched.
TEST_F(RunExecutionsTest, WatchesAnExecutionUntilItsAnswerIsRead) {
  const std::string sandbox = CreateSandbox("box");
  const auto call = Begin();
  call->Start(sandbox, "a");
  Exit(NameOf(sandbox, "a"), 4);
  EXPECT_EQ(Wait(NameOf(sandbox, "a")).exit().code(), 4);
  const auto found = sandboxes_->registry().Find("box");
  EXPECT_TRUE(found->IsWatched("a"));
  EXPECT_EQ(call->Next().ended().exit().code(), 4);
  EXPECT_TRUE(call->End().ok());
  while (found->IsWatched("a")) {
    std::this_thread::yield();
  }
}

TEST_F(RunExecutionsTest, ReadsNoMoreWhileItsCommandsHaveNotStarted) {
  const std::string sandbox = CreateSandbox("box");
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.RefuseStarts(
        sandbox::MakeFailure(sandbox::wire::Reply::SUPERVISOR_GONE, "gone"));
  });
  const auto call = Begin();
  std::thread writer([&] {
    for (int i = 0; i < 10; ++i) {
      RunExecutionsRequest request;
      *request.add_starts() = RunCall::StartOf(sandbox, absl::StrCat("e", i));
      request.mutable_starts(0)->mutable_command()->add_argv(
          std::string(RunStream::kMaxStartingBytes / 8, 'x'));
      call->stream->Write(request);
    }
  });
  const auto found = sandboxes_->registry().Find("box");
  while (found->execution_count() < 8) {
    std::this_thread::yield();
  }
  EXPECT_EQ(found->execution_count(), 8);
  call->context.TryCancel();
  writer.join();
  EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
  });
}

TEST_F(RunExecutionsTest, CountsAsAWaitingCall) {
  const auto first = Begin();
  const auto second = Begin();
  first->Start("tenants/default/sandboxes/none", "a");
  second->Start("tenants/default/sandboxes/none", "a");
  EXPECT_TRUE(first->Next().has_error());
  EXPECT_TRUE(second->Next().has_error());
  EXPECT_EQ(Reason(Begin()->Finish()), "TOO_MANY_CALLS");
  EXPECT_TRUE(first->End().ok());
  EXPECT_TRUE(second->End().ok());
}

}  // namespace
}  // namespace server

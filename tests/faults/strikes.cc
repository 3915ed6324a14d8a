// Combines a fault with the scenario.

#include <signal.h>

#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/faults/fault_test.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::StartExecutionRequest;

// Restarts the server whenever it dies. No other code may use the server
// meanwhile.
class Keeper {
 public:
  explicit Keeper(Corrald& server)
      : thread_([this, &server] { Run(server); }) {}
  ~Keeper() { Stop(); }

  // Returns how often the server died.
  int Stop() {
    stopping_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
    return deaths_;
  }

 private:
  void Run(Corrald& server) {
    while (!stopping_) {
      if (!server.IsRunning()) {
        ++deaths_;
        server.Wait();
        server.Launch(server.UsualArguments());
      }
      absl::SleepFor(absl::Milliseconds(2));
    }
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<int> deaths_ = 0;
  std::thread thread_;
};

bool Kills(const Fault& fault) { return fault.effect == "signal=KILL"; }

bool HasStruck(const Fault& fault, const std::string& record) {
  return Kills(fault) ? Tracer::HasKilled(record) : Tracer::HasStruck(record);
}

}  // namespace

bool FaultTest::StrikeSupervisor(const Fault& fault) {
  const std::string sandbox = CreateSandbox(absl::StrCat("s", ++runs_));
  RunAndCompare(Request(sandbox, "before"));
  const pid_t supervisor = SupervisorOf(sandbox);
  if (supervisor == 0) {
    ExpectDeleted(sandbox);
    return false;
  }
  Tracer tracer(supervisor, fault, record());
  const StartExecutionRequest request = Request(sandbox, "struck");
  RunAndCompare(request);
  if (last_.has_value() && !Kills(fault)) {
    EXPECT_NE(last_->state(), Execution::LOST) << last_->ShortDebugString();
  }
  RestartServer();
  CompareAgain(request);
  DeleteSandbox(sandbox).IgnoreError();
  tracer.Detach();
  ExpectDeleted(sandbox);
  return HasStruck(fault, record());
}

bool FaultTest::StrikeServer(const Fault& fault) {
  const std::string sandbox = CreateSandbox(absl::StrCat("s", ++runs_));
  Tracer tracer(server_.pid(), fault, record());
  const StartExecutionRequest request = Request(sandbox, "struck");
  Keeper keeper(server_);
  RunAndCompare(request);
  const std::string second = absl::StrCat("s", ++runs_);
  // The creation fails as long as the supervisors that the server starts are
  // struck too.
  Calls impatient(server_.Connect(), absl::Seconds(1));
  if (TryToCreateSandbox(impatient, second).ok()) {
    AwaitWorkBehindCreation();
  }
  DeleteSandbox(absl::StrCat(kTenant, "/sandboxes/", second)).IgnoreError();
  const int deaths = keeper.Stop();
  EXPECT_LE(deaths, Kills(fault) ? 1 : 0);
  tracer.Detach();
  RestartServer();
  CompareAgain(request);
  EXPECT_NE(last_.value_or(Execution()).state(), Execution::LOST);
  ExpectDeleted(sandbox);
  ExpectDeleted(absl::StrCat(kTenant, "/sandboxes/", second));
  // A supervisor that makes a sandbox kills processes itself.
  return Kills(fault) ? deaths > 0 : Tracer::HasStruck(record());
}

bool FaultTest::StrikeRecovery(const Fault& fault) {
  const std::string sandbox = CreateSandbox(absl::StrCat("s", ++runs_));
  const StartExecutionRequest request = Request(sandbox, "before");
  RunAndCompare(request);
  server_.Kill();
  server_.Launch(server_.UsualArguments(), Tracer::Prefix(fault, record()));
  {
    // The server may exit and may refuse calls, but its answers must be true.
    const Keeper keeper(server_);
    ExpectTrueAnswer(request);
  }
  // Checked before this test itself kills the server.
  const bool struck = HasStruck(fault, record());
  RestartServer();
  CompareAgain(request);
  ExpectDeleted(sandbox);
  return struck;
}

void FaultTest::StrikeForAWhile(const std::string& calls,
                                const std::string& effect) {
  const std::string sandbox = CreateSandbox("struck");
  RunAndCompare(Request(sandbox, "before"));
  const pid_t supervisor = SupervisorOf(sandbox);
  ASSERT_NE(supervisor, 0);
  Tracer tracer(supervisor, {calls, effect, 1, true}, record());
  const StartExecutionRequest request = Request(sandbox, "struck");
  Execution execution;
  const grpc::Status status = Start(request, &execution);
  if (!status.ok()) {
    EXPECT_TRUE(ReasonOf(status) == "STORAGE_FAILED" ||
                ReasonOf(status) == "SERVER_FAULT")
        << ToString(status);
    EXPECT_EQ(CountStarts(request), 0);
  } else {
    ExpectTrueAnswer(request);
  }
  ExpectOthersAreServed();
  // Records are synced some time after the end.
  while (!Tracer::HasStruck(record())) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  tracer.Detach();
  RunAndCompare(request);
  EXPECT_EQ(last_.value_or(Execution()).state(), Execution::EXITED);
  RestartServer();
  CompareAgain(request);
  ExpectDeleted(sandbox);
}

void FaultTest::ExpectTrueAnswer(const StartExecutionRequest& request) {
  corral::v1::WaitExecutionRequest wait;
  wait.set_name(
      absl::StrCat(request.parent(), "/executions/", request.execution_id()));
  wait.mutable_timeout()->set_nanos(300000000);
  Execution answer;
  const grpc::Status status =
      calls_->Call(&Calls::ExecutionStub::WaitExecution, wait, &answer);
  SCOPED_TRACE(answer.ShortDebugString());
  if (!status.ok()) {
    EXPECT_NE(status.error_code(), grpc::StatusCode::NOT_FOUND);
    return;
  }
  EXPECT_NE(answer.state(), Execution::LOST);
  EXPECT_NE(answer.state(), Execution::FAILED_TO_START);
  if (answer.state() == Execution::EXITED) {
    Compare(request, answer);
  }
}

}  // namespace tests

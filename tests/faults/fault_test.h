// Makes one system call after another of corrald or of a supervisor fail, while
// a command runs whose output and end are known.

#ifndef TESTS_FAULTS_FAULT_TEST_H_
#define TESTS_FAULTS_FAULT_TEST_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "gtest/gtest.h"
#include "tests/chaos/calls.h"
#include "tests/integration/corrald.h"
#include "tests/tracer.h"

namespace tests {

constexpr char kTenant[] = "tenants/default";

// Strike every call, instead of only the first calls and some of the later
// ones.
extern bool strike_every_call;

class FaultTest : public ::testing::Test {
 protected:
  void SetUp() override;
  // Expects that nothing is left.
  void TearDown() override;

  // Calls `strike` with `when` = 1, 2, ... until it returns that nothing was
  // struck.
  void Enumerate(Fault fault, const std::function<bool(const Fault&)>& strike);

  // Runs the command in a new sandbox while calls of the sandbox's supervisor,
  // or of the server, fail. Returns false if no call failed.
  bool StrikeSupervisor(const Fault& fault);
  bool StrikeServer(const Fault& fault);
  // Starts the server while its calls fail.
  bool StrikeRecovery(const Fault& fault);

  // While the calls fail, the server may not invent an end or output. When they
  // succeed again, the command goes on.
  void StrikeForAWhile(const std::string& calls, const std::string& effect);

  // Repeats the call while the server reports that it or its disk failed: each
  // of its threads may be struck once.
  static grpc::Status UntilServed(const std::function<grpc::Status()>& call);

  grpc::Status TryToCreateSandbox(Calls& calls, const std::string& id);
  std::string CreateSandbox(const std::string& id);
  // Blocks until the server has done what it does some time after it has made a
  // sandbox: it syncs the description, and then makes directories for the next
  // sandboxes. Gives up when a fault prevents that.
  void AwaitWorkBehindCreation() const;
  grpc::Status DeleteSandbox(const std::string& name);
  pid_t SupervisorOf(const std::string& sandbox) const;

  corral::v1::StartExecutionRequest Request(const std::string& sandbox,
                                            const std::string& id);
  grpc::Status Start(const corral::v1::StartExecutionRequest& request,
                     corral::v1::Execution* execution);

  // Starts the command, repeatedly until its fate is known, and compares its
  // end and its output.
  void RunAndCompare(const corral::v1::StartExecutionRequest& request);
  // Compares again after a restart: nothing may have changed.
  void CompareAgain(const corral::v1::StartExecutionRequest& request);
  void Compare(const corral::v1::StartExecutionRequest& request,
               const corral::v1::Execution& ended);
  void CompareOutput(const corral::v1::Execution& ended,
                     corral::v1::Stream stream);
  // Returns the retained bytes of a stream, or no value if reading failed.
  std::optional<std::string> Read(const std::string& execution,
                                  corral::v1::Stream stream);
  std::optional<corral::v1::Execution> Wait(const std::string& execution);
  int CountStarts(const corral::v1::StartExecutionRequest& request) const;

  // Expects that the answer of the server, if there is one, is true.
  void ExpectTrueAnswer(const corral::v1::StartExecutionRequest& request);

  // Expects that faults do not affect another sandbox.
  void ExpectOthersAreServed();
  // Deletes the sandbox without a fault, if it could not be deleted under one.
  void ExpectDeleted(const std::string& sandbox);
  void RestartServer();

  std::string record() const { return server_.directory() + "/strace"; }

  Corrald server_;
  std::unique_ptr<Calls> calls_;
  std::string other_sandbox_;
  // The execution that was compared last.
  std::optional<corral::v1::Execution> last_;
  int runs_ = 0;
};

}  // namespace tests

#endif  // TESTS_FAULTS_FAULT_TEST_H_

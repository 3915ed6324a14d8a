// A test that makes one system call after the other of corrald or of a
// supervisor fail, while a command runs whose output and end are known.

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
#include "tests/faults/tracer.h"
#include "tests/integration/corrald.h"

namespace tests {

constexpr char kTenant[] = "tenants/default";

// Every call is struck, not only the first ones and some of the later ones.
extern bool strike_every_call;

class FaultTest : public ::testing::Test {
 protected:
  void SetUp() override;
  // Nothing is left.
  void TearDown() override;

  // Calls `strike` with `when` from 1 on until it returns that nothing was
  // struck.
  void Enumerate(Fault fault, const std::function<bool(const Fault&)>& strike);

  // Runs the command in a sandbox of its own while calls of the sandbox's
  // supervisor, or of the server, fail. False: none did.
  bool StrikeSupervisor(const Fault& fault);
  bool StrikeServer(const Fault& fault);
  // While calls of a server that starts fail.
  bool StrikeRecovery(const Fault& fault);

  // As long as they last, no end and no output is made up; when they are over,
  // the command goes on.
  void StrikeForAWhile(const std::string& calls, const std::string& effect);

  // Calls again while the server says that it or its disk failed: each of its
  // threads may be struck once.
  static grpc::Status UntilServed(const std::function<grpc::Status()>& call);

  grpc::Status TryToCreateSandbox(const std::string& id);
  std::string CreateSandbox(const std::string& id);
  grpc::Status DeleteSandbox(const std::string& name);
  pid_t SupervisorOf(const std::string& sandbox) const;

  corral::v1::StartExecutionRequest Request(const std::string& sandbox,
                                            const std::string& id);
  grpc::Status Start(const corral::v1::StartExecutionRequest& request,
                     corral::v1::Execution* execution);

  // Starts the command as often as it takes to know what became of it, and
  // compares its end and its output.
  void RunAndCompare(const corral::v1::StartExecutionRequest& request);
  // Once more, after a restart: nothing may have changed.
  void CompareAgain(const corral::v1::StartExecutionRequest& request);
  void Compare(const corral::v1::StartExecutionRequest& request,
               const corral::v1::Execution& ended);
  void CompareOutput(const corral::v1::Execution& ended,
                     corral::v1::Stream stream);
  // What is kept of a stream from its begin on. Without a value: it failed.
  std::optional<std::string> Read(const std::string& execution,
                                  corral::v1::Stream stream);
  std::optional<corral::v1::Execution> Wait(const std::string& execution);
  int CountStarts(const corral::v1::StartExecutionRequest& request) const;

  // What the server says now, if it says anything.
  void ExpectTrueAnswer(const corral::v1::StartExecutionRequest& request);

  // Another sandbox than the one that is struck is as if nothing were.
  void ExpectOthersAreServed();
  // Whatever could not be deleted under a fault is deleted without one.
  void ExpectDeleted(const std::string& sandbox);
  void RestartServer();

  std::string record() const { return server_.directory() + "/strace"; }

  Corrald server_;
  std::unique_ptr<Calls> calls_;
  std::string other_sandbox_;
  // Of the execution that was compared last.
  std::optional<corral::v1::Execution> last_;
  int runs_ = 0;
};

}  // namespace tests

#endif  // TESTS_FAULTS_FAULT_TEST_H_

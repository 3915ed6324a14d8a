#include "bridge/cli/attach/execution_control.h"

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bridge/client/connection.h"
#include "bridge/client/connection_fixture.h"
#include "corral/v1/execution_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using client::kExecution;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::tests::FakeExecution;

// A command in a terminal that ends by SIGKILL only.
class ExecutionControlTest : public ::testing::Test {
 protected:
  ExecutionControlTest() {
    client::Start(*connection_, "cmd", client::WithTerminal());
    server_.FindExecution(kExecution)->WaitForOutput(corral::v1::TERMINAL, 5);
    control_ = std::make_unique<ExecutionControl>(
        *connection_, [this] { ++given_up_; }, [this] { return now_; });
  }

  std::vector<int> Signals() {
    std::vector<int> numbers;
    for (const auto& signal : server_.signals()) {
      EXPECT_EQ(signal.name(), kExecution);
      EXPECT_EQ(signal.scope(), corral::v1::SignalExecutionRequest::TREE);
      numbers.push_back(signal.signal());
    }
    return numbers;
  }

  tests::FakeServer server_{[](FakeExecution& command) {
    command.CatchSignals();
    command.Print("ready");
    command.Hang();
  }};
  std::unique_ptr<client::Connection> connection_ = client::Connect(server_);
  int given_up_ = 0;
  absl::Time now_ = absl::UnixEpoch();
  std::unique_ptr<ExecutionControl> control_;
};

TEST_F(ExecutionControlTest, SendsSignalsToTheWholeTree) {
  control_->SetExecution(kExecution);
  control_->Forward(SIGTERM);
  control_->Forward(SIGINT);
  control_->Kill();
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM, SIGINT, SIGKILL));
  EXPECT_EQ(given_up_, 0);
  EXPECT_EQ(control_->undelivered_signal(), 0);
}

TEST_F(ExecutionControlTest, GivesUpIfTheCommandIsNotKnownToRun) {
  control_->Forward(SIGTERM);
  EXPECT_EQ(given_up_, 1);
  control_->Forward(SIGINT);
  EXPECT_EQ(given_up_, 2);
  EXPECT_EQ(control_->undelivered_signal(), SIGTERM);
  EXPECT_THAT(server_.signals(), IsEmpty());
}

TEST_F(ExecutionControlTest, KillsAtTheThirdInterruptWithinTwoSeconds) {
  control_->SetExecution(kExecution);
  // These do not count.
  control_->Forward(SIGTERM);
  control_->Forward(SIGTERM);
  control_->Forward(SIGINT);
  control_->Forward(SIGINT);
  now_ += absl::Seconds(2);
  control_->Forward(SIGINT);
  EXPECT_THAT(Signals(),
              ElementsAre(SIGTERM, SIGTERM, SIGINT, SIGINT, SIGKILL));
}

TEST_F(ExecutionControlTest, CountsTheLastThreeInterrupts) {
  control_->SetExecution(kExecution);
  control_->Forward(SIGINT);
  now_ += absl::Seconds(1);
  control_->Forward(SIGINT);
  now_ += absl::Milliseconds(1001);
  control_->Forward(SIGINT);
  now_ += absl::Milliseconds(999);
  control_->Forward(SIGINT);
  EXPECT_THAT(Signals(), ElementsAre(SIGINT, SIGINT, SIGINT, SIGKILL));
}

TEST_F(ExecutionControlTest, SetsTheSizeOfTheTerminal) {
  control_->SetExecution(kExecution);
  control_->Forward(SIGWINCH);
  const auto size = server_.FindExecution(kExecution)->WaitForResize();
  EXPECT_GT(size.columns(), 10);
  EXPECT_GT(size.rows(), 10);
  EXPECT_THAT(server_.signals(), IsEmpty());
}

TEST_F(ExecutionControlTest, IgnoresThatTheSizeCannotBeSet) {
  control_->SetExecution("tenants/default/sandboxes/s1/executions/none");
  control_->Forward(SIGWINCH);
  EXPECT_EQ(given_up_, 0);
}

TEST_F(ExecutionControlTest, GivesUpOnAServerThatIsGone) {
  control_->SetExecution(kExecution);
  server_.Stop();
  control_->Forward(SIGHUP);
  EXPECT_EQ(given_up_, 1);
  EXPECT_EQ(control_->undelivered_signal(), SIGHUP);
}

TEST_F(ExecutionControlTest, GivesUpOnAServerThatDoesNotAnswer) {
  control_->SetExecution(kExecution);
  server_.FailSignals(grpc::StatusCode::DEADLINE_EXCEEDED);
  control_->Forward(SIGHUP);
  EXPECT_EQ(given_up_, 1);
}

TEST_F(ExecutionControlTest, TreatsOtherErrorsAsTheEndOfAllProcesses) {
  control_->SetExecution(kExecution);
  server_.FailSignals(grpc::StatusCode::NOT_FOUND);
  control_->Forward(SIGHUP);
  EXPECT_EQ(given_up_, 0);
  EXPECT_THAT(server_.signals(), SizeIs(1));
}

TEST_F(ExecutionControlTest, GivesUpAtTheSecondSignalAfterTheEnd) {
  control_->SetExecution(kExecution);
  control_->Kill();
  server_.FindExecution(kExecution)->WaitUntilEnded();
  control_->Forward(SIGTERM);
  EXPECT_EQ(given_up_, 0);
  control_->Forward(SIGHUP);
  EXPECT_EQ(given_up_, 1);
  EXPECT_EQ(control_->undelivered_signal(), SIGHUP);
}

}  // namespace
}  // namespace bridge

// A server and a supervisor of another version.

#include "tests/integration/old_supervisor.h"

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/integration/integration_test.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::STDOUT;
using ExecutionStub = Client::ExecutionStub;

class OldSupervisorTest : public IntegrationTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(server_.state_directory());
    std::filesystem::permissions(server_.state_directory(),
                                 std::filesystem::perms::owner_all);
    supervisor_.emplace(server_.state_directory());
    IntegrationTest::SetUp();
  }
  void TearDown() override {
    client_->DeleteSandbox(OldSupervisor::kSandbox);
    EXPECT_FALSE(
        std::filesystem::exists(server_.state_directory() + "/sandboxes/old"));
    IntegrationTest::TearDown();
  }

  std::optional<OldSupervisor> supervisor_;
};

TEST_F(OldSupervisorTest, IsServedOn) {
  EXPECT_EQ(client_->Get(OldSupervisor::kExecution).state(),
            Execution::RUNNING);
  client_->Stream(OldSupervisor::kExecution)
      ->ReadUntil(STDOUT, OldSupervisor::kOutput);
  client_->WriteInput(OldSupervisor::kExecution, 4, "text");
  EXPECT_TRUE(client_->Signal(OldSupervisor::kExecution, SIGTERM).ok());

  corral::v1::Command command = MakeCommand({"true"});
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::BLOCK);
  const std::string name =
      client_->Start(OldSupervisor::kSandbox, command).name();
  EXPECT_EQ(client_->Wait(name).exit().code(), 3);
  ASSERT_EQ(supervisor_->starts().size(), 1);
  EXPECT_TRUE(supervisor_->starts()[0].command().block_when_full());
}

TEST_F(OldSupervisorTest, IsNotAskedForWhatItDoesNotKnow) {
  corral::v1::StartExecutionRequest start;
  start.set_parent(OldSupervisor::kSandbox);
  *start.mutable_command() = MakeCommand({"true"});
  Execution execution;
  const auto field_refused = [&](const corral::v1::Command& command) {
    *start.mutable_command() = command;
    return Field(
        client_->Call(&ExecutionStub::StartExecution, start, &execution));
  };
  corral::v1::Command command = MakeCommand({"true"});
  command.mutable_cpu_timeout()->set_seconds(1);
  EXPECT_EQ(field_refused(command), "command.cpu_timeout");
  command = MakeCommand({"true"});
  command.mutable_drain_timeout()->set_seconds(1);
  EXPECT_EQ(field_refused(command), "command.drain_timeout");
  for (const auto overflow : {corral::v1::OutputPolicy::HEAD_AND_TAIL,
                              corral::v1::OutputPolicy::KILL}) {
    command = MakeCommand({"true"});
    command.mutable_output()->set_overflow(overflow);
    EXPECT_EQ(field_refused(command), "command.output.overflow");
  }
  EXPECT_EQ(supervisor_->starts().size(), 0);

  corral::v1::WriteInputRequest append;
  append.set_name(OldSupervisor::kExecution);
  append.set_data("text");
  corral::v1::InputState state;
  EXPECT_EQ(Field(client_->Call(&ExecutionStub::WriteInput, append, &state)),
            "offset");
}

}  // namespace
}  // namespace tests

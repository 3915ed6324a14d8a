#include "bridge/acp/terminals/exit_status.h"

#include <csignal>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(ExitStatusTest, IsACodeOrASignalOrUnknown) {
  corral::v1::Execution execution;
  EXPECT_EQ(ToExitStatus(execution).code, std::nullopt);
  EXPECT_EQ(ToExitStatus(execution).signal, std::nullopt);
  execution.mutable_exit()->set_code(0);
  EXPECT_EQ(ToExitStatus(execution).code, 0);
  EXPECT_EQ(ToExitStatus(execution).signal, std::nullopt);
  execution.mutable_exit()->set_signal(SIGKILL);
  EXPECT_EQ(ToExitStatus(execution).code, std::nullopt);
  EXPECT_EQ(ToExitStatus(execution).signal, "SIGKILL");
}

TEST(ExitStatusTest, HasTheCodeOfAShellIfTheAgentNeedsOne) {
  corral::v1::Execution execution;
  EXPECT_EQ(ToExitStatus(execution, SignalCodes::kAsShell).code, std::nullopt);
  execution.mutable_exit()->set_code(7);
  EXPECT_EQ(ToExitStatus(execution, SignalCodes::kAsShell).code, 7);
  execution.mutable_exit()->set_signal(SIGKILL);
  const ExitStatus killed = ToExitStatus(execution, SignalCodes::kAsShell);
  EXPECT_EQ(killed.code, 137);
  EXPECT_EQ(killed.signal, "SIGKILL");
}

TEST(ExitStatusTest, NamesTheCauseIfCorralEndedTheCommand) {
  corral::v1::Execution execution;
  execution.mutable_exit()->set_signal(SIGKILL);
  execution.mutable_exit()->set_cause(corral::v1::ExitStatus::OUT_OF_MEMORY);
  EXPECT_EQ(ToExitStatus(execution).cause, "OUT_OF_MEMORY");
  execution.mutable_exit()->set_cause(corral::v1::ExitStatus::CLIENT_SIGNAL);
  EXPECT_EQ(ToExitStatus(execution).cause, "");
}

}  // namespace
}  // namespace bridge

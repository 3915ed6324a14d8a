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

TEST(SignalNameTest, NamesEverySignal) {
  EXPECT_EQ(SignalName(SIGTERM), "SIGTERM");
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(SignalName(SIGRTMIN + 1), "SIGRTMIN+1");
  EXPECT_EQ(SignalName(99), "SIG99");
}

}  // namespace
}  // namespace bridge

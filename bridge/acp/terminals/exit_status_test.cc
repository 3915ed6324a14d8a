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

}  // namespace
}  // namespace bridge

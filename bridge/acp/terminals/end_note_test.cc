#include "bridge/acp/terminals/end_note.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::ExitStatus;

corral::v1::Execution Ended(ExitStatus::Cause cause) {
  corral::v1::Execution execution;
  execution.mutable_exit()->set_signal(9);
  execution.mutable_exit()->set_cause(cause);
  execution.mutable_command()->mutable_wall_timeout()->set_seconds(90);
  return execution;
}

TEST(EndNoteTest, SaysWhichLimitEndedTheCommand) {
  const EndNote timeout = MakeEndNote(Ended(ExitStatus::WALL_TIMEOUT));
  EXPECT_EQ(timeout.line, "corral: ended by its timeout of 1m30s\n");
  EXPECT_EQ(timeout.cause, "WALL_TIMEOUT");
  EXPECT_EQ(MakeEndNote(Ended(ExitStatus::OUT_OF_MEMORY)).line,
            "corral: out of memory: the sandbox reached its limit\n");
}

TEST(EndNoteTest, NamesEveryCause) {
  const struct {
    ExitStatus::Cause cause;
    const char* text;
  } cases[] = {
      {ExitStatus::CPU_TIMEOUT, "ended by its CPU time limit of 7s"},
      {ExitStatus::OUTPUT_LIMIT, "wrote more output than allowed"},
      {ExitStatus::OUTPUT_FAILED, "disk accepts no more output"},
      {ExitStatus::SYSCALL_DENIED, "a system call that is not allowed"},
      {ExitStatus::SANDBOX_EXPIRED, "the sandbox's lifetime is over"},
      {ExitStatus::SANDBOX_DELETED, "its sandbox was deleted"},
      {ExitStatus::SERVER_SHUTDOWN, "the server shut down"},
  };
  for (const auto& example : cases) {
    corral::v1::Execution execution = Ended(example.cause);
    execution.mutable_command()->mutable_cpu_timeout()->set_seconds(7);
    const EndNote note = MakeEndNote(execution);
    EXPECT_THAT(note.line, ::testing::HasSubstr(example.text));
    EXPECT_EQ(note.cause, ExitStatus::Cause_Name(example.cause));
  }
}

TEST(EndNoteTest, IsEmptyForACommandThatCorralDidNotEnd) {
  for (const auto cause : {ExitStatus::NORMAL, ExitStatus::CLIENT_SIGNAL}) {
    EXPECT_EQ(MakeEndNote(Ended(cause)).line, "");
    EXPECT_EQ(MakeEndNote(Ended(cause)).cause, "");
  }
}

TEST(EndNoteTest, SaysThatMemoryCostADescendant) {
  for (const auto cause : {ExitStatus::NORMAL, ExitStatus::CLIENT_SIGNAL}) {
    corral::v1::Execution execution = Ended(cause);
    execution.mutable_usage()->set_oom_kills(1);
    EXPECT_EQ(MakeEndNote(execution).line,
              "corral: 1 of its processes were killed: the sandbox reached its "
              "memory limit\n");
    EXPECT_EQ(MakeEndNote(execution).cause, "OUT_OF_MEMORY");
  }
}

}  // namespace
}  // namespace bridge

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"

namespace tests {
namespace {

using ::testing::HasSubstr;

class TerminalAttackTest : public AttackTest {
 protected:
  std::string OnTerminal(const std::string& id, const std::string& attack) {
    sandbox::wire::StartExecution start = AttackRequest(id, attack);
    start.mutable_command()->set_terminal_rows(24);
    start.mutable_command()->set_terminal_columns(80);
    last_ = sandbox_.Run(start);
    return sandbox_.Output(id, "terminal");
  }
};

TEST_F(TerminalAttackTest, CannotTypeIntoATerminal) {
  Create();
  EXPECT_EQ(OnTerminal("t1", "inject"),
            "TIOCSTI: EPERM\r\n"
            "TIOCSTI, high bits: EPERM\r\n"
            "TIOCSTI, sign bits: EPERM\r\n"
            "TIOCLINUX: EPERM\r\n"
            "TIOCLINUX, high bits: EPERM\r\n"
            "TIOCSETD: EPERM\r\n"
            "TIOCSETD, high bits: EPERM\r\n"
            "TIOCCONS: EPERM\r\n");
}

TEST_F(TerminalAttackTest, HasATerminalOnlyOnRequest) {
  Create();
  EXPECT_EQ(Attack("steal"),
            "/dev/tty: ENXIO\n"
            "TIOCSCTTY: ENOTTY\n"
            "TIOCSPGRP: ENOTTY\n"
            "/dev/pts/0: ENOENT\n"
            "rename ptmx: EACCES\n"
            "unlink null: EROFS\n"
            "symlink console: EROFS\n");
}

TEST_F(TerminalAttackTest, CannotReplaceTerminalDevices) {
  Create();
  const std::string report = OnTerminal("t1", "steal");
  EXPECT_THAT(report, HasSubstr("TIOCSPGRP: EPERM"));
  EXPECT_THAT(report, HasSubstr("rename ptmx: EACCES"));
  EXPECT_THAT(report, HasSubstr("unlink null: EROFS"));
  EXPECT_THAT(report, HasSubstr("symlink console: EROFS"));
}

// A command that hangs up its terminal, or leaves it in a strange mode, affects
// only itself.
TEST_F(TerminalAttackTest, LeavesOtherTerminalsAlone) {
  Create();
  sandbox::wire::StartExecution first = sandbox_.Shell(
      "t1", "stty raw -echo; printf '\\033c\\033[?1049h'; exec sleep 1000");
  first.mutable_command()->set_terminal_rows(24);
  first.mutable_command()->set_terminal_columns(80);
  ASSERT_TRUE(sandbox_.Start(first).ok());
  ASSERT_TRUE(sandbox_.WaitForText("t1", "terminal", "\033c"));
  EXPECT_THAT(OnTerminal("t2", "inject"), HasSubstr("EPERM\r\n"));
  EXPECT_TRUE(sandbox_.DeleteExecution("t1").ok());
  ExpectUsable();
}

}  // namespace
}  // namespace tests

#include "bridge/cli/attach/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"

namespace bridge {
namespace {

using sandbox::UniqueFd;

// Replaces standard input and output of this process.
class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest()
      : input_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)),
        output_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
    int master = -1;
    int slave = -1;
    winsize size = {30, 100, 0, 0};
    EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
    master_.Reset(master);
    slave_.Reset(slave);
  }
  ~TerminalTest() override { Restore(); }

  void Restore() {
    ::dup2(input_.get(), STDIN_FILENO);
    ::dup2(output_.get(), STDOUT_FILENO);
  }

  // Calls `function` with these descriptors as 0 and 1.
  template <typename Function>
  auto With(int input, int output, Function function) {
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    const auto result = function();
    Restore();
    return result;
  }

  bool HasInputFrom(int input) { return With(input, output_.get(), HasInput); }

  // Returns "ROWSxCOLUMNS".
  std::string SizeWith(int input, int output) {
    const corral::v1::TerminalSize size = With(input, output, GetTerminalSize);
    return std::to_string(size.rows()) + "x" + std::to_string(size.columns());
  }

  tcflag_t LocalMode() {
    termios mode = {};
    EXPECT_EQ(::tcgetattr(slave_.get(), &mode), 0);
    return mode.c_lflag;
  }

  const UniqueFd input_;
  const UniqueFd output_;
  UniqueFd master_;
  UniqueFd slave_;
  tests::Pipe pipe_;
};

TEST_F(TerminalTest, IsInteractiveIfBothSidesAreTerminals) {
  EXPECT_TRUE(With(slave_.get(), slave_.get(), IsInteractive));
  EXPECT_FALSE(With(slave_.get(), pipe_.writer.get(), IsInteractive));
  EXPECT_FALSE(With(pipe_.reader.get(), slave_.get(), IsInteractive));
}

TEST_F(TerminalTest, HasInputIfThereIsSomethingToRead) {
  EXPECT_TRUE(HasInputFrom(pipe_.reader.get()));
  EXPECT_TRUE(HasInputFrom(slave_.get()));
  const UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(HasInputFrom(zero.get()));
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(HasInputFrom(file.get()));
  EXPECT_FALSE(HasInputFrom(pipe_.writer.get()));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(HasInputFrom(null.get()));
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  EXPECT_FALSE(HasInputFrom(event.get()));
  ::close(STDIN_FILENO);
  EXPECT_FALSE(HasInput());
}

TEST_F(TerminalTest, TakesTheSizeOfOutputThenOfInputThenTheUsualOne) {
  int master = -1;
  int slave = -1;
  winsize size = {50, 200, 0, 0};
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
  const UniqueFd other_master(master);
  const UniqueFd other(slave);
  EXPECT_EQ(SizeWith(other.get(), slave_.get()), "30x100");
  EXPECT_EQ(SizeWith(slave_.get(), pipe_.writer.get()), "30x100");
  EXPECT_EQ(SizeWith(pipe_.reader.get(), pipe_.writer.get()), "24x80");
  for (const winsize& useless : {winsize{0, 100, 0, 0}, winsize{30, 0, 0, 0}}) {
    ASSERT_EQ(::ioctl(slave_.get(), TIOCSWINSZ, &useless), 0);
    EXPECT_EQ(SizeWith(pipe_.reader.get(), slave_.get()), "24x80");
  }
}

TEST_F(TerminalTest, IsRawAsLongAsItIsWanted) {
  const tcflag_t before = LocalMode();
  EXPECT_NE(before & ICANON, 0);
  EXPECT_NE(before & ECHO, 0);
  ::dup2(slave_.get(), STDIN_FILENO);
  {
    RawTerminal raw;
    EXPECT_EQ(LocalMode() & (ICANON | ECHO | ISIG), 0);
  }
  EXPECT_EQ(LocalMode(), before);
}

TEST_F(TerminalTest, LeavesAPipeAlone) {
  ::dup2(pipe_.reader.get(), STDIN_FILENO);
  RawTerminal raw;
  EXPECT_NE(LocalMode() & ICANON, 0);
}

}  // namespace
}  // namespace bridge

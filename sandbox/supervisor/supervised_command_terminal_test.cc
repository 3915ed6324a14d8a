// A command with a terminal, which is one of this host.

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/supervisor/command_fixture.h"
#include "sandbox/supervisor/supervised_command.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

class SupervisedCommandTerminalTest : public CommandFixture {
 protected:
  void SetUp() override {
    host_.devpts = devpts_.get();
    spec().set_terminal_rows(24);
    spec().set_terminal_columns(80);
    const absl::Status prepared = Prepare();
    if (!prepared.ok()) {
      GTEST_SKIP() << prepared;
    }
    start_.set_id("e2");
    Start();
  }

  const UniqueFd devpts_{::open("/dev/pts", O_RDONLY | O_CLOEXEC)};
};

TEST_F(SupervisedCommandTerminalTest, KeepsItOpenAtTheEndOfTheInput) {
  wire::WriteInput input;
  input.set_data("text\n");
  input.set_eof(true);
  wire::InputState state;
  command_->WriteInput(
      input, [&state](const absl::Status& status, wire::InputState after) {
        EXPECT_THAT(status, IsOk());
        state = std::move(after);
      });
  EXPECT_EQ(state.accepted_offset(), 5u);
  EXPECT_FALSE(state.closed());
  ASSERT_EQ(command_->report().streams_size(), 1);
  EXPECT_EQ(command_->report().streams(0).stream(), wire::TERMINAL);
  EXPECT_EQ(played_.request().terminal, 1u);
}

TEST_F(SupervisedCommandTerminalTest, SignalsTheGroupInItsForeground) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const UniqueFd read(ready[0]);
  UniqueFd write(ready[1]);
  const pid_t session = ::fork();
  if (session == 0) {
    ::setsid();
    const bool set = ::ioctl(played_.output().get(), TIOCSCTTY, 0) == 0 &&
                     ::write(write.get(), "r", 1) == 1;
    while (set) {
      ::pause();
    }
    ::_exit(1);
  }
  write.Reset();
  char byte;
  ASSERT_EQ(::read(read.get(), &byte, 1), 1);
  EXPECT_THAT(
      command_->Signal(SignalOf(SIGUSR1, wire::Signal::FOREGROUND_GROUP)),
      IsOk());
  EXPECT_EQ(group_.calls,
            absl::StrCat("signal ", SIGUSR1, " to ", session, " "));
  ::kill(session, SIGKILL);
  EXPECT_EQ(::waitpid(session, nullptr, 0), session);
}

TEST_F(SupervisedCommandTerminalTest, HasTheSizeThatItIsGiven) {
  EXPECT_THAT(command_->Resize(50, 100), IsOk());
  winsize size = {};
  ASSERT_EQ(::ioctl(played_.input().get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 50);
  EXPECT_EQ(size.ws_col, 100);
}

}  // namespace
}  // namespace sandbox

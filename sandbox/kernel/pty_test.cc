#include "sandbox/kernel/pty.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failing_calls.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class PtyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The host's devpts; a sandbox has its own.
    UniqueFd devpts(::open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC));
    absl::StatusOr<Pty> pty = OpenPty(devpts.get(), 24, 80);
    if (!pty.ok()) {
      GTEST_SKIP() << pty.status();
    }
    pty_ = *std::move(pty);
  }

  Pty pty_;
};

TEST_F(PtyTest, HasTheRequestedSizeAndCanBeResized) {
  winsize size;
  ASSERT_EQ(::ioctl(pty_.slave.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 24);
  EXPECT_EQ(size.ws_col, 80);
  ASSERT_TRUE(ResizePty(pty_.master.get(), 50, 132).ok());
  ASSERT_EQ(::ioctl(pty_.slave.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 50);
  EXPECT_EQ(size.ws_col, 132);
}

TEST_F(PtyTest, PassesBytesWithoutBecomingTheControllingTerminal) {
  EXPECT_NE(::fcntl(pty_.master.get(), F_GETFL) & O_NONBLOCK, 0);
  ASSERT_EQ(::write(pty_.slave.get(), "hi", 2), 2);
  char buffer[8];
  EXPECT_EQ(::read(pty_.master.get(), buffer, sizeof(buffer)), 2);
  pid_t session;
  EXPECT_NE(::ioctl(pty_.slave.get(), TIOCGSID, &session), 0);
}

TEST_F(PtyTest, LeavesItsDescriptorsToNoOtherProgram) {
  EXPECT_EQ(::fcntl(pty_.master.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(pty_.slave.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(PtyTest, NamesTheCallThatFails) {
  const auto text = [](const absl::Status& status) {
    return std::string(status.message());
  };
  EXPECT_THAT(text(OpenPty(-1, 24, 80).status()), HasSubstr("open ptmx"));
  const UniqueFd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_THAT(text(ResizePty(file.get(), 24, 80)), HasSubstr("TIOCSWINSZ"));
  EXPECT_THAT(text(ForegroundGroup(file.get()).status()),
              HasSubstr("TIOCGPGRP"));
  const UniqueFd devpts(::open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC));
  absl::Status opened;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_ioctl}, EIO, [&] {
    opened = OpenPty(devpts.get(), 24, 80).status();
  }));
  EXPECT_THAT(text(opened), HasSubstr("TIOCSPTLCK"));
}

TEST_F(PtyTest, IsNotOpenedInPartForWantOfDescriptors) {
  const UniqueFd devpts(::open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC));
  absl::Status opened;
  {
    UniqueFd last(::fcntl(0, F_DUPFD_CLOEXEC, 0));
    const tests::NoDescriptors none;
    // The master gets it.
    last.Reset();
    opened = OpenPty(devpts.get(), 24, 80).status();
  }
  EXPECT_THAT(opened, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("TIOCGPTPEER")));
}

TEST_F(PtyTest, HasNoForegroundProcessGroupWithoutASession) {
  const absl::StatusOr<pid_t> group = ForegroundGroup(pty_.master.get());
  ASSERT_THAT(group.status(), IsOk());
  EXPECT_EQ(*group, 0);
}

TEST_F(PtyTest, SignalsTheForegroundProcessGroup) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::ioctl(pty_.slave.get(), TIOCSCTTY, 0);
    [[maybe_unused]] const ssize_t sent = ::write(ready[1], "x", 1);
    for (;;) {
      ::pause();
    }
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(
      SignalForeground(pty_.master.get(), SIGTERM),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("TIOCSIG")));
  const absl::StatusOr<pid_t> group = ForegroundGroup(pty_.master.get());
  ASSERT_THAT(group.status(), IsOk());
  EXPECT_EQ(*group, child);
  EXPECT_TRUE(SignalForeground(pty_.master.get(), SIGINT).ok());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace
}  // namespace sandbox

#include "sandbox/supervisor/credential_command.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/supervisor/credential_file.h"
#include "sandbox/supervisor/strange_children.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;

class CredentialCommandTest : public ::testing::Test {
 protected:
  CredentialCommandTest() : loop_(*EventLoop::Create()) { BlockChildSignal(); }

  std::unique_ptr<CredentialCommand> Make(
      std::vector<std::string> words,
      absl::Duration patience = CredentialCommand::kPatience) {
    return std::make_unique<CredentialCommand>(
        loop_.get(), std::move(words),
        [this](absl::StatusOr<std::string> output) {
          output_ = std::move(output);
          loop_->Stop();
        },
        patience);
  }
  // Returns the output of a shell script, or why it failed.
  std::string Run(const std::string& script,
                  absl::Duration patience = CredentialCommand::kPatience) {
    const auto command = Make({"/bin/sh", "-c", script}, patience);
    EXPECT_TRUE(command->Start().ok());
    loop_->Run();
    return output_.ok() ? *output_ : std::string(output_.status().message());
  }

  std::unique_ptr<EventLoop> loop_;
  absl::StatusOr<std::string> output_ = absl::UnknownError("no answer");
};

TEST_F(CredentialCommandTest, ReturnsWhatTheCommandPrints) {
  EXPECT_EQ(Run("echo secret; echo other >&2"), "secret\n");
  EXPECT_EQ(Run("true"), "");
  EXPECT_EQ(Run("cat; printf '%s' \"$0\""), "/bin/sh");
}

TEST_F(CredentialCommandTest, ReportsHowTheCommandFailedAndNoOutput) {
  EXPECT_EQ(Run("echo secret; exit 3"), "/bin/sh ended with status 3");
  EXPECT_EQ(Run("echo secret; kill -9 $$"), "/bin/sh was ended by signal 9");
  const auto missing = Make({"/no/such/program"});
  ASSERT_TRUE(missing->Start().ok());
  loop_->Run();
  EXPECT_EQ(output_.status().message(),
            "/no/such/program ended with status 127");
}

TEST_F(CredentialCommandTest, KillsACommandThatTakesTooLong) {
  EXPECT_EQ(Run("echo secret; sleep 1000", absl::Milliseconds(50)),
            "/bin/sh did not end within 50ms");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(CredentialCommandTest, DoesNotWaitForProcessesThatItLeavesBehind) {
  EXPECT_EQ(Run("sleep 1000 & echo secret"), "secret\n");
}

TEST_F(CredentialCommandTest, BoundsTheOutput) {
  EXPECT_EQ(Run("head -c 1000000 /dev/zero | tr '\\0' x"),
            std::string(kMaxCredential + 3, 'x'));
}

TEST_F(CredentialCommandTest, GivesTheCommandNoDescriptorAndNoSignalMask) {
  // 3 is that of the listing.
  EXPECT_EQ(Run("echo $(ls /proc/self/fd)"), "0 1 2 3\n");
  EXPECT_THAT(Run("grep SigBlk /proc/self/status"),
              HasSubstr("0000000000000000"));
  ::signal(SIGPIPE, SIG_IGN);
  // glibc keeps signals 32 and 33 for itself.
  EXPECT_THAT(Run("grep SigIgn /proc/self/status"), HasSubstr("0000\n"));
  EXPECT_EQ(Run("ulimit -c"), "0\n");
}

TEST_F(CredentialCommandTest, KillsItsCommandWhenItIsDestroyed) {
  auto command = Make({"/bin/sleep", "1000"});
  ASSERT_TRUE(command->Start().ok());
  command.reset();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(CredentialCommandTest, CanBeReapedByTheLoopOfTheSupervisor) {
  const auto command = Make({"/bin/echo", "secret"});
  ASSERT_TRUE(command->Start().ok());
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(command->Owns(info.si_pid + 1));
  EXPECT_FALSE(command->ReapIfOwn(info.si_pid + 1));
  EXPECT_TRUE(command->Owns(info.si_pid));
  EXPECT_TRUE(command->ReapIfOwn(info.si_pid));
  EXPECT_EQ(*output_, "secret\n");
  EXPECT_FALSE(command->Owns(info.si_pid));
}

}  // namespace
}  // namespace sandbox

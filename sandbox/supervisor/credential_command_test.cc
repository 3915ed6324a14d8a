#include "sandbox/supervisor/credential_command.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
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
#include "tests/ignored_signal.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;

// A directory in which a command can show how far it is.
class Directory {
 public:
  Directory() {
    char name[] = "/tmp/credential_command_test.XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Makes this process the parent of the descendants that lose theirs.
class Subreaper {
 public:
  Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;
};

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

  // Waits until there is such a file.
  static void Await(const std::string& path) {
    while (!std::filesystem::exists(path)) {
      ::sched_yield();
    }
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
  const tests::IgnoredSignal pipe(SIGPIPE);
  const tests::IgnoredSignal library(tests::kLibrarySignal);
  EXPECT_THAT(Run("grep SigIgn /proc/self/status"),
              HasSubstr("0000000000000000"));
  EXPECT_EQ(Run("ulimit -H -c"), "0\n");
}

TEST_F(CredentialCommandTest, KillsItsCommandWhenItIsDestroyed) {
  auto command = Make({"/bin/sleep", "1000"});
  ASSERT_TRUE(command->Start().ok());
  command.reset();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(CredentialCommandTest, GivesTheCommandNoInputAndNoPlaceForErrors) {
  EXPECT_EQ(Run("readlink /proc/self/fd/0 /proc/self/fd/2"),
            "/dev/null\n/dev/null\n");
}

TEST_F(CredentialCommandTest, KillsTheProcessesThatItsCommandLeavesBehind) {
  const Subreaper subreaper;
  const pid_t left = std::stoi(Run("sleep 1000 & echo $!"));
  int status = 0;
  EXPECT_EQ(::waitpid(left, &status, 0), left);
  EXPECT_EQ(status, SIGKILL);
}

TEST_F(CredentialCommandTest, ItsCommandEndsWithTheSupervisor) {
  const Subreaper subreaper;
  const Directory directory;
  const std::string runs = directory.path() + "/runs";
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    const auto command =
        Make({"/bin/sh", "-c", ": > " + runs + "; exec sleep 1000"});
    if (!command->Start().ok()) {
      ::_exit(1);
    }
    Await(runs);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(supervisor, &status, 0), supervisor);
  ASSERT_EQ(status, 0);
  EXPECT_GT(::waitpid(-1, &status, 0), 0);
  EXPECT_EQ(status, SIGKILL);
}

TEST_F(CredentialCommandTest, LetsTheLoopRestWhenTheOutputIsClosedEarly) {
  const Directory directory;
  const std::string closed = directory.path() + "/closed";
  const auto command =
      Make({"/bin/sh", "-c",
            "exec >/dev/null; : > " + closed + "; exec sleep 1000"});
  ASSERT_TRUE(command->Start().ok());
  Await(closed);
  bool rests = false;
  loop_->WhenIdle([&rests] { rests = true; });
  for (int turn = 0; turn < 5 && !rests; ++turn) {
    loop_->After(absl::ZeroDuration(), [this] { loop_->Stop(); });
    loop_->Run();
  }
  EXPECT_TRUE(rests);
}

TEST_F(CredentialCommandTest, ReportsOnceThoughItsTimeIsUpLater) {
  const auto command = Make({"/bin/echo", "secret"}, absl::ZeroDuration());
  ASSERT_TRUE(command->Start().ok());
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  loop_->Run();
  EXPECT_EQ(output_.value_or("it failed"), "secret\n");
}

}  // namespace
}  // namespace sandbox

#include "server/screen/live_screens.h"

#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/screen_service.pb.h"
#include "gtest/gtest.h"
#include "sandbox/storage/output_log.h"
#include "server/api/names.h"
#include "server/core/execution.h"
#include "server/core/execution_fixture.h"
#include "server/screen/live_screen.h"
#include "tests/fakes/fake_timer_queue.h"
#include "tests/no_descriptors.h"

namespace server {
namespace {

class LiveScreensTest : public ExecutionFixture {
 protected:
  LiveScreensTest() : log_(&Log(corral::supervisor::v1::TERMINAL)) {}

  std::shared_ptr<Execution> StartNamed(const std::string& id) {
    corral::v1::Command command;
    command.mutable_terminal()->set_rows(4);
    command.mutable_terminal()->set_columns(20);
    // They share the log of the fixture.
    std::error_code exists;
    std::filesystem::create_hard_link(
        file_path_, absl::StrCat(sandbox_directory_, "/executions/", id),
        exists);
    return std::make_shared<Execution>(
        std::make_shared<const ExecutionHome>(
            ExecutionHome{SandboxName("box"), sandbox_directory_}),
        id, command);
  }
  // The process of the emulator, after a use of the screen if `get` is set.
  pid_t Pid(const std::shared_ptr<Execution>& execution, bool get) {
    std::promise<pid_t> pid;
    screens_.Run(execution, [&](absl::StatusOr<LiveScreen*> screen) {
      corral::v1::GetScreenResponse response;
      if (get) {
        EXPECT_TRUE((*screen)->Get(*execution, {}, &response).ok());
      }
      pid.set_value((*screen)->emulator_pid());
    });
    return pid.get_future().get();
  }

  sandbox::OutputLogWriter* const log_;
  tests::FakeTimerQueue timers_;
  LiveScreens screens_{&timers_};
};

TEST_F(LiveScreensTest, KeepsTheEmulatorBetweenCalls) {
  const auto execution = StartNamed("a");
  const pid_t pid = Pid(execution, true);
  EXPECT_NE(pid, 0);
  EXPECT_EQ(Pid(execution, true), pid);
}

TEST_F(LiveScreensTest, EndsAnEmulatorThatNobodyUsedForAMinute) {
  const auto execution = StartNamed("a");
  const pid_t pid = Pid(execution, true);
  EXPECT_NE(pid, 0);
  for (int i = 0; i < 2; ++i) {
    timers_.Advance(absl::Seconds(40));
    EXPECT_EQ(Pid(execution, false), pid);
    EXPECT_EQ(timers_.size(), 1);
  }
  timers_.Advance(absl::Seconds(60));
  EXPECT_EQ(Pid(execution, false), 0);
}

TEST_F(LiveScreensTest, ForgetsTheScreenOfADeletedExecution) {
  auto execution = StartNamed("a");
  EXPECT_EQ(log_->Append("text", 4), absl::OkStatus());
  const pid_t pid = Pid(execution, true);
  std::promise<void> marked;
  screens_.Run(execution, [&](absl::StatusOr<LiveScreen*> screen) {
    EXPECT_TRUE((*screen)->Clear(*execution).ok());
    marked.set_value();
  });
  marked.get_future().wait();
  const std::string marks = sandbox_directory_ + "/screens/a";
  EXPECT_TRUE(std::filesystem::exists(marks));
  execution.reset();
  timers_.Advance(absl::Seconds(20));
  while (::kill(pid, 0) == 0 || std::filesystem::exists(marks)) {
    std::this_thread::yield();
  }
  EXPECT_EQ(timers_.size(), 0);
}

TEST_F(LiveScreensTest, LeavesNoTimerBehind) {
  tests::FakeTimerQueue timers;
  {
    LiveScreens screens(&timers);
    std::promise<void> done;
    screens.Run(StartNamed("a"),
                [&](absl::StatusOr<LiveScreen*>) { done.set_value(); });
    done.get_future().wait();
    EXPECT_EQ(timers.size(), 1);
  }
  EXPECT_EQ(timers.size(), 0);
}

TEST_F(LiveScreensTest, EndsTheLongestUnusedEmulatorWhenThereAreTooMany) {
  std::vector<std::shared_ptr<Execution>> executions;
  for (size_t i = 0; i < LiveScreens::kMaxEmulators + 2; ++i) {
    // The longest unused one has the last name.
    executions.push_back(StartNamed(absl::StrCat("e", 99 - i)));
    EXPECT_NE(Pid(executions.back(), true), 0);
    timers_.Advance(absl::Milliseconds(1));
  }
  // In this order: the use of an ended one ends another.
  for (size_t i = executions.size(); i-- > 0;) {
    EXPECT_EQ(Pid(executions[i], false) == 0, i < 2) << i;
  }
}

TEST_F(LiveScreensTest, GivesANewExecutionOfTheSameNameItsOwnScreen) {
  auto execution = StartNamed("a");
  const pid_t first = Pid(execution, true);
  execution = StartNamed("a");
  EXPECT_NE(Pid(execution, true), first);
}

TEST_F(LiveScreensTest, ReportsThatItHasNoProgramForEmulators) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  std::optional<LiveScreens> screens;
  {
    const tests::NoDescriptors none;
    screens.emplace(&timers_);
  }
  absl::Status status;
  screens->Run(StartNamed("a"), [&](absl::StatusOr<LiveScreen*> screen) {
    status = screen.status();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

}  // namespace
}  // namespace server

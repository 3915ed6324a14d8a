// A launcher that lets go while it cannot start a supervisor.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "sandbox/client/local_supervisor_launcher.h"
#include "sandbox/client/supervisor_connection.h"
#include "tests/failing_calls.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/waiting_thread.h"

namespace sandbox {
namespace {

// The threads of this process.
std::set<pid_t> Threads() {
  std::set<pid_t> threads;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(std::stoi(task.path().filename().string()));
  }
  return threads;
}

class LetGoTest : public ::testing::Test {
 protected:
  // Makes a launcher that can start no supervisor, and calls `use`. Returns
  // false if this host allows no filter.
  [[nodiscard]] bool WithLauncher(const std::function<void()>& use) {
    return tests::WithFailingCalls({SYS_socketpair}, EMFILE, [&] {
      before_ = Threads();
      launcher_ = LocalSupervisorLauncher::Create().value();
      use();
    });
  }
  // The threads of the launcher except the calling one, its event loop's.
  std::set<pid_t> OtherThreads() const {
    std::set<pid_t> others = Threads();
    others.erase(::gettid());
    for (const pid_t thread : before_) {
      others.erase(thread);
    }
    return others;
  }

  Recorder recorder_;
  std::set<pid_t> before_;
  std::unique_ptr<LocalSupervisorLauncher> launcher_;
  std::unique_ptr<SupervisorConnection> connection_;
};

TEST_F(LetGoTest, WaitsForACallbackThatRuns) {
  const pid_t owner = ::gettid();
  std::atomic<bool> letting_go = false;
  std::atomic<bool> has_let_go = false;
  ASSERT_TRUE(WithLauncher([&] {
    connection_ =
        launcher_->Create({}, &recorder_, [&](const absl::Status& created) {
          EXPECT_FALSE(created.ok());
          while (!letting_go) {
            std::this_thread::yield();
          }
          // The thread that prepares supervisors. LetGo() ends it, but later:
          // while both wait, LetGo() waits for this callback.
          const std::set<pid_t> others = OtherThreads();
          ASSERT_EQ(others.size(), 1u);
          while (!has_let_go && !(tests::WaitsForALock(owner) &&
                                  tests::WaitsForALock(*others.begin()))) {
            std::this_thread::yield();
          }
          EXPECT_FALSE(has_let_go);
        });
  }));
  letting_go = true;
  launcher_->LetGo();
  has_let_go = true;
  EXPECT_FALSE(recorder_.Ended("e1")) << "reported after the callback";
}

TEST_F(LetGoTest, DropsACreationThatFailsLater) {
  ASSERT_TRUE(WithLauncher([this] {
    launcher_->LetGo();
    const auto never = [](const absl::Status&) { ADD_FAILURE(); };
    connection_ = launcher_->Create({}, &recorder_, never);
    connection_->Resize({}, never);
    // Runs what the event loop was given before.
    launcher_->LetGo();
  }));
  EXPECT_FALSE(recorder_.Ended("e1"));
}

}  // namespace
}  // namespace sandbox

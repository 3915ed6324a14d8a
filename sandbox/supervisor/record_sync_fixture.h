// A RecordSync with executions that have ended. Its background works when the
// test says so.

#ifndef SANDBOX_SUPERVISOR_RECORD_SYNC_FIXTURE_H_
#define SANDBOX_SUPERVISOR_RECORD_SYNC_FIXTURE_H_

#include <cerrno>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/supervisor/background.h"
#include "sandbox/supervisor/ended_execution_fixture.h"
#include "sandbox/supervisor/held_background.h"
#include "sandbox/supervisor/record_sync.h"
#include "sandbox/supervisor/storage_status.h"
#include "tests/failing_calls.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {

// The waits of RecordSync.
constexpr absl::Duration kGather = absl::Milliseconds(100);
constexpr absl::Duration kTerm = absl::Milliseconds(500);
constexpr absl::Duration kRetry = absl::Milliseconds(200);

class RecordSyncFixture : public EndedExecutionFixture {
 protected:
  // Does what was handed over to the background, and reports it to the loop.
  void Work() {
    while (!functions_.empty()) {
      functions_.front()();
      functions_.pop_front();
    }
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }

  // The same while the system call `number` fails. Returns false if this host
  // cannot make it fail.
  [[nodiscard]] bool WorkWhileFailing(int number) {
    const bool done = tests::WithFailingCalls({number}, EIO, [this] {
      functions_.front()();
      functions_.pop_front();
    });
    Work();
    return done;
  }

  // Puts a directory in the place of an execution's file: it cannot be opened.
  void Obstruct(const std::string& id) {
    const std::string path = parent_ + "/" + id;
    std::filesystem::rename(path, path + ".away");
    std::filesystem::create_directory(path);
  }
  void Restore(const std::string& id) {
    const std::string path = parent_ + "/" + id;
    std::filesystem::remove(path);
    std::filesystem::rename(path + ".away", path);
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  tests::FakeTimers timers_;
  std::deque<Background::Function> functions_;
  std::vector<std::string> failures_;
  StorageStatus storage_{[this] { failures_.push_back(storage_.failure()); }};
  std::unique_ptr<RecordSync> sync_ = std::make_unique<RecordSync>(
      loop_.get(), &timers_, &storage_,
      std::make_unique<HeldBackground>(&functions_));
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_RECORD_SYNC_FIXTURE_H_

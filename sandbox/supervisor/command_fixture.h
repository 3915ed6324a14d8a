// A SupervisedCommand with a spawner that the test plays, a cgroup that records
// what is asked of it, and a clock that the test advances. Its files, pipes and
// process are real.

#ifndef SANDBOX_SUPERVISOR_COMMAND_FIXTURE_H_
#define SANDBOX_SUPERVISOR_COMMAND_FIXTURE_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/command_host.h"
#include "sandbox/supervisor/fake_command_group.h"
#include "sandbox/supervisor/output_quota.h"
#include "sandbox/supervisor/pipe_size.h"
#include "sandbox/supervisor/played_spawner.h"
#include "sandbox/supervisor/record_sync.h"
#include "sandbox/supervisor/spare_parts.h"
#include "sandbox/supervisor/storage_status.h"
#include "sandbox/supervisor/supervised_command.h"
#include "tests/fakes/fake_timers.h"

namespace sandbox {

class CommandFixture : public ::testing::Test {
 protected:
  CommandFixture() {
    std::string path = ::testing::TempDir() + "/commandXXXXXX";
    directory_ = ::mkdtemp(path.data());
    spares_.SetDirectory(directory_);
    spares_.SetGroups([this](const std::string&) {
      return std::make_unique<FakeCommandGroup>(&group_);
    });
    host_.loop = loop_.get();
    host_.timers = &timers_;
    host_.spawner = played_.spawner();
    host_.spares = &spares_;
    host_.storage = &storage_;
    host_.quota = &quota_;
    host_.sync = &sync_;
    host_.on_state = [this](const wire::ExecutionRecord& record) {
      states_.push_back(record);
    };
    host_.on_output = [this](const wire::OutputChange& change) {
      output_ = change;
    };
    host_.init_ends = [this] { return init_ends_; };
    host_.may_be_oom_victim = [this](pid_t pid) {
      ++oom_questions_;
      return pid == played_.child() && is_oom_victim_;
    };
    start_.set_id("e1");
    start_.mutable_command()->add_argv("/bin/true");
  }

  wire::CommandSpec& spec() { return *start_.mutable_command(); }
  // Makes the command and prepares it.
  absl::Status Prepare() {
    command_ = std::make_unique<SupervisedCommand>(&host_, start_);
    return command_->Prepare();
  }
  // The spawner has the request and has not answered it.
  void BeginStart() {
    ASSERT_TRUE(Prepare().ok());
    command_->Start([this] { ++started_; });
    played_.Receive();
  }
  // The command runs.
  void Start() {
    BeginStart();
    played_.Succeed();
    RunLoop();
    ASSERT_EQ(states_.size(), 1u);
    ASSERT_EQ(states_[0].state(), wire::ExecutionRecord::RUNNING);
  }
  // Handles all events there are.
  void RunLoop() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }
  void Print(absl::string_view text) {
    // A full pipe would hold up the test, whose loop does not run meanwhile.
    EnlargePipe(played_.output().get());
    ASSERT_EQ(::write(played_.output().get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void CloseOutput() {
    played_.output().Reset();
    played_.error().Reset();
  }
  // The process ends with this code, or by a signal, and nothing of it is left.
  void Exit(int code) {
    CloseOutput();
    played_.Exit(code);
    RunLoop();
  }
  void EndBySignal(int signal) {
    CloseOutput();
    played_.Signal(signal);
    RunLoop();
  }
  wire::Signal SignalOf(int signal, wire::Signal::Scope scope,
                        int64_t kill_after_ns = -1) {
    wire::Signal request;
    request.set_signal(signal);
    request.set_scope(scope);
    request.set_kill_after_ns(kill_after_ns);
    return request;
  }
  // Returns the last state after RUNNING; empty if none was reported.
  const wire::ExecutionRecord& end() const {
    static const wire::ExecutionRecord none;
    return states_.size() < 2 ? none : states_.back();
  }
  std::string Output() const {
    const OutputLogReader log =
        *OutputLogReader::Open(directory_ + "/e1", wire::STDOUT);
    std::string text(1 << 20, '\0');
    text.resize(*log.Read(log.state()->begin, text.data(), text.size()));
    return text;
  }
  // True if the record of the end is on disk.
  bool HasEndOnDisk() const {
    wire::ExecutionRecord record;
    const auto records = ExecutionRecords::Open(directory_ + "/e1");
    return records.ok() && records->ReadEnd(&record).ok();
  }

  std::string directory_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  tests::FakeTimers timers_;
  StorageStatus storage_{[] {}};
  OutputQuota quota_{loop_.get()};
  // Nothing is synced.
  tests::FakeTimers sync_timers_;
  RecordSync sync_{loop_.get(), &sync_timers_, &storage_, nullptr};
  SpareParts spares_{&timers_, &storage_};
  FakeCommandGroup::State group_;
  PlayedSpawner played_{loop_.get()};
  bool init_ends_ = false;
  // True if the kernel's log names the command.
  bool is_oom_victim_ = true;
  int oom_questions_ = 0;
  // The last change of the logs that was reported.
  wire::OutputChange output_;
  int started_ = 0;
  std::vector<wire::ExecutionRecord> states_;
  CommandHost host_;
  wire::StartExecution start_;
  std::unique_ptr<SupervisedCommand> command_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_FIXTURE_H_

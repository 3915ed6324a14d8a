// For tests: one Sandbox with real lanes and a real directory, a fake clock,
// and a connection whose requests the test answers.

#ifndef SERVER_CORE_SANDBOX_FIXTURE_H_
#define SERVER_CORE_SANDBOX_FIXTURE_H_

#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "server/api/errors.h"
#include "server/core/lanes.h"
#include "server/core/recovery.h"
#include "server/core/retention.h"
#include "server/core/sandbox.h"
#include "server/core/storage_health.h"
#include "server/core/teardown_queue.h"
#include "server/runtime/activity.h"
#include "server/runtime/heap_trim.h"
#include "tests/fakes/fake_timer_queue.h"

namespace server {

// Keeps what was asked for until the test answers.
class ScriptedConnection : public sandbox::SupervisorConnection {
 public:
  struct Requests {
    std::deque<std::pair<std::string, Done>> starts;
    std::deque<std::pair<std::string, Done>> deletions;
    std::vector<sandbox::wire::ExitRecord::Cause> kills;
    // Answered at once, or put into `killed`.
    bool answers_kills = true;
    std::vector<Done> killed;
  };

  explicit ScriptedConnection(Requests* requests) : requests_(requests) {}

  void Start(sandbox::wire::StartExecution start, Done done) override {
    requests_->starts.emplace_back(start.id(), std::move(done));
  }
  void Signal(sandbox::wire::Signal /*signal*/, Done /*done*/) override {}
  void Resize(sandbox::wire::Resize /*resize*/, Done /*done*/) override {}
  void WriteInput(sandbox::wire::WriteInput /*input*/,
                  InputDone /*done*/) override {}
  void Acknowledge(sandbox::wire::Acknowledge /*acknowledge*/) override {}
  void MakeSockets(SocketsDone /*done*/) override {}
  void AllowHosts(sandbox::wire::EgressRules /*rules*/,
                  Done /*done*/) override {}
  void DeleteExecution(const std::string& id, Done done) override {
    requests_->deletions.emplace_back(id, std::move(done));
  }
  void DeleteSandbox(sandbox::wire::ExitRecord::Cause cause,
                     Done done) override {
    requests_->kills.push_back(cause);
    if (requests_->answers_kills) {
      done(absl::OkStatus());
    } else {
      requests_->killed.push_back(std::move(done));
    }
  }

 private:
  Requests* const requests_;
};

class SandboxFixture : public ::testing::Test {
 protected:
  using Answers = std::vector<absl::Status>;

  SandboxFixture() {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~SandboxFixture() override {
    timers_.Clear();
    lanes_.Stop();
  }

  // Returns the parts of the server that a sandbox uses.
  Sandbox::Environment Environment() {
    Sandbox::Environment environment;
    environment.activity = &activity_;
    environment.timers = &timers_;
    environment.lanes = &lanes_;
    environment.storage = &storage_;
    environment.heap = &heap_;
    environment.all_ended = all_ended_;
    environment.teardowns = teardowns_;
    environment.max_running = 2;
    environment.boot_id = "boot";
    environment.remove_files = [this](std::shared_ptr<Sandbox> sandbox) {
      emptied_.push_back(std::move(sandbox));
    };
    return environment;
  }
  // Makes `sandbox_`, which is not attached yet.
  void Make(Sandbox::Origin origin = Sandbox::Origin::kNew,
            sandbox::wire::SandboxSpec spec = {}) {
    spec.set_id("box");
    spec.set_name("tenants/default/sandboxes/box");
    spec.set_directory(path_);
    if (spec.boot_id().empty()) {
      spec.set_boot_id("boot");
    }
    sandbox_ = Sandbox::Create(std::move(spec), Environment(), origin);
  }
  void Attach() {
    sandbox_->Attach(std::make_unique<ScriptedConnection>(&requests_));
  }
  // Makes a sandbox that is READY.
  void MakeReady(const sandbox::wire::SandboxSpec& spec = {}) {
    Make(Sandbox::Origin::kNew, spec);
    Attach();
    sandbox_->OnCreated(absl::OkStatus());
  }
  // Makes a sandbox of an earlier server, whose records are being read.
  void Recover(const sandbox::wire::SandboxSpec& spec = {}) {
    Make(Sandbox::Origin::kEarlierServer, spec);
    sandbox_->BeginRecovery();
  }

  // Blocks until no lane has work left.
  void AwaitLanes() {
    for (int i = 0; i < 2; ++i) {
      lanes_.kills.AwaitIdle();
      lanes_.records.AwaitIdle();
      lanes_.removals.AwaitIdle();
    }
  }

  static sandbox::wire::SandboxEnd End(sandbox::wire::SandboxEnd::Cause cause,
                                       const std::string& message) {
    sandbox::wire::SandboxEnd end;
    end.set_cause(cause);
    end.set_message(message);
    return end;
  }
  static sandbox::wire::SandboxEnd Killed() {
    return End(sandbox::wire::SandboxEnd::SUPERVISOR_DIED, "killed");
  }
  static sandbox::wire::SandboxEnd InitDied() {
    return End(sandbox::wire::SandboxEnd::INIT_DIED, "init died");
  }
  static sandbox::wire::SandboxEnd Deleted() {
    return End(sandbox::wire::SandboxEnd::DELETED, "");
  }
  // Expects SANDBOX_NOT_READY with this message and this advice.
  static void ExpectUnavailable(const absl::Status& status,
                                const std::string& why, absl::Duration retry) {
    const absl::Status wanted =
        SandboxUnavailable("tenants/default/sandboxes/box", why, retry);
    EXPECT_EQ(status.code(), wanted.code());
    EXPECT_EQ(ReasonOf(status), ReasonOf(wanted));
    EXPECT_EQ(status.message(), wanted.message());
    constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";
    EXPECT_TRUE(status.GetPayload(kRetryInfo) == wanted.GetPayload(kRetryInfo));
  }
  static absl::Status Failure(sandbox::wire::Reply::Failure kind) {
    return sandbox::MakeFailure(kind, "as the test wants it");
  }

  // Starts a command. The answer is added to `starts_`.
  void Start(const std::string& id) {
    sandbox::wire::RequestIdentity request;
    request.set_request_id(id);
    request.set_digest("digest");
    sandbox_->Start(
        {id, corral::v1::Command(), request},
        [this](const absl::StatusOr<Sandbox::ExecutionPtr>& started) {
          starts_.push_back(started.status());
        });
  }
  // The supervisor's answer to the oldest start.
  void AnswerStart(const absl::Status& status) {
    Answer(&requests_.starts, status);
  }
  void AnswerDeletion(const absl::Status& status) {
    Answer(&requests_.deletions, status);
  }
  // A command that runs.
  void StartOk(const std::string& id) {
    Start(id);
    Report(id, sandbox::wire::ExecutionRecord::RUNNING);
    AnswerStart(absl::OkStatus());
  }
  static sandbox::wire::ExecutionRecord Record(
      const std::string& id, sandbox::wire::ExecutionRecord::State state) {
    sandbox::wire::ExecutionRecord record;
    record.set_id(id);
    record.set_state(state);
    if (state == sandbox::wire::ExecutionRecord::EXITED) {
      record.mutable_exit();
      record.set_end_time_ns(absl::GetCurrentTimeNanos());
    }
    return record;
  }
  void Report(const std::string& id,
              sandbox::wire::ExecutionRecord::State state) {
    sandbox_->OnExecution(Record(id, state));
  }
  void DeleteExecution(const std::string& id) {
    sandbox_->DeleteExecution(id, Into(&deletions_));
  }
  static Sandbox::Done Into(Answers* answers) {
    return [answers](absl::Status status) {
      answers->push_back(std::move(status));
    };
  }

  // The file of an execution, which the first call makes.
  std::shared_ptr<sandbox::ExecutionFile> File(const std::string& id) {
    std::shared_ptr<sandbox::ExecutionFile>& file = files_[id];
    if (file == nullptr) {
      const std::string directory = absl::StrCat(path_, "/executions");
      std::filesystem::create_directories(directory);
      file = sandbox::ExecutionFile::Create(absl::StrCat(directory, "/", id))
                 .value();
    }
    return file;
  }
  void WriteStart(const sandbox::wire::ExecutionRecord& record) {
    EXPECT_TRUE(
        File(record.id())->WriteStart(sandbox::SealRecord(record)).ok());
  }
  void WriteEnd(const sandbox::wire::ExecutionRecord& record) {
    EXPECT_TRUE(File(record.id())->WriteEnd(sandbox::SealRecord(record)).ok());
  }
  void WriteStart(const std::string& id) {
    WriteStart(Record(id, sandbox::wire::ExecutionRecord::STARTING));
  }
  // Writes `bytes` to the log of standard output, which nobody reports.
  void WriteOutput(const std::string& id, const std::string& bytes) {
    sandbox::OutputLogWriter log(File(id), sandbox::wire::STDOUT);
    EXPECT_TRUE(log.Append(bytes.data(), bytes.size()).ok());
  }
  // No record of the sandbox can be read until Restore().
  void Obstruct() {
    std::filesystem::create_directories(absl::StrCat(path_, "/executions"));
    std::filesystem::rename(absl::StrCat(path_, "/executions"),
                            absl::StrCat(path_, "/aside"));
    std::ofstream(absl::StrCat(path_, "/executions")) << "x";
  }
  void Restore() {
    std::filesystem::remove(absl::StrCat(path_, "/executions"));
    std::filesystem::rename(absl::StrCat(path_, "/aside"),
                            absl::StrCat(path_, "/executions"));
  }

  static wire::Snapshot SnapshotOf(
      const std::vector<wire::ExecutionRecord>& records, bool ready = true) {
    wire::Snapshot snapshot;
    snapshot.set_ready(ready);
    for (const wire::ExecutionRecord& record : records) {
      *snapshot.add_executions() = record;
    }
    return snapshot;
  }
  static wire::ExecutionRecord Running(const std::string& id) {
    return Record(id, wire::ExecutionRecord::RUNNING);
  }

  // The records of a command that exited with 0, `age` ago.
  void WriteEnded(const std::string& id, absl::Duration age) {
    WriteStart(id);
    wire::ExecutionRecord end = Record(id, wire::ExecutionRecord::EXITED);
    end.set_end_time_ns(absl::ToUnixNanos(absl::Now() - age));
    WriteEnd(end);
  }

  void AwaitNextRead() {
    timers_.Advance(Recovery::kReadRetry);
    AwaitLanes();
  }

  corral::v1::Sandbox::State State() { return sandbox_->Describe().state(); }
  corral::v1::Execution Get(const std::string& id) {
    const Sandbox::ExecutionPtr execution = sandbox_->FindExecution(id);
    return execution == nullptr ? corral::v1::Execution()
                                : execution->Describe();
  }

  const std::string path_ = absl::StrCat(
      ::testing::TempDir(), "/",
      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  tests::FakeTimerQueue timers_;
  Activity activity_{&timers_, {absl::ZeroDuration(), /*max_lasting_calls=*/1}};
  StorageHealth storage_;
  Lanes lanes_;
  HeapTrim heap_{&timers_, &lanes_.removals};
  std::shared_ptr<Retention> all_ended_ =
      Retention::Create({1000, absl::InfiniteDuration()}, &timers_,
                        {[](const std::string&) { return false; },
                         [](const std::string&, Retention::Done done) {
                           done(absl::OkStatus());
                         }});
  // Without the timers that tests count.
  tests::FakeTimerQueue teardown_timers_;
  // One at a time.
  std::shared_ptr<TeardownQueue> teardowns_ =
      TeardownQueue::Create(&teardown_timers_, 1);
  ScriptedConnection::Requests requests_;
  // The sandboxes given to remove_files.
  std::vector<std::shared_ptr<Sandbox>> emptied_;
  std::shared_ptr<Sandbox> sandbox_;
  std::map<std::string, std::shared_ptr<sandbox::ExecutionFile>> files_;
  Answers starts_;
  Answers deletions_;

 private:
  static void Answer(
      std::deque<std::pair<std::string, sandbox::SupervisorConnection::Done>>*
          requests,
      const absl::Status& status) {
    ASSERT_FALSE(requests->empty());
    sandbox::SupervisorConnection::Done done =
        std::move(requests->front().second);
    requests->pop_front();
    done(status);
  }
};

}  // namespace server

#endif  // SERVER_CORE_SANDBOX_FIXTURE_H_

// Real supervisors, real sandboxes, real commands.

#include "sandbox/supervisor_client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "sandbox/output_log.h"
#include "sandbox/sandbox.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class Recorder : public SandboxObserver {
 public:
  void OnSnapshot(const wire::Snapshot& snapshot) override {
    MutexLock lock(&mutex_);
    snapshots_.push_back(snapshot);
    mutex_.Signal();
  }
  void OnExecution(const wire::ExecutionRecord& record) override {
    MutexLock lock(&mutex_);
    records_[record.id()] = record;
    mutex_.Signal();
  }
  void OnOutput(const std::string&) override {}
  void OnGone(const absl::Status& why) override {
    MutexLock lock(&mutex_);
    gone_ = std::make_unique<absl::Status>(why);
    mutex_.Signal();
  }

  wire::ExecutionRecord WaitForEnd(const std::string& id) {
    MutexLock lock(&mutex_);
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      const auto state = records_[id].state();
      return gone_ != nullptr || state == wire::ExecutionRecord::EXITED ||
             state == wire::ExecutionRecord::FAILED_TO_START;
    });
    return records_[id];
  }
  wire::Snapshot WaitForSnapshot() {
    MutexLock lock(&mutex_);
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !snapshots_.empty();
    });
    return snapshots_.back();
  }
  absl::Status WaitForGone() {
    MutexLock lock(&mutex_);
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return gone_ != nullptr;
    });
    return *gone_;
  }

 private:
  Mutex mutex_;
  std::map<std::string, wire::ExecutionRecord> records_;
  std::vector<wire::Snapshot> snapshots_;
  std::unique_ptr<absl::Status> gone_;
};

// A callback's status, waited for.
class Outcome {
 public:
  Sandbox::Done Callback() {
    return [this](absl::Status status) {
      MutexLock lock(&mutex_);
      status_ = std::move(status);
      done_ = true;
      mutex_.Signal();
    };
  }
  absl::Status Wait() {
    MutexLock lock(&mutex_);
    mutex_.Await([this]()
                     ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_; });
    return status_;
  }

 private:
  Mutex mutex_;
  bool done_ = false;
  absl::Status status_;
};

class SupervisorClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "/sbXXXXXX";
    directory_ = ::mkdtemp(path.data());
    workspace_ = directory_ + "/work";
    ASSERT_EQ(::mkdir(workspace_.c_str(), 0755), 0);
    factory_ = *SupervisorClientFactory::Create();
    spec_.set_directory(directory_);
    spec_.set_id("s1");
    spec_.set_workspace(workspace_);
    spec_.set_memory_bytes(uint64_t{256} << 20);
    spec_.set_pids(100);
  }
  void TearDown() override {
    if (sandbox_ != nullptr && !deleted_) {
      Outcome outcome;
      sandbox_->DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                              outcome.Callback());
      EXPECT_THAT(outcome.Wait(), IsOk());
      EXPECT_THAT(recorder_.WaitForGone(), IsOk());
    }
    sandbox_.reset();
  }

  absl::Status Create() {
    Outcome outcome;
    sandbox_ = factory_->Create(spec_, &recorder_, outcome.Callback());
    absl::Status created = outcome.Wait();
    deleted_ = !created.ok();
    return created;
  }

  static wire::StartExecution Shell(const std::string& id,
                                    const std::string& script) {
    wire::StartExecution start;
    start.set_id(id);
    wire::CommandSpec* command = start.mutable_command();
    command->add_argv("/bin/sh");
    command->add_argv("-c");
    command->add_argv(script);
    command->add_environment("PATH=/usr/bin:/bin");
    command->set_working_directory("/tmp");
    command->set_retain_bytes(1 << 20);
    command->set_kill_grace_ns(1'000'000'000);
    return start;
  }

  wire::ExecutionRecord Run(const wire::StartExecution& start) {
    Outcome outcome;
    sandbox_->Start(start, outcome.Callback());
    EXPECT_THAT(outcome.Wait(), IsOk());
    return recorder_.WaitForEnd(start.id());
  }

  std::string Output(const std::string& id, const std::string& stream) {
    absl::StatusOr<OutputLogReader> reader = OutputLogReader::Open(
        absl::StrCat(directory_, "/executions/", id, "/", stream));
    if (!reader.ok()) {
      return reader.status().ToString();
    }
    std::string text(1 << 20, '\0');
    text.resize(*reader->Read(0, text.data(), text.size()));
    return text;
  }

  std::string directory_;
  std::string workspace_;
  std::unique_ptr<SupervisorClientFactory> factory_;
  wire::SandboxSpec spec_;
  Recorder recorder_;
  std::unique_ptr<Sandbox> sandbox_;
  bool deleted_ = false;
};

TEST_F(SupervisorClientTest, RunsACommandAndKeepsItsOutputAndEnd) {
  ASSERT_THAT(Create(), IsOk());
  const wire::ExecutionRecord end =
      Run(Shell("e1", "echo out; echo err >&2; exit 7"));
  EXPECT_EQ(end.state(), wire::ExecutionRecord::EXITED);
  EXPECT_TRUE(WIFEXITED(end.exit().wait_status()));
  EXPECT_EQ(WEXITSTATUS(end.exit().wait_status()), 7);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_FALSE(end.exit().output_open());
  EXPECT_EQ(Output("e1", "stdout"), "out\n");
  EXPECT_EQ(Output("e1", "stderr"), "err\n");
}

TEST_F(SupervisorClientTest, TellsWhereAStartFailed) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "");
  start.mutable_command()->set_argv(0, "no-such-program");
  wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.state(), wire::ExecutionRecord::FAILED_TO_START);
  EXPECT_EQ(end.failure().stage(), wire::StartFailure::EXEC);
  EXPECT_EQ(end.failure().errno_value(), ENOENT);
  start.set_id("e2");
  start.mutable_command()->set_argv(0, "/usr");
  EXPECT_EQ(Run(start).failure().errno_value(), EACCES);
  start = Shell("e3", "true");
  start.mutable_command()->set_working_directory("/nowhere");
  end = Run(start);
  EXPECT_EQ(end.failure().stage(), wire::StartFailure::CHDIR);
  EXPECT_EQ(end.failure().errno_value(), ENOENT);
}

TEST_F(SupervisorClientTest, IsConfinedAsPromised) {
  ASSERT_THAT(Create(), IsOk());
  Run(Shell("e1",
            "id; grep -E '^(Cap|NoNew|Seccomp)' /proc/self/status; "
            "ls /; ls /proc | grep -c '^[0-9]'; ls -l /proc/self/fd; "
            "cat /proc/1/status; cat /proc/self/cgroup"));
  const std::string out = Output("e1", "stdout");
  EXPECT_THAT(out, HasSubstr("uid=1000(corral) gid=1000(corral)"));
  EXPECT_THAT(out, HasSubstr("CapPrm:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("CapBnd:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(out, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(Output("e1", "stderr"), HasSubstr("/proc/1/status: No such"));
}

TEST_F(SupervisorClientTest, WritesToTheWorkspaceAsItsOwner) {
  ASSERT_EQ(::chown(workspace_.c_str(), 1234, 2345), 0);
  ASSERT_THAT(Create(), IsOk());
  const wire::ExecutionRecord end =
      Run(Shell("e1", absl::StrCat("cd ", workspace_,
                                   " && echo hi > file && mkdir d && id -u && "
                                   "stat -c %u file")));
  EXPECT_EQ(end.exit().wait_status(), 0) << Output("e1", "stderr");
  EXPECT_EQ(Output("e1", "stdout"), "1000\n1000\n");
  struct stat status;
  ASSERT_EQ(::stat((workspace_ + "/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 2345u);
}

TEST_F(SupervisorClientTest, KillsTheWholeTreeAtTheWallTimeout) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell(
      "e1", "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 1000\" & wait");
  start.mutable_command()->set_wall_timeout_ns(100'000'000);
  start.mutable_command()->set_kill_grace_ns(100'000'000);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::WALL_TIMEOUT);
  EXPECT_TRUE(WIFSIGNALED(end.exit().wait_status()));
  EXPECT_FALSE(end.exit().output_open());
}

TEST_F(SupervisorClientTest, SaysWhenMemoryRanOut) {
  spec_.set_memory_bytes(uint64_t{32} << 20);
  ASSERT_THAT(Create(), IsOk());
  // The shell itself holds what it reads.
  const wire::StartExecution start =
      Shell("e1", "x=$(head -c 200M /dev/zero | tr '\\0' x); echo ${#x}");
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::OUT_OF_MEMORY)
      << end.exit().wait_status() << Output("e1", "stderr");
  EXPECT_GT(end.usage().oom_kills(), 0u);
}

TEST_F(SupervisorClientTest, GivesATerminal) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start =
      Shell("e1",
            "tty; stty size; test -t 0 && test -t 1 && echo yes; "
            "echo > /dev/tty; : < $(tty) && echo opened");
  start.mutable_command()->set_terminal_rows(30);
  start.mutable_command()->set_terminal_columns(100);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().wait_status(), 0);
  const std::string out = Output("e1", "terminal");
  EXPECT_THAT(out, HasSubstr("/dev/pts/0\r\n30 100\r\nyes\r\n"));
  EXPECT_THAT(out, HasSubstr("opened"));
}

TEST_F(SupervisorClientTest, PassesInputByOffset) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "cat");
  start.mutable_command()->set_open_stdin(true);
  Outcome started;
  sandbox_->Start(start, started.Callback());
  ASSERT_THAT(started.Wait(), IsOk());
  const auto write = [&](uint64_t offset, const std::string& data, bool eof) {
    wire::WriteInput input;
    input.set_execution_id("e1");
    input.set_offset(offset);
    input.set_data(data);
    input.set_eof(eof);
    Outcome outcome;
    sandbox_->WriteInput(
        input, [done = outcome.Callback()](absl::Status status,
                                           const wire::InputState&) mutable {
          done(std::move(status));
        });
    return outcome.Wait();
  };
  EXPECT_THAT(write(0, "hello", false), IsOk());
  EXPECT_THAT(write(2, "llo wor", false), IsOk());
  EXPECT_THAT(write(100, "x", false),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("gap")));
  EXPECT_THAT(write(9, "ld", true), IsOk());
  recorder_.WaitForEnd("e1");
  EXPECT_EQ(Output("e1", "stdout"), "hello world");
}

TEST_F(SupervisorClientTest, DeletesWhatRunsAndTellsItsEndFirst) {
  ASSERT_THAT(Create(), IsOk());
  Outcome started;
  sandbox_->Start(Shell("e1", "sleep 1000 & sleep 1000"), started.Callback());
  ASSERT_THAT(started.Wait(), IsOk());
  Outcome deleted;
  sandbox_->DeleteExecution("e1", deleted.Callback());
  EXPECT_THAT(deleted.Wait(), IsOk());
  const wire::ExecutionRecord end = recorder_.WaitForEnd("e1");
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
  EXPECT_NE(::access((directory_ + "/executions/e1").c_str(), F_OK), 0);
}

TEST_F(SupervisorClientTest, TellsAgainToWhoConnectsLater) {
  ASSERT_THAT(Create(), IsOk());
  Run(Shell("e1", "exit 3"));
  Recorder second;
  absl::StatusOr<std::unique_ptr<Sandbox>> adopted =
      factory_->Adopt(spec_, &second);
  ASSERT_THAT(adopted.status(), IsOk());
  const wire::Snapshot snapshot = second.WaitForSnapshot();
  EXPECT_TRUE(snapshot.ready());
  ASSERT_EQ(snapshot.executions_size(), 1);
  EXPECT_EQ(snapshot.executions(0).exit().wait_status(), 3 << 8);
  EXPECT_FALSE(recorder_.WaitForGone().ok());
  sandbox_ = *std::move(adopted);
  Outcome outcome;
  sandbox_->DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                          outcome.Callback());
  EXPECT_THAT(outcome.Wait(), IsOk());
  EXPECT_THAT(second.WaitForGone(), IsOk());
  deleted_ = true;
  sandbox_.reset();
}

TEST_F(SupervisorClientTest, RefusesAWorkspaceThatIsNotThere) {
  spec_.set_workspace(directory_ + "/absent");
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("absent")));
}

}  // namespace
}  // namespace sandbox

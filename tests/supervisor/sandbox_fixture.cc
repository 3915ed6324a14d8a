#include "tests/supervisor/sandbox_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/log.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

bool HasEnded(const wire::ExecutionRecord& record) {
  return record.state() == wire::ExecutionRecord::EXITED ||
         record.state() == wire::ExecutionRecord::FAILED_TO_START;
}

}  // namespace

void Recorder::OnSnapshot(const wire::Snapshot& snapshot) {
  MutexLock lock(&mutex_);
  snapshots_.push_back(snapshot);
  mutex_.Signal();
}

void Recorder::OnExecution(const wire::ExecutionRecord& record) {
  MutexLock lock(&mutex_);
  records_[record.id()] = record;
  ++reports_;
  mutex_.Signal();
}

void Recorder::OnOutput(const wire::OutputChange&) {
  MutexLock lock(&mutex_);
  ++reports_;
  mutex_.Signal();
}

void Recorder::OnStorage(const wire::Storage& storage) {
  MutexLock lock(&mutex_);
  storage_failure_ = storage.failure();
  mutex_.Signal();
}

void Recorder::OnMade(const wire::SandboxTrace& trace) {
  MutexLock lock(&mutex_);
  trace_ = trace;
}

wire::SandboxTrace Recorder::trace() {
  MutexLock lock(&mutex_);
  return trace_;
}

void Recorder::OnEgressRules(const wire::EgressRules& rules) {
  MutexLock lock(&mutex_);
  egress_rules_ = rules;
}

wire::EgressRules Recorder::egress_rules() {
  MutexLock lock(&mutex_);
  return egress_rules_;
}

void Recorder::OnGone(const wire::SandboxEnd& end) {
  MutexLock lock(&mutex_);
  gone_ = end;
  ++reports_;
  mutex_.Signal();
}

wire::ExecutionRecord Recorder::WaitForEnd(const std::string& id) {
  MutexLock lock(&mutex_);
  mutex_.Await([this, &id]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return gone_.has_value() || HasEnded(records_[id]);
  });
  return records_[id];
}

wire::Snapshot Recorder::WaitForSnapshot() {
  MutexLock lock(&mutex_);
  mutex_.Await(
      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !snapshots_.empty(); });
  return snapshots_.back();
}

wire::SandboxEnd Recorder::WaitForGone() {
  MutexLock lock(&mutex_);
  mutex_.Await(
      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return gone_.has_value(); });
  return *gone_;
}

std::string Recorder::WaitForStorage(bool fails) {
  MutexLock lock(&mutex_);
  mutex_.Await([this, fails]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return storage_failure_.empty() != fails;
  });
  return storage_failure_;
}

int Recorder::WaitForMore(int seen) {
  MutexLock lock(&mutex_);
  mutex_.Await([this, seen]()
                   ABSL_NO_THREAD_SAFETY_ANALYSIS { return reports_ > seen; });
  return reports_;
}

bool Recorder::Ended(const std::string& id) {
  MutexLock lock(&mutex_);
  return gone_.has_value() || HasEnded(records_[id]);
}

SupervisorConnection::Done Outcome::Callback() {
  return [this](absl::Status status) {
    MutexLock lock(&mutex_);
    status_ = std::move(status);
    done_ = true;
    mutex_.Signal();
  };
}

absl::Status Outcome::Wait() {
  MutexLock lock(&mutex_);
  mutex_.Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return done_; });
  return status_;
}

TestSandbox::TestSandbox() {
  std::string path = ::testing::TempDir() + "/sbXXXXXX";
  CHECK(::mkdtemp(path.data()) != nullptr) << "mkdtemp " << path;
  directory_ = path;
  workspace_ = directory_ + "/work";
  CHECK(::mkdir(workspace_.c_str(), 0755) == 0) << "mkdir " << workspace_;
  absl::StatusOr<std::unique_ptr<LocalSupervisorLauncher>> launcher =
      LocalSupervisorLauncher::Create();
  CHECK(launcher.ok()) << launcher.status().ToString();
  launcher_ = *std::move(launcher);
  spec_.set_directory(directory_);
  spec_.set_id("s1");
  spec_.set_workspace(workspace_);
  spec_.set_memory_bytes(uint64_t{256} << 20);
  spec_.set_pids(100);
}

TestSandbox::~TestSandbox() {
  EXPECT_TRUE(Delete().ok());
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

absl::Status TestSandbox::Create() {
  BeginCreation();
  return FinishCreation();
}

void TestSandbox::BeginCreation() {
  connection_ = launcher_->Create(spec_, &recorder_, creation_.Callback());
}

absl::Status TestSandbox::FinishCreation() {
  absl::Status created = creation_.Wait();
  if (!created.ok()) {
    connection_.reset();
  }
  return created;
}

absl::Status TestSandbox::Delete() {
  if (connection_ == nullptr) {
    return absl::OkStatus();
  }
  Outcome outcome;
  connection_->DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                             outcome.Callback());
  absl::Status deleted = outcome.Wait();
  if (deleted.ok()) {
    EXPECT_EQ(recorder_.WaitForGone().cause(), wire::SandboxEnd::DELETED);
  }
  connection_.reset();
  return deleted;
}

void TestSandbox::Forget() { connection_.reset(); }

wire::StartExecution TestSandbox::Command(
    const std::string& id, const std::vector<std::string>& argv) const {
  wire::StartExecution start;
  start.set_id(id);
  wire::CommandSpec* command = start.mutable_command();
  for (const std::string& argument : argv) {
    command->add_argv(argument);
  }
  command->add_environment("PATH=/usr/bin:/bin");
  command->set_working_directory(spec_.workspace().empty() ? "/tmp"
                                                           : spec_.workspace());
  command->set_retain_bytes(1 << 20);
  command->set_kill_grace_ns(kSecond);
  command->set_wall_timeout_ns(120 * kSecond);
  return start;
}

wire::StartExecution TestSandbox::Shell(const std::string& id,
                                        const std::string& script) const {
  return Command(id, {"/bin/sh", "-c", script});
}

absl::Status TestSandbox::Start(const wire::StartExecution& start) {
  Outcome outcome;
  connection_->Start(start, outcome.Callback());
  return outcome.Wait();
}

wire::ExecutionRecord TestSandbox::Run(const wire::StartExecution& start) {
  const absl::Status started = Start(start);
  EXPECT_TRUE(started.ok()) << started;
  return started.ok() ? recorder_.WaitForEnd(start.id())
                      : wire::ExecutionRecord();
}

wire::ExecutionRecord TestSandbox::WaitForEnd(const std::string& id) {
  return recorder_.WaitForEnd(id);
}

bool TestSandbox::WaitForText(const std::string& id, const std::string& stream,
                              const std::string& text) {
  for (int seen = 0;;) {
    const bool ended = recorder_.Ended(id);
    if (absl::StrContains(Output(id, stream), text)) {
      return true;
    }
    if (ended) {
      return false;
    }
    seen = recorder_.WaitForMore(seen);
  }
}

absl::Status TestSandbox::Signal(const std::string& id, int signal) {
  wire::Signal request;
  request.set_execution_id(id);
  request.set_signal(signal);
  request.set_kill_after_ns(-1);
  Outcome outcome;
  connection_->Signal(request, outcome.Callback());
  return outcome.Wait();
}

absl::Status TestSandbox::DeleteExecution(const std::string& id) {
  Outcome outcome;
  connection_->DeleteExecution(id, outcome.Callback());
  return outcome.Wait();
}

std::string TestSandbox::Output(const std::string& id,
                                const std::string& stream) const {
  absl::StatusOr<OutputLogReader> reader =
      OutputLogReader::Open(absl::StrCat(directory_, "/executions/", id),
                            stream == "stderr" ? wire::STDERR : wire::STDOUT);
  if (!reader.ok()) {
    return reader.status().ToString();
  }
  std::string text(1 << 20, '\0');
  const absl::StatusOr<size_t> got = reader->Read(0, text.data(), text.size());
  if (!got.ok()) {
    return got.status().ToString();
  }
  text.resize(*got);
  return text;
}

}  // namespace sandbox

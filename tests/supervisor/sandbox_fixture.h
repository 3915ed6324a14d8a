// A real sandbox for a test, which is deleted at its end with its files.
//
// The methods block until the supervisor has replied. Commands have a wall
// timeout of two minutes, so that they do not outlive a killed test for long.

#ifndef TESTS_SUPERVISOR_SANDBOX_FIXTURE_H_
#define TESTS_SUPERVISOR_SANDBOX_FIXTURE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "sandbox/base/mutex.h"
#include "sandbox/client/local_supervisor_launcher.h"
#include "sandbox/client/supervisor_connection.h"

namespace sandbox {

// Keeps what a supervisor reports. Thread-safe.
class Recorder : public SupervisorObserver {
 public:
  void OnSnapshot(const wire::Snapshot& snapshot) override;
  void OnExecution(const wire::ExecutionRecord& record) override;
  void OnOutput(const wire::OutputChange&) override;
  void OnStorage(const wire::Storage& storage) override;
  void OnMade(const wire::SandboxTrace& trace) override;
  void OnEgressRules(const wire::EgressRules& rules) override;
  void OnGone(const wire::SandboxEnd& end) override;

  // Waits until the execution or the sandbox has ended; returns the last
  // record.
  wire::ExecutionRecord WaitForEnd(const std::string& id);
  wire::Snapshot WaitForSnapshot();
  wire::SandboxEnd WaitForGone();
  // Waits until writing fails, or succeeds again. Returns why it fails.
  std::string WaitForStorage(bool fails);
  // Waits for more than `seen` reports. Returns how many there were.
  int WaitForMore(int seen);
  bool Ended(const std::string& id);
  // The last ones that were reported.
  wire::EgressRules egress_rules();
  wire::SandboxTrace trace();

 private:
  Mutex mutex_;
  std::map<std::string, wire::ExecutionRecord> records_ ABSL_GUARDED_BY(mutex_);
  std::vector<wire::Snapshot> snapshots_ ABSL_GUARDED_BY(mutex_);
  std::string storage_failure_ ABSL_GUARDED_BY(mutex_);
  std::optional<wire::SandboxEnd> gone_ ABSL_GUARDED_BY(mutex_);
  wire::EgressRules egress_rules_ ABSL_GUARDED_BY(mutex_);
  wire::SandboxTrace trace_ ABSL_GUARDED_BY(mutex_);
  int reports_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Waits for the status that a callback gets. Must outlive the call.
class Outcome {
 public:
  SupervisorConnection::Done Callback();
  absl::Status Wait();

 private:
  Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class TestSandbox {
 public:
  // Makes the directories; `spec()` may be changed until Create().
  TestSandbox();
  ~TestSandbox();
  TestSandbox(const TestSandbox&) = delete;
  TestSandbox& operator=(const TestSandbox&) = delete;

  // The spec: by default 256 MiB, 100 processes and a workspace of its own.
  wire::SandboxSpec& spec() { return spec_; }
  const std::string& directory() const { return directory_; }
  // The workspace's path, which is the same on the host and in the sandbox.
  const std::string& workspace() const { return workspace_; }
  LocalSupervisorLauncher& launcher() { return *launcher_; }
  Recorder& recorder() { return recorder_; }
  SupervisorConnection& connection() { return *connection_; }

  absl::Status Create();
  // Create() in two steps: sends the request, waits for the reply.
  void BeginCreation();
  absl::Status FinishCreation();
  absl::Status Delete();
  // Drops the connection: somebody else deletes the sandbox, or it is gone.
  void Forget();

  // Returns a request for `/bin/sh -c script` in the workspace.
  wire::StartExecution Shell(const std::string& id,
                             const std::string& script) const;
  // Returns a request for `argv` in the workspace.
  wire::StartExecution Command(const std::string& id,
                               const std::vector<std::string>& argv) const;

  absl::Status Start(const wire::StartExecution& start);
  // Starts a command and waits for its end.
  wire::ExecutionRecord Run(const wire::StartExecution& start);
  wire::ExecutionRecord WaitForEnd(const std::string& id);
  // Waits until a stream of the execution contains `text`. Returns false if the
  // execution ended without it.
  bool WaitForText(const std::string& id, const std::string& stream,
                   const std::string& text);
  absl::Status Signal(const std::string& id, int signal);
  absl::Status DeleteExecution(const std::string& id);
  // Returns at most the first MiB of a stream.
  std::string Output(const std::string& id, const std::string& stream) const;

 private:
  std::string directory_;
  std::string workspace_;
  wire::SandboxSpec spec_;
  Recorder recorder_;
  Outcome creation_;
  std::unique_ptr<LocalSupervisorLauncher> launcher_;
  std::unique_ptr<SupervisorConnection> connection_;
};

}  // namespace sandbox

#endif  // TESTS_SUPERVISOR_SANDBOX_FIXTURE_H_

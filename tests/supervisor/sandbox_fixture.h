// A real sandbox for a test: made, used synchronously, and deleted with what it
// left on disk.
//
// The methods block until the sandbox has answered; commands get a wall timeout
// of two minutes, so that nothing of a test that is killed runs for long.

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

// Keeps what a sandbox tells. Thread-safe.
class Recorder : public SupervisorObserver {
 public:
  void OnSnapshot(const wire::Snapshot& snapshot) override;
  void OnExecution(const wire::ExecutionRecord& record) override;
  void OnOutput(const wire::OutputChange&) override;
  void OnStorage(const wire::Storage& storage) override;
  void OnGone(const wire::SandboxEnd& end) override;

  // Returns its last state, also when the sandbox goes before it ends.
  wire::ExecutionRecord WaitForEnd(const std::string& id);
  wire::Snapshot WaitForSnapshot();
  wire::SandboxEnd WaitForGone();
  // Until writing fails, or no longer does. Returns why it fails.
  std::string WaitForStorage(bool fails);
  // Until more than `seen` things were told. Returns how many.
  int WaitForMore(int seen);
  bool Ended(const std::string& id);

 private:
  Mutex mutex_;
  std::map<std::string, wire::ExecutionRecord> records_ ABSL_GUARDED_BY(mutex_);
  std::vector<wire::Snapshot> snapshots_ ABSL_GUARDED_BY(mutex_);
  std::string storage_failure_ ABSL_GUARDED_BY(mutex_);
  std::optional<wire::SandboxEnd> gone_ ABSL_GUARDED_BY(mutex_);
  int told_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A callback's status, waited for. Outlives the call.
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

  // 256 MiB, 100 processes, a workspace of its own.
  wire::SandboxSpec& spec() { return spec_; }
  const std::string& directory() const { return directory_; }
  // On the host, and inside.
  const std::string& workspace() const { return workspace_; }
  LocalSupervisorLauncher& factory() { return *factory_; }
  Recorder& recorder() { return recorder_; }
  SupervisorConnection& sandbox() { return *sandbox_; }

  absl::Status Create();
  // The same in two steps: it is asked for, and was made.
  void BeginCreation();
  absl::Status FinishCreation();
  absl::Status Delete();
  // Somebody else deletes it, or it is known to be gone.
  void Forget();

  // A request for `/bin/sh -c script` in the workspace.
  wire::StartExecution Shell(const std::string& id,
                             const std::string& script) const;
  // A request for `argv` in the workspace.
  wire::StartExecution Command(const std::string& id,
                               const std::vector<std::string>& argv) const;

  absl::Status Start(const wire::StartExecution& start);
  // Starts it and waits for its end.
  wire::ExecutionRecord Run(const wire::StartExecution& start);
  wire::ExecutionRecord WaitForEnd(const std::string& id);
  // Until the stream of a running execution holds `text`. False: it ended
  // without.
  bool WaitForText(const std::string& id, const std::string& stream,
                   const std::string& text);
  absl::Status Signal(const std::string& id, int signal);
  absl::Status DeleteExecution(const std::string& id);
  // At most the first MiB.
  std::string Output(const std::string& id, const std::string& stream) const;

 private:
  std::string directory_;
  std::string workspace_;
  wire::SandboxSpec spec_;
  Recorder recorder_;
  Outcome creation_;
  std::unique_ptr<LocalSupervisorLauncher> factory_;
  std::unique_ptr<SupervisorConnection> sandbox_;
};

}  // namespace sandbox

#endif  // TESTS_SUPERVISOR_SANDBOX_FIXTURE_H_

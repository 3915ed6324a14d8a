// A supervisor without processes: keeps real records and output logs
// in the sandbox's directory, and lets a test say what its commands write and
// how they end.
//
// Lives on one event loop: every method but the constructor belongs to its
// thread.

#ifndef TESTS_FAKES_FAKE_SUPERVISOR_H_
#define TESTS_FAKES_FAKE_SUPERVISOR_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"

namespace tests {

class FakeSupervisor {
 public:
  explicit FakeSupervisor(sandbox::wire::SandboxSpec spec)
      : spec_(std::move(spec)) {}

  const sandbox::wire::SandboxSpec& spec() const { return spec_; }

  // A null `observer` means that nobody is connected. Drops the callbacks of
  // the connection before.
  void Connect(sandbox::SupervisorObserver* observer) {
    observer_ = observer;
    ignored_deletions_.clear();
  }
  bool connected() const { return observer_ != nullptr; }
  bool alive() const { return alive_; }
  sandbox::wire::Snapshot Snapshot() const;
  // Says that the mounts took 5 us, and nothing else.
  static sandbox::wire::SandboxTrace Trace();

  // Starts fail with this from now on.
  void FailStarts(const sandbox::wire::StartFailure& failure) {
    failure_ = failure;
  }
  // Starts are refused with this from now on, and leave nothing.
  void RefuseStarts(const absl::Status& error) { refusal_ = error; }
  // Deletions of executions are answered with this, and not made.
  void RefuseDeletions(const absl::Status& error) { deletion_refusal_ = error; }
  // The supervisor dies at the next start: before it writes the record of the
  // start, or after.
  enum class Death { kNone, kBeforeRecord, kAfterRecord };
  void DieOfStart(Death death) { death_ = death; }
  // Deletions of the sandbox are neither carried out nor answered from now on,
  // or again. Those that are ignored are answered when it dies.
  void IgnoreDeletions(bool ignore) { ignores_deletions_ = ignore; }
  bool ignores_deletions() const { return ignores_deletions_; }
  void IgnoreDeletion(sandbox::SupervisorConnection::Done done) {
    ignored_deletions_.push_back(std::move(done));
  }
  size_t ignored_deletions() const { return ignored_deletions_.size(); }
  // The sandbox counts as not made yet: its creation was never answered.
  void BeUnready() { ready_ = false; }

  // Sockets are refused with this from now on. Otherwise they are made in the
  // network namespace of the test.
  void RefuseSockets(const absl::Status& error) { sockets_refusal_ = error; }
  // The next request for sockets gets these.
  void GiveSockets(std::vector<sandbox::UniqueFd> sockets) {
    given_sockets_ = std::move(sockets);
  }
  // Requests for sockets wait from now on.
  void HoldSockets() { hold_sockets_ = true; }
  size_t held_sockets() const { return held_sockets_.size(); }

  // How many executions it was asked to start.
  int starts() const { return starts_; }

  // Inputs wait from now on, as those of a command that does not read.
  void HoldInput() { hold_input_ = true; }
  size_t held_inputs() const { return held_inputs_.size(); }
  // Inputs are refused with this from now on.
  void RefuseInput(const absl::Status& error) { input_refusal_ = error; }

  // Signals and resizes are refused with this from now on.
  void RefuseControl(const absl::Status& error) { control_refusal_ = error; }

  // Further rules are refused with this from now on.
  void RefuseRules(const absl::Status& error) { rules_refusal_ = error; }

  void Write(const std::string& execution, sandbox::wire::Stream stream,
             const std::string& bytes);
  // No process has the terminal of the command open any more.
  void CloseTerminal(const std::string& execution);
  // From wait(2).
  void End(const std::string& execution, int wait_status,
           sandbox::wire::ExitRecord::Cause cause);
  // The supervisor and all it runs are gone, as by SIGKILL.
  void Die(sandbox::wire::SandboxEnd::Cause cause, const std::string& message);

  // The last of each that was asked for.
  const sandbox::wire::Signal& last_signal() const { return last_signal_; }
  const sandbox::wire::Resize& last_resize() const { return last_resize_; }
  const sandbox::wire::WriteInput& last_input() const { return last_input_; }
  const sandbox::wire::Acknowledge& last_acknowledge() const {
    return last_acknowledge_;
  }
  const sandbox::wire::CommandSpec& command(
      const std::string& execution) const {
    return executions_.at(execution).record.command();
  }

  // The methods of sandbox::SupervisorConnection, answered at once.
  absl::Status Start(const sandbox::wire::StartExecution& start);
  absl::Status Signal(const sandbox::wire::Signal& signal);
  absl::Status Resize(const sandbox::wire::Resize& resize);
  void WriteInput(const sandbox::wire::WriteInput& input,
                  sandbox::SupervisorConnection::InputDone done);
  void Acknowledge(const sandbox::wire::Acknowledge& acknowledge);
  absl::Status AllowHosts(const sandbox::wire::EgressRules& rules);
  void MakeSockets(sandbox::SupervisorConnection::SocketsDone done);
  absl::Status DeleteExecution(const std::string& execution);
  void DeleteSandbox(sandbox::wire::ExitRecord::Cause cause);

 private:
  struct Running {
    sandbox::wire::ExecutionRecord record;
    std::shared_ptr<sandbox::ExecutionFile> file;
    std::map<sandbox::wire::Stream, sandbox::OutputLogWriter> logs;
  };

  std::string Path(const std::string& execution) const;
  // Fails with NO_SUCH_EXECUTION.
  absl::StatusOr<Running*> Find(const std::string& execution);
  // Fails with NOT_A_TERMINAL if the command has no terminal, or none that is
  // open.
  static absl::Status CheckTerminal(const Running& running);
  sandbox::wire::EgressRules AllRules() const;
  static void OpenLogs(Running* running);
  // The record without the command, and what the logs hold.
  static sandbox::wire::ExecutionRecord Report(const Running& running);
  void Tell(const Running& running);
  void TellOutput(const std::string& execution);
  // The answer to a start that was not made.
  absl::Status DieAfter(const absl::Status& refusal);

  const sandbox::wire::SandboxSpec spec_;
  sandbox::SupervisorObserver* observer_ = nullptr;
  sandbox::wire::StartFailure failure_;
  absl::Status refusal_;
  absl::Status deletion_refusal_;
  absl::Status input_refusal_;
  absl::Status control_refusal_;
  absl::Status rules_refusal_;
  sandbox::wire::EgressRules rules_;
  absl::Status sockets_refusal_;
  std::vector<sandbox::UniqueFd> given_sockets_;
  Death death_ = Death::kNone;
  int starts_ = 0;
  bool hold_input_ = false;
  bool hold_sockets_ = false;
  bool alive_ = true;
  bool ready_ = true;
  bool ignores_deletions_ = false;
  std::map<std::string, Running> executions_;
  std::vector<sandbox::SupervisorConnection::InputDone> held_inputs_;
  std::vector<sandbox::SupervisorConnection::SocketsDone> held_sockets_;
  std::vector<sandbox::SupervisorConnection::Done> ignored_deletions_;
  sandbox::wire::Signal last_signal_;
  sandbox::wire::Resize last_resize_;
  sandbox::wire::WriteInput last_input_;
  sandbox::wire::Acknowledge last_acknowledge_;
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_SUPERVISOR_H_

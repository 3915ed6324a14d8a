// A connection from the server to the supervisor of one sandbox. Implemented by
// LocalSupervisorConnection and, for tests, by
// tests/fakes/fake_supervisor_launcher.h.
//
// Threading: the methods may be called from any thread and never block.
// Callbacks and the observer's methods run on the event loop's thread, one at a
// time and never inside a method of the connection; they must not block either.
// Each callback is called exactly once. The text of its status is for people;
// FailureOf() in failure.h returns the kind of a failure: SUPERVISOR_GONE if
// the supervisor was lost before it replied, FAULT if no other kind fits.

#ifndef SANDBOX_CLIENT_SUPERVISOR_CONNECTION_H_
#define SANDBOX_CLIENT_SUPERVISOR_CONNECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class SupervisorObserver {
 public:
  virtual ~SupervisorObserver() = default;

  // Reports the executions that the supervisor knows. The first call after
  // SupervisorLauncher::Adopt().
  virtual void OnSnapshot(const wire::Snapshot& snapshot) = 0;

  // Reports the present state of an execution. States never go back. Called
  // before the callback of the request that caused the change.
  virtual void OnExecution(const wire::ExecutionRecord& record) = 0;

  // Reports the ranges that the logs of an execution hold after a change.
  virtual void OnOutput(const wire::OutputChange& change) = 0;

  // Reports that writing records or output of this sandbox has begun to fail,
  // or succeeds again.
  virtual void OnStorage(const wire::Storage& storage) = 0;

  // Reports how long the steps took that made the sandbox. Called before the
  // callback of SupervisorLauncher::Create().
  virtual void OnMade(const wire::SandboxTrace& trace) = 0;

  // Reports all rules of the way out, after some were added.
  virtual void OnEgressRules(const wire::EgressRules& rules) = 0;

  // The last call, made exactly once: the supervisor is gone, and everything in
  // the sandbox with it. The cause is DELETED if DeleteSandbox() was called.
  virtual void OnGone(const wire::SandboxEnd& end) = 0;
};

class SupervisorConnection {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using InputDone =
      absl::AnyInvocable<void(absl::Status, const wire::InputState&)>;
  using SocketsDone =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<UniqueFd>>)>;

  // Disconnects; the sandbox lives on. Outstanding callbacks are dropped.
  virtual ~SupervisorConnection() = default;

  // OK when the execution runs or failed to start; OnExecution() reports which.
  // Fails with EXECUTION_EXISTS, STORAGE, SANDBOX_NOT_READY, ISOLATION or
  // FAULT, and with UNKNOWN_REQUEST if the supervisor is older than user ids.
  virtual void Start(wire::StartExecution start, Done done) = 0;

  // Fail with NO_SUCH_EXECUTION, EXECUTION_ENDED or NOT_A_TERMINAL.
  virtual void Signal(wire::Signal signal, Done done) = 0;
  virtual void Resize(wire::Resize resize, Done done) = 0;

  // Fails with NO_SUCH_EXECUTION, OFFSET_GAP or NO_INPUT, and with SHORTAGE if
  // too much input waits.
  virtual void WriteInput(wire::WriteInput input, InputDone done) = 0;

  virtual void Acknowledge(wire::Acknowledge acknowledge) = 0;

  // Adds rules to the way out. Fails with EGRESS if it refuses them, and with
  // UNKNOWN_REQUEST if the supervisor is older than such requests.
  virtual void AllowHosts(wire::EgressRules rules, Done done) = 0;

  // Makes at least one TCP socket in the network namespace of the sandbox; see
  // wire::MakeSockets. Fails with SANDBOX_NOT_READY, UNKNOWN_REQUEST (the
  // supervisor is too old) or SHORTAGE (of descriptors, in this process).
  virtual void MakeSockets(SocketsDone done) = 0;

  // Kills what is left of the execution, removes its cgroup and its directory.
  virtual void DeleteExecution(const std::string& execution_id, Done done) = 0;

  // Kills everything; running executions end with this cause. OnGone() follows.
  // The caller removes the sandbox's directory.
  virtual void DeleteSandbox(wire::ExitRecord::Cause cause, Done done) = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_SUPERVISOR_CONNECTION_H_

// What the server needs of one sandbox, whatever makes it: see
// supervisor_client.h for the real one and tests/fakes/fake_sandbox.h for
// tests.
//
// Threading: the methods may be called from any thread and never block.
// Callbacks and the observer's methods run on one thread at a time (the event
// loop's), never from inside a method of Sandbox, and must not block either. A
// callback is called exactly once. The status that it gets is for people;
// FailureOf() in failure.h says which kind of failure it is: SUPERVISOR_GONE if
// the supervisor is lost.

#ifndef SANDBOX_CLIENT_SUPERVISOR_CONNECTION_H_
#define SANDBOX_CLIENT_SUPERVISOR_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class SupervisorObserver {
 public:
  virtual ~SupervisorObserver() = default;

  // The executions that a supervisor knows, when the server connects to one
  // that it did not start. First call, if it comes at all.
  virtual void OnSnapshot(const wire::Snapshot& snapshot) = 0;

  // The execution's state is now this. A state never goes back. Comes before
  // the callback of the call that caused it.
  virtual void OnExecution(const wire::ExecutionRecord& record) = 0;

  // The logs of this execution changed, and hold this now.
  virtual void OnOutput(const wire::OutputChange& change) = 0;

  // Writing records or output of this sandbox has begun to fail, or succeeds
  // again.
  virtual void OnStorage(const wire::Storage& storage) = 0;

  // Last call, exactly once: the supervisor is gone, and everything in the
  // sandbox with it. DELETED if DeleteSandbox was called.
  virtual void OnGone(const wire::SandboxEnd& end) = 0;
};

class SupervisorConnection {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using InputDone =
      absl::AnyInvocable<void(absl::Status, const wire::InputState&)>;

  // Disconnects; the sandbox lives on. Callbacks that are outstanding are
  // dropped.
  virtual ~SupervisorConnection() = default;

  // OK when the execution runs or failed to start; OnExecution told which.
  // EXECUTION_EXISTS, STORAGE, SANDBOX_NOT_READY, ISOLATION, FAULT.
  virtual void Start(wire::StartExecution start, Done done) = 0;

  // NO_SUCH_EXECUTION, EXECUTION_ENDED, NOT_A_TERMINAL.
  virtual void Signal(wire::Signal signal, Done done) = 0;
  virtual void Resize(wire::Resize resize, Done done) = 0;

  // NO_SUCH_EXECUTION, OFFSET_GAP, NO_INPUT; SHORTAGE: too much input waits.
  virtual void WriteInput(wire::WriteInput input, InputDone done) = 0;

  virtual void Acknowledge(wire::Acknowledge acknowledge) = 0;

  // Kills what is left of the execution, removes its cgroup and its directory.
  virtual void DeleteExecution(const std::string& execution_id, Done done) = 0;

  // Kills everything; executions that run end with this cause. OnGone follows.
  // The sandbox's directory is left to the caller.
  virtual void DeleteSandbox(wire::ExitRecord::Cause cause, Done done) = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_SUPERVISOR_CONNECTION_H_

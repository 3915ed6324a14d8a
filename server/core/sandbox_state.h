// The states of a sandbox, and the one function that changes them.
//
//   kCreating   -> kReady -> kRecordingDeletion -> kEnding -> kEmptied
//   kRecovering -> kReady -> kFailed --------------------------^  |
//                                                                 v
//                                                              kRemoved
//
// A creation that fails goes straight to kEnding.
//
// Handle() takes an event and returns the next step of the sandbox. An event
// that a state does not allow changes nothing, since events of two threads may
// cross.
//
// Not thread-safe: the sandbox's lock guards it.

#ifndef SERVER_CORE_SANDBOX_STATE_H_
#define SERVER_CORE_SANDBOX_STATE_H_

#include <optional>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.pb.h"

namespace server {

class SandboxState {
 public:
  using Cause = corral::supervisor::v1::ExitRecord::Cause;

  enum class State {
    // A supervisor makes it. It takes no requests yet.
    kCreating,
    // An earlier server made it; its records are read and its supervisor is
    // looked for.
    kRecovering,
    // It runs commands.
    kReady,
    // A deletion was requested; deleting.pb is being written.
    kRecordingDeletion,
    // The supervisor kills what is left, or failed to make the sandbox.
    kEnding,
    // The supervisor is gone although no deletion was requested. Records stay.
    kFailed,
    // No process is left; files are being removed.
    kEmptied,
    // Nothing is left.
    kRemoved,
  };

  enum class Event {
    // The supervisor made the sandbox, or what an earlier server left is known.
    kMade,
    // The supervisor could not make the sandbox; kGone follows.
    kNotMade,
    // Nothing was made and nothing is to be removed.
    kAbandoned,
    // A client, the end of the lifetime or the server's shutdown wants the
    // sandbox deleted.
    kDeletionRequested,
    // deleting.pb is written, or the wait for the disk is over.
    kDeletionRecorded,
    // No process of the sandbox is left.
    kGone,
    // Its files are removed.
    kFilesRemoved,
  };

  // The step that the caller of Handle() has to take.
  enum class Action {
    kNothing,
    // Answer the callers that wait for the sandbox to be ready.
    kAnswerReady,
    // Answer them, then write deleting.pb; kDeletionRecorded follows.
    kRecordDeletion,
    // Ask the supervisor to kill everything; kGone follows.
    kKill,
    // Report the end of each execution that has none, then answer the callers
    // that wait for the sandbox to be ready.
    kReportLosses,
    // Remove the files; kFilesRemoved follows.
    kRemoveFiles,
    // Write deleting.pb, then remove the files.
    kRecordAndRemoveFiles,
    // Answer all callers that wait for the removal.
    kAnswerRemoved,
  };

  // kCreating or kRecovering.
  explicit SandboxState(State initial) : state_(initial) {}

  State state() const { return state_; }

  // `cause` is the cause of the ends of running commands. It is given with
  // kDeletionRequested only, and the first one counts.
  Action Handle(Event event, std::optional<Cause> cause = std::nullopt);

  // Returns no value if no deletion was requested.
  std::optional<Cause> deletion_cause() const { return deletion_cause_; }

  // True while the sandbox is being created or recovered.
  bool pending() const {
    return state_ == State::kCreating || state_ == State::kRecovering;
  }

  // True if no process of the sandbox is left.
  bool gone() const {
    return state_ == State::kFailed || state_ == State::kEmptied ||
           state_ == State::kRemoved;
  }

  // Returns the state that clients see.
  corral::v1::Sandbox::State ToApi() const;

 private:
  Action OnMade();
  Action OnDeletionRequested();
  Action OnGone();

  State state_;
  std::optional<Cause> deletion_cause_;
};

}  // namespace server

#endif  // SERVER_CORE_SANDBOX_STATE_H_

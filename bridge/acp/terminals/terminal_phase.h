// The life of one terminal, as a pure function.
//
//             kEnded            kReleased
//   kRunning --------> kEnded -------------> kDeleting
//      |                  | kSessionClosed        ^ kEnded
//      |                  +--------> kForgotten   |
//      | kReleased                     ^          |
//      +---------------------------------> kReleasing
//      | kSessionClosed                | kEnded   | kSessionClosed
//      +----------------------> kClosing <--------+

#ifndef BRIDGE_ACP_TERMINALS_TERMINAL_PHASE_H_
#define BRIDGE_ACP_TERMINALS_TERMINAL_PHASE_H_

namespace bridge {

enum class TerminalPhase {
  kRunning,    // the agent holds the terminal, the end is not known
  kEnded,      // the agent holds the terminal and can ask how it ended
  kReleasing,  // released; the command is killed, its waits are pending
  kClosing,    // the session closed; the sandbox's deletion ends the command
  kDeleting,   // final: the execution must be deleted
  kForgotten,  // final: the execution goes with its sandbox
};

enum class TerminalEvent {
  kEnded,          // the command ended, or the server can't be asked any more
  kReleased,       // terminal/release
  kSessionClosed,  // the session ended; its sandbox is being deleted
};

TerminalPhase NextPhase(TerminalPhase phase, TerminalEvent event);

// Returns true if the agent may refer to the terminal.
bool IsHeld(TerminalPhase phase);

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_TERMINAL_PHASE_H_

#ifndef BRIDGE_ACP_TERMINALS_TERMINAL_OBSERVER_H_
#define BRIDGE_ACP_TERMINALS_TERMINAL_OBSERVER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/acp/terminals/exit_status.h"

namespace bridge {

struct OpenedTerminal {
  std::string id;
  std::string session_id;
  std::string execution_name;  // empty: the command was not started
  std::string cwd;
};

// Learns what happens to the agent's terminals. Called on the loop's thread.
class TerminalObserver {
 public:
  virtual ~TerminalObserver() = default;

  // Called before the agent learns the id.
  virtual void OnOpened(const OpenedTerminal& terminal) = 0;
  // Called with more output, as valid UTF-8.
  virtual void OnOutput(const std::string& id, absl::string_view text) = 0;
  // Called when no output follows, before the agent's waits are answered.
  virtual void OnEnded(const std::string& id, const ExitStatus& status) = 0;
  // Called when the agent cannot refer to the terminal any more.
  virtual void OnReleased(const std::string& id) = 0;

  // The execution is deleted by `done`, which may run at once or later.
  virtual void BeforeDeletion(const std::string& id, PollLoop::Action done) = 0;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_TERMINALS_TERMINAL_OBSERVER_H_

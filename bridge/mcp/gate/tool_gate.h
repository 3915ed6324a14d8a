// Decides about the commands that tool calls would run.

#ifndef BRIDGE_MCP_GATE_TOOL_GATE_H_
#define BRIDGE_MCP_GATE_TOOL_GATE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "bridge/gate/audit_log.h"
#include "bridge/gate/gate_rules.h"
#include "bridge/gate/gated_command.h"
#include "bridge/jsonrpc/json.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// Thread-safe: one gate serves all clients.
class ToolGate {
 public:
  // A command, and the ruling about it.
  struct Case {
    GatedCommand command;
    Ruling ruling;
    // True if the call types into a shell, which may run anything.
    bool types = false;
  };

  // `shell` is the path of the program in the terminals.
  ToolGate(GateRules rules, AuditLog audit, const std::string& shell);

  // Judges a call by the rules. Returns no value if it runs nothing. `run` is
  // judged as SHELL -c COMMAND, in an unknown directory; `type` and `sendKey`
  // as SHELL without arguments; createSession as the program that it names.
  std::optional<Case> Judge(const std::string& tool,
                            const OrderedJson& arguments) const;

  // Writes a decision to the audit log; `by` says who made it. Returns false if
  // it cannot be written; then nothing may run.
  bool Record(const Case& decided, bool allowed, const std::string& by)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `result` is the result of `run`. `execution` is the name of the terminal's
  // execution.
  void RecordEnd(const Case& ended, const OrderedJson& result,
                 const std::string& execution) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const GateRules rules_;
  const std::string shell_;
  // The name by which rules refer to the shell that reads a line.
  const std::string line_shell_;
  sandbox::Mutex mutex_;
  AuditLog audit_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace bridge

#endif  // BRIDGE_MCP_GATE_TOOL_GATE_H_

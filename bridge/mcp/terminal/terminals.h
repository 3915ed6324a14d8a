// The terminals of one client: the default one, and those that createSession
// made. All are in one sandbox.

#ifndef BRIDGE_MCP_TERMINAL_TERMINALS_H_
#define BRIDGE_MCP_TERMINAL_TERMINALS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/mcp/terminal/output_observer.h"
#include "bridge/mcp/terminal/terminal.h"
#include "bridge/mcp/terminal/terminal_sandbox.h"
#include "corral/v1/execution.pb.h"

namespace bridge {

struct TerminalsOptions {
  TerminalSandboxOptions sandbox;
  // The directory in which shells begin. Empty: the workspace.
  std::string directory;
  ShellOptions shell;
  size_t max_sessions = 5;
  std::function<absl::Time()> now = absl::Now;
};

struct SessionInfo {
  std::string id;
  ShellOptions shell;
  absl::Time created;
  absl::Time last_activity;
  bool is_default = false;
};

// Not thread-safe. Connects, and makes the sandbox and the default terminal,
// when they are first needed. In a lasting sandbox, shells outlive this object,
// and the next one finds them.
class Terminals {
 public:
  // `observer` must outlive this object.
  Terminals(TerminalsOptions options, OutputObserver* observer);
  // Ends the shells, unless they are lasting.
  ~Terminals();

  // The terminal of a session; empty: the default one, whose shell is started
  // if it does not run. Fails with NotFound if there is no such session, and
  // with FailedPrecondition if its shell has ended; from then on it is
  // NotFound.
  absl::StatusOr<std::shared_ptr<Terminal>> Find(const std::string& session);
  // Does what Find() does, but returns the shell of the default session also
  // after its end, for a caller that reports the end.
  absl::StatusOr<std::shared_ptr<Terminal>> FindEvenEnded(
      const std::string& session);

  // Fails with ResourceExhausted if there are max_sessions already.
  absl::StatusOr<SessionInfo> Create(const ShellOptions& shell);
  // Returns the sessions whose shells run. Starts the default session if it
  // does not run.
  absl::StatusOr<std::vector<SessionInfo>> List();
  // Fails with NotFound, or with FailedPrecondition for the default session.
  absl::Status Destroy(const std::string& session);

  const TerminalsOptions& options() const { return options_; }

  // A session that was not used for this time is destroyed; never the default
  // one.
  static constexpr absl::Duration kIdleTimeout = absl::Minutes(10);

 private:
  struct Session {
    SessionInfo info;
    std::shared_ptr<Terminal> terminal;
  };

  // Finds the shells of a lasting sandbox, once.
  absl::Status Adopt();
  absl::Status AdoptShell(const corral::v1::Execution& execution);
  absl::StatusOr<std::shared_ptr<Terminal>> Start(const SessionInfo& session);
  absl::StatusOr<std::shared_ptr<Terminal>> FindDefault();
  std::vector<Session>::iterator Locate(const std::string& session);
  // Destroys the sessions that nobody used for kIdleTimeout.
  void DestroyUnused();

  const TerminalsOptions options_;
  OutputObserver* const observer_;

  TerminalSandbox sandbox_;
  bool adopted_ = false;
  // The sessions in the order in which they were made.
  std::vector<Session> sessions_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_TERMINAL_TERMINALS_H_

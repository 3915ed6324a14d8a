#ifndef BRIDGE_ACP_SESSIONS_WORKPLACES_H_
#define BRIDGE_ACP_SESSIONS_WORKPLACES_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/session_sandbox.h"
#include "bridge/acp/sessions/sessions.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

struct WorkplaceOptions {
  // Absolute; the workspace of every session. Empty: each session's own working
  // directory.
  std::string workspace;
  bool read_only = false;
  corral::v1::Limits limits;
};

// Where a session's commands run: its sandbox, and the directory in it. For the
// loop's thread.
class Workplaces {
 public:
  struct Workplace {
    std::shared_ptr<SessionSandbox> sandbox;
    // Absolute, without "." and "..".
    std::string directory;
  };

  // Both must outlive it.
  Workplaces(ServerCalls* calls, Sessions* sessions, WorkplaceOptions options)
      : calls_(calls), sessions_(sessions), options_(std::move(options)) {}

  // `cwd` as the agent gave it: empty is the session's working directory, or
  // the workspace if that is not in it; relative is below that. A session that
  // no request opened gets an absolute `cwd` as its own. NotFound: there is
  // neither.
  absl::StatusOr<Workplace> Find(const std::string& session_id,
                                 const std::string& cwd);

  // Deletes the session's sandbox with all that runs in it.
  void Close(const std::string& session_id);
  void CloseAll();

 private:
  absl::StatusOr<std::string> SessionDirectory(const std::string& session_id,
                                               const std::string& cwd);
  std::shared_ptr<SessionSandbox> Sandbox(const std::string& session_id,
                                          const std::string& workspace);

  ServerCalls* const calls_;
  Sessions* const sessions_;
  const WorkplaceOptions options_;
  std::map<std::string, std::shared_ptr<SessionSandbox>> sandboxes_;
};

// Without ".", "..", doubled and trailing slashes. `path` is absolute.
std::string NormalizePath(const std::string& path);

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_WORKPLACES_H_

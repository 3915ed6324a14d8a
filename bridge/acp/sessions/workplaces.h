#ifndef BRIDGE_ACP_SESSIONS_WORKPLACES_H_
#define BRIDGE_ACP_SESSIONS_WORKPLACES_H_

#include <map>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bridge/acp/remote/deletions.h"
#include "bridge/acp/remote/server_calls.h"
#include "bridge/acp/sessions/path_map.h"
#include "bridge/acp/sessions/session_sandbox.h"
#include "bridge/acp/sessions/sessions.h"
#include "corral/v1/sandbox.pb.h"

namespace bridge {

struct WorkplaceOptions {
  // The workspace of every session, absolute. Empty: each session's own working
  // directory is its workspace.
  std::string workspace;
  bool read_only = false;
  corral::v1::Limits limits;
  // Applied to every directory that the client or the agent names.
  PathMap map;
};

// Decides where a session's commands run: in which sandbox, and in which
// directory of it. For the loop's thread.
class Workplaces {
 public:
  struct Workplace {
    std::shared_ptr<SessionSandbox> sandbox;
    // Absolute, without "." and "..".
    std::string directory;
  };

  // All pointers must outlive this object.
  Workplaces(ServerCalls* calls, Deletions* deletions, const Sessions* sessions,
             WorkplaceOptions options)
      : calls_(calls),
        deletions_(deletions),
        sessions_(sessions),
        options_(std::move(options)) {}

  // The sandbox of a session with this workspace, a path on the server.
  static corral::v1::Sandbox ToSandbox(const WorkplaceOptions& options,
                                       const std::string& workspace);

  // `cwd` is what the agent gave. Empty means the session's working directory,
  // or the workspace if that directory is outside of it; a relative path begins
  // there. Fails with NotFound if no request opened the session, and with
  // InvalidArgument if neither the client nor an option gave an absolute
  // directory.
  absl::StatusOr<Workplace> Find(const std::string& session_id,
                                 const std::string& cwd);

  // Makes the session's sandbox. Runs `done` with OK, or with the reason why no
  // command could run in the session.
  void Prepare(const std::string& session_id,
               absl::AnyInvocable<void(const absl::Status&)> done);

  const PathMap& map() const { return options_.map; }

  // Deletes the session's sandbox with all that runs in it.
  void Close(const std::string& session_id);
  void CloseAll();

 private:
  // The path on the server of a normal path that the client or the agent uses.
  std::string ToServer(const std::string& path) const;
  absl::StatusOr<std::string> SessionDirectory(
      const std::string& session_id) const;
  std::shared_ptr<SessionSandbox> Sandbox(const std::string& session_id,
                                          const std::string& workspace);

  ServerCalls* const calls_;
  Deletions* const deletions_;
  const Sessions* const sessions_;
  const WorkplaceOptions options_;
  std::map<std::string, std::shared_ptr<SessionSandbox>> sandboxes_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_WORKPLACES_H_

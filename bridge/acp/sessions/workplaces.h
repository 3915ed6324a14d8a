#ifndef BRIDGE_ACP_SESSIONS_WORKPLACES_H_
#define BRIDGE_ACP_SESSIONS_WORKPLACES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

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
  // Which of its paths commands cannot change; the same in additional
  // directories. Without a path.
  corral::v1::Workspace protection;
  // Limits, profile, network and mounts of every sandbox.
  corral::v1::Sandbox sandbox;
  // The name of the sandbox in which the agent runs, and with it the commands
  // of all sessions. It exists, and its workspace is `workspace`. Empty: each
  // session has its own.
  std::string agent_sandbox;
  // Applied to every directory that the client or the agent names.
  PathMap map;
};

// Decides where a session's commands run: in which sandbox, and in which
// directory of it. Used on the loop's thread only.
class Workplaces {
 public:
  struct Workplace {
    std::shared_ptr<SessionSandbox> sandbox;
    // Absolute, without "." and "..".
    std::string directory;
  };

  // Gets the name of each sandbox that is made for a session, but not those of
  // SandboxOfRule().
  using OnMade = absl::AnyInvocable<void(const std::string& session_id,
                                         const std::string& name)>;

  // All pointers must outlive this object, and this object its sandboxes'
  // calls.
  Workplaces(
      ServerCalls* calls, Deletions* deletions, const Sessions* sessions,
      WorkplaceOptions options,
      OnMade on_made = [](const std::string&, const std::string&) {});

  // Directories of the server, none of them inside of another one.
  struct Places {
    std::string workspace;
    std::vector<std::string> further;
  };

  // The sandbox of a session that sees these directories.
  static corral::v1::Sandbox ToSandbox(const WorkplaceOptions& options,
                                       const Places& places);

  // `cwd` is what the agent gave. Empty means the session's working directory,
  // or the workspace if that directory is outside of it; a relative path begins
  // there. Fails with NotFound if no request opened the session, and with
  // InvalidArgument if neither the client nor an option gave an absolute
  // directory.
  absl::StatusOr<Workplace> Find(const std::string& session_id,
                                 const std::string& cwd);

  // Returns another sandbox of a session that Find() has found, for the
  // commands of one rule; null if the session was closed. `differences`:
  // limits, which count beside those of the options, and the profile and the
  // network that replace those of the options, if set.
  std::shared_ptr<SessionSandbox> SandboxOfRule(
      const std::string& session_id, const std::string& rule,
      const corral::v1::Sandbox& differences);

  // `status` is OK, or the reason why no command could run in the session.
  // `missing` has a line for each additional directory that commands do not
  // see.
  using Prepared = absl::AnyInvocable<void(
      const absl::Status& status, const std::vector<std::string>& missing)>;

  // Makes the session's sandbox, unless it is that of the agent.
  void Prepare(const std::string& session_id, Prepared done);

  // Makes the session's sandbox again if it has died.
  void Revive(const std::string& session_id);

  const PathMap& map() const { return options_.map; }

  // Deletes the session's sandboxes with all that runs in them, but not that of
  // the agent.
  void Close(const std::string& session_id);
  void CloseAll();

  // Deletes the agent's sandbox, if there is one. The other methods may not be
  // called any more.
  void CloseAgent();

 private:
  // The path on the server of a normal path that the client or the agent uses.
  std::string ToServer(const std::string& path) const;
  absl::StatusOr<std::string> SessionDirectory(
      const std::string& session_id) const;
  // Returns those of a session whose directory on the server is `directory`.
  Places PlacesOf(const std::string& session_id,
                  const std::string& directory) const;
  std::shared_ptr<SessionSandbox> Sandbox(const std::string& session_id,
                                          const Places& places);
  // Reports which directories of a session the agent's sandbox does not show.
  void PrepareInside(const std::string& session_id, Prepared done) const;

  ServerCalls* const calls_;
  Deletions* const deletions_;
  const Sessions* const sessions_;
  const WorkplaceOptions options_;
  OnMade on_made_;
  // Null unless the agent runs in it.
  std::shared_ptr<SessionSandbox> agent_sandbox_;
  // The sandboxes by session id, and then by rule; "" is the session's own.
  std::map<std::string, std::map<std::string, std::shared_ptr<SessionSandbox>>>
      sandboxes_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_SESSIONS_WORKPLACES_H_

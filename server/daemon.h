// The whole server, from the recovery of the sandboxes of an earlier server to
// the end of a drain.

#ifndef SERVER_DAEMON_H_
#define SERVER_DAEMON_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/config/v1/server_config.pb.h"
#include "grpcpp/server.h"
#include "sandbox/base/callback_threads.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"
#include "sandbox/kernel/isolation.h"
#include "server/core/lanes.h"
#include "server/core/sandboxes.h"
#include "server/core/state_directory.h"
#include "server/core/storage_health.h"
#include "server/core/workspace_checks.h"
#include "server/core/workspace_policy.h"
#include "server/net/handover.h"
#include "server/net/listener.h"
#include "server/ports/port_service.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/execution_service.h"
#include "server/rpc/sandbox_service.h"
#include "server/runtime/activity.h"
#include "server/runtime/heap_trim.h"
#include "server/runtime/thread_timer_queue.h"
#include "server/screen/screen_service.h"

namespace server {

// Not thread-safe, but for activity().
class Daemon {
 public:
  // `config` is complete. `factory` and `state` must outlive this object.
  Daemon(const corral::config::v1::ServerConfig& config,
         const std::vector<sandbox::IsolationFeature>& isolation,
         sandbox::SupervisorLauncher* factory, const StateDirectory* state);
  ~Daemon();

  Activity* activity() { return &activity_; }

  // Takes over the sandboxes of an earlier server, then serves on `listener`,
  // which listens already and must outlive this object.
  absl::Status Start(Listener* listener);

  enum class End {
    // All sandboxes were deleted.
    kEnded,
    // The sandboxes go on, or their files are left. The server writes nothing
    // to the state directory any more. The process must exit without the
    // destructors that would end sandboxes.
    kLeft,
    // Like kLeft, and a successor waits for the sockets.
    kSucceeded,
  };

  // Blocks until a stop is requested, the server was idle for long enough, or a
  // successor waits at `handover`, which may be null. Then ends the server as
  // configured.
  End RunToTheEnd(Handover* handover);

 private:
  // Returns false if the successor has gone, and the server goes on.
  bool GiveWay(Handover* handover);
  void LeaveSandboxes();
  // Returns kLeft if every command has ended, but files of deleted sandboxes
  // are left or a thread waits for a disk.
  End EndSandboxes();
  // Returns false if a call does not end, and a thread still waits for it.
  bool ShutDownWithin(std::chrono::milliseconds longest);
  void Shutdown();

  const absl::Duration drain_for_;
  const bool leaves_sandboxes_;
  const uint64_t max_rpc_memory_bytes_;
  ThreadTimerQueue timers_;
  Activity activity_;
  Lanes lanes_;
  const WorkspacePolicy workspace_policy_;
  WorkspaceChecks workspaces_;
  WorkspaceChecks mounts_;
  StorageHealth storage_;
  HeapTrim heap_;
  Sandboxes sandboxes_;
  SandboxService sandbox_service_;
  ExecutionService execution_service_;
  AdminService admin_service_;
  ScreenService screen_service_;
  PortService port_service_;
  Listener* listener_ = nullptr;
  const sandbox::CallbackThreads callback_threads_{
      sandbox::CallbackThreads::Service::kAlone};
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace server

#endif  // SERVER_DAEMON_H_

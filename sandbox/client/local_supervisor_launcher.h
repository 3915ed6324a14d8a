// The real sandboxes: each is served by a corral-supervisor process, which this
// starts or finds.

#ifndef SANDBOX_CLIENT_LOCAL_SUPERVISOR_LAUNCHER_H_
#define SANDBOX_CLIENT_LOCAL_SUPERVISOR_LAUNCHER_H_

#include <atomic>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"

namespace sandbox {

// Owns the event loop's thread, on which all callbacks of its sandboxes run.
// The sandboxes must be destroyed before it.
//
// It keeps one supervisor ahead, with a sandbox prepared but for its workspace
// and limits. Without one at hand Create() starts a process, which takes about
// a millisecond: not for a gRPC reaction. A supervisor that ends before it has
// made its sandbox, or does not answer, is replaced by another one, once.
class LocalSupervisorLauncher : public SupervisorLauncher {
 public:
  static absl::StatusOr<std::unique_ptr<LocalSupervisorLauncher>> Create();
  ~LocalSupervisorLauncher() override;

  std::unique_ptr<SupervisorConnection> Create(const wire::SandboxSpec& spec,
                                               SupervisorObserver* observer,
                                               Created created) override;
  absl::StatusOr<std::unique_ptr<SupervisorConnection>> Adopt(
      const wire::SandboxSpec& spec, SupervisorObserver* observer) override;

  // For the end of a server whose sandboxes go on: no observer is called after
  // it has returned, what a sandbox is asked is dropped with its callback, and
  // the supervisor that was kept ahead ends. Supervisors await another server.
  void LetGo();

 private:
  void EndSpare();
  LocalSupervisorLauncher(std::unique_ptr<EventLoop> loop, UniqueFd image);
  // It is reaped when it ends. For any thread.
  absl::StatusOr<SupervisorProcess> StartSupervisor();
  // Makes spares, and cleans up after supervisors that were killed, until it is
  // told to stop.
  void Provide();
  // A supervisor was killed: it left its control groups.
  void CleanUp();

  const std::unique_ptr<EventLoop> loop_;
  // The supervisor's program. A memfd: an upgrade that replaces files does not
  // mix versions.
  const UniqueFd image_;
  std::atomic<bool> let_go_ = false;
  std::thread thread_;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The first time: after those that no server saw.
  bool unclean_ ABSL_GUARDED_BY(mutex_) = true;
  bool spare_wanted_ ABSL_GUARDED_BY(mutex_) = true;
  SupervisorProcess spare_ ABSL_GUARDED_BY(mutex_);
  std::thread provider_;
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_LOCAL_SUPERVISOR_LAUNCHER_H_

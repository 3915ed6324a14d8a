// Starts corral-supervisor processes on this host, one for each sandbox, and
// connects to those that an earlier server started.

#ifndef SANDBOX_CLIENT_LOCAL_SUPERVISOR_LAUNCHER_H_
#define SANDBOX_CLIENT_LOCAL_SUPERVISOR_LAUNCHER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/local_supervisor_connection.h"
#include "sandbox/client/spare_supervisors.h"
#include "sandbox/client/supervisor_connection.h"
#include "sandbox/client/supervisor_launcher.h"
#include "sandbox/client/supervisor_process.h"

namespace sandbox {

// Owns the event loop's thread, on which all callbacks of its connections run.
// The connections must be destroyed before it. Thread-safe.
//
// Keeps spare supervisors: of each profile, whose sandboxes are ready except
// for their workspaces and limits, and of the shapes that are asked for again
// and again, whose sandboxes are complete. Without a spare, Create() starts a
// process itself, which takes about a millisecond: too long for a gRPC
// reaction. A supervisor that ends before it has made its sandbox, or does not
// answer, is replaced once.
class LocalSupervisorLauncher : public SupervisorLauncher {
 public:
  static absl::StatusOr<std::unique_ptr<LocalSupervisorLauncher>> Create();
  ~LocalSupervisorLauncher() override;

  std::unique_ptr<SupervisorConnection> Create(const wire::SandboxSpec& spec,
                                               SupervisorObserver* observer,
                                               Created created) override;
  absl::StatusOr<std::unique_ptr<SupervisorConnection>> Adopt(
      const wire::SandboxSpec& spec, SupervisorObserver* observer) override;

  // Prepares the end of a server whose sandboxes live on. After it has
  // returned, no observer is called any more, requests are dropped with their
  // callbacks, and the spare supervisors have no server left, so that they
  // end. Other supervisors wait for the next server.
  void LetGo();

 private:
  using Clock = SpareSupervisors::Clock;
  using Shape = SpareSupervisors::Shape;
  // Doubled as long as something cannot be removed.
  static constexpr std::chrono::seconds kSweepRetry{1};
  static constexpr std::chrono::seconds kLastSweepRetry{60};

  LocalSupervisorLauncher(std::unique_ptr<EventLoop> loop, UniqueFd image);
  // Stops Provide() and closes the spares' sockets, which ends them.
  void EndSpares();
  // Starts a supervisor that the event loop reaps. May be called from any
  // thread.
  absl::StatusOr<SupervisorProcess> StartReapedSupervisor(
      wire::SandboxSpec::Profile profile);
  // Starts a spare of this shape. It answers when it is ready, and may be taken
  // before.
  absl::StatusOr<SupervisorProcess> StartSpare(const Shape& shape);
  // Returns a spare that lives, or one without a socket. Callers signal mutex_
  // afterwards, best when it has got its request, so that Provide() plans
  // another one.
  SupervisorProcess TakeSpare(const wire::SandboxSpec& spec);
  SupervisorProcess TakeSpareOf(const wire::SandboxSpec& shape);
  // Returns another supervisor after one that has ended.
  absl::StatusOr<SupervisorProcess> ReplaceSupervisor(
      const wire::SandboxSpec& spec);
  std::unique_ptr<LocalSupervisorConnection> Connect(
      PacketSocket socket, SupervisorObserver* observer);
  // Makes and ends spares, and cleans up after killed supervisors, until
  // EndSpares().
  void Provide();
  enum class Task { kNone, kStop, kMakeSpare, kTrim, kSweep };
  // The time to make the next spare; no time if none is lacking.
  Clock::time_point make_at() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Task NextTask() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until there is something to do.
  Task AwaitTask();
  // Returns nothing while enough are being made, and sets make_at_.
  std::optional<Shape> ShapeToMake();
  void MakeSpare();
  void TrimSpares();
  // Removes the control groups that killed supervisors left.
  void Sweep();
  // Makes Provide() sweep now and, as a process may hold what a supervisor had
  // for a moment longer, again kSweepRetry later.
  void CleanUp();

  const std::unique_ptr<EventLoop> loop_;
  // See MakeSupervisorImage().
  const UniqueFd image_;
  const bool commands_are_this_user_;
  std::atomic<bool> let_go_ = false;
  std::thread thread_;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The time of the next sweep; the first one is for what earlier servers left.
  Clock::time_point sweep_at_ ABSL_GUARDED_BY(mutex_) =
      Clock::time_point::min();
  // True if another sweep follows the next one.
  bool sweep_twice_ ABSL_GUARDED_BY(mutex_) = true;
  // The time between a sweep and the one that follows it.
  Clock::duration sweep_retry_ ABSL_GUARDED_BY(mutex_) = kSweepRetry;
  // False if the last supervisor could not be started.
  bool can_start_ ABSL_GUARDED_BY(mutex_) = true;
  SpareSupervisors spares_ ABSL_GUARDED_BY(mutex_);
  // The time to make a spare that is lacking.
  Clock::time_point make_at_ ABSL_GUARDED_BY(mutex_) = Clock::time_point::min();
  std::thread provider_;
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_LOCAL_SUPERVISOR_LAUNCHER_H_

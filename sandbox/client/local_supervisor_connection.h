// The connection to one supervisor, as a Sandbox.

#ifndef SANDBOX_CLIENT_LOCAL_SUPERVISOR_CONNECTION_H_
#define SANDBOX_CLIENT_LOCAL_SUPERVISOR_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/supervisor_connection.h"

namespace sandbox {

// A supervisor that this process started.
struct SupervisorProcess {
  PacketSocket socket;
  // For the event loop's thread. Invalid once it was reaped.
  std::shared_ptr<const UniqueFd> pidfd;
};

class LocalSupervisorConnection : public SupervisorConnection {
 public:
  // How long a supervisor may take that makes a sandbox from nothing, maybe
  // with many others at the same time.
  static constexpr absl::Duration kFreshPatience = absl::Seconds(30);

  // And one that ends its sandbox.
  static constexpr absl::Duration kEndPatience = absl::Seconds(15);

  // Starts another supervisor.
  using Replace = std::function<absl::StatusOr<SupervisorProcess>()>;

  // Uses `loop`, whose thread is `loop_thread`. Once `*let_go`, which outlives
  // this object, it neither listens nor speaks to the supervisor any more, and
  // drops what it is asked. `lost` is called on the loop's thread if the
  // supervisor ends unasked. A supervisor that has not ended `end_patience`
  // after its sandbox was deleted is killed.
  LocalSupervisorConnection(EventLoop* loop, std::thread::id loop_thread,
                            PacketSocket socket, SupervisorObserver* observer,
                            const std::atomic<bool>* let_go,
                            std::function<void()> lost,
                            absl::Duration end_patience = kEndPatience);
  // Waits for a callback that runs, unless it is called from one.
  ~LocalSupervisorConnection() override;

  // Either of these comes first. Listen: to a supervisor that has a sandbox,
  // and whose process this is, if that is known. When its connection fails it
  // is killed, so that what is told of its commands then is true.
  void Listen(std::shared_ptr<const UniqueFd> pidfd);
  // Has the supervisor, whose process is `pidfd`, make the sandbox. One that
  // does not answer for `patience` is killed; one that ends before it has
  // answered is replaced, once. `done` gets SUPERVISOR_GONE if the other one
  // fails so too.
  void Create(const wire::SandboxSpec& spec,
              std::shared_ptr<const UniqueFd> pidfd, absl::Duration patience,
              Replace replace, Done done);

  void Start(wire::StartExecution start, Done done) override;
  void Signal(wire::Signal signal, Done done) override;
  void Resize(wire::Resize resize, Done done) override;
  void WriteInput(wire::WriteInput input, InputDone done) override;
  void Acknowledge(wire::Acknowledge acknowledge) override;
  void DeleteExecution(const std::string& execution_id, Done done) override;
  void DeleteSandbox(wire::ExitRecord::Cause cause, Done done) override;

 private:
  // A creation that was not answered yet.
  struct Creation {
    wire::ToSupervisor request;
    // Null: it was replaced.
    Replace replace;
    EventLoop::TimerId timer;
  };

  // Runs `function` on the loop's thread, unless this is destroyed before.
  void Post(std::function<void()> function);
  void Watch();
  // Nothing more is done by the loop.
  void Unwatch();
  void LimitEnd();
  void KillSupervisor();
  void Cancel(std::optional<EventLoop::TimerId>& timer);
  void LimitCreation(absl::Duration patience);
  void EndCreation();
  // False: it cannot be replaced, or not once more.
  bool ReplaceSupervisor();
  void Request(wire::ToSupervisor request, InputDone done);
  void Send(const wire::ToSupervisor& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnReady(uint32_t events);
  void Flush();
  void FlushLater();
  void Receive();
  void OnMessage(const wire::FromSupervisor& message);
  void OnReply(const wire::Reply& reply);
  void OnEnd(const absl::Status& why);

  EventLoop* const loop_;
  const std::thread::id loop_thread_;
  PacketSocket socket_;
  SupervisorObserver* const observer_;
  const std::atomic<bool>* const let_go_;
  const std::function<void()> lost_;
  const absl::Duration end_patience_;

  // The loop's thread only.
  bool ended_ = false;
  std::optional<EventLoop::TimerId> flush_timer_;
  std::optional<EventLoop::TimerId> end_timer_;
  // The supervisor; null: not known.
  std::shared_ptr<const UniqueFd> process_;
  std::shared_ptr<Creation> creation_;
  // What the supervisor reported; no cause: nothing yet.
  wire::SandboxEnd end_;

  Mutex mutex_;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_request_ ABSL_GUARDED_BY(mutex_);
  uint64_t delete_request_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, InputDone> pending_ ABSL_GUARDED_BY(mutex_);
  // What the socket did not take.
  std::deque<wire::ToSupervisor> unsent_ ABSL_GUARDED_BY(mutex_);

  // Gone with this object, which is destroyed on the loop's thread or while
  // that waits: what is posted looks at it there.
  std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_LOCAL_SUPERVISOR_CONNECTION_H_

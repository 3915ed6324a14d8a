// A connection to one supervisor of this host, over its control socket.

#ifndef SANDBOX_CLIENT_LOCAL_SUPERVISOR_CONNECTION_H_
#define SANDBOX_CLIENT_LOCAL_SUPERVISOR_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/sandbox_creation.h"
#include "sandbox/client/supervisor_connection.h"

namespace sandbox {

class LocalSupervisorConnection : public SupervisorConnection {
 public:
  // How long a supervisor may take to end its sandbox.
  static constexpr absl::Duration kEndPatience = absl::Seconds(15);

  // Uses `loop`, whose thread is `loop_thread`. Once `*let_go`, which must
  // outlive this object, is true, the connection neither reads nor sends any
  // more and drops requests with their callbacks. `lost` is called on the
  // loop's thread if the supervisor ends although nobody deleted its sandbox. A
  // supervisor that still runs `end_patience` after DeleteSandbox() is killed.
  LocalSupervisorConnection(EventLoop* loop, std::thread::id loop_thread,
                            PacketSocket socket, SupervisorObserver* observer,
                            const std::atomic<bool>* let_go,
                            std::function<void()> lost,
                            absl::Duration end_patience = kEndPatience);
  // Waits for a callback that runs, unless it is called from one.
  ~LocalSupervisorConnection() override;

  // The first call is one of Listen(), Create() and FailCreation().
  //
  // Listens to a supervisor that has a sandbox. `pidfd` is its process; null if
  // that is not known. If the connection fails, the supervisor is killed, so
  // that its commands do not live on after they were reported as lost.
  void Listen(std::shared_ptr<const UniqueFd> pidfd);
  // Asks the supervisor whose process is `pidfd` to make the sandbox; see
  // SandboxCreation. `done` gets SUPERVISOR_GONE if both supervisors end
  // without an answer.
  void Create(const wire::SandboxSpec& spec,
              std::shared_ptr<const UniqueFd> pidfd, absl::Duration patience,
              SandboxCreation::Replace replace, Done done);
  // There is no supervisor: `done` gets `why`, OnGone() follows, and every
  // request fails with SUPERVISOR_GONE.
  void FailCreation(const absl::Status& why, Done done);

  void Start(wire::StartExecution start, Done done) override;
  void Signal(wire::Signal signal, Done done) override;
  void Resize(wire::Resize resize, Done done) override;
  void WriteInput(wire::WriteInput input, InputDone done) override;
  void Acknowledge(wire::Acknowledge acknowledge) override;
  void AllowHosts(wire::EgressRules rules, Done done) override;
  void MakeSockets(SocketsDone done) override;
  void DeleteExecution(const std::string& execution_id, Done done) override;
  void DeleteSandbox(wire::ExitRecord::Cause cause, Done done) override;

 private:
  // The whole reply and the descriptors that came with it.
  using Answer = absl::AnyInvocable<void(absl::Status, const wire::Reply&,
                                         std::vector<UniqueFd>)>;

  // Runs `function` on the loop's thread, unless this is destroyed or let go
  // before.
  void Post(absl::AnyInvocable<void()> function);
  void Watch();
  // Cancels everything that the loop still has to do for this.
  void Unwatch();
  void LimitEnd();
  void Kill();
  // Asks another supervisor for the sandbox. Returns false if there is none to
  // ask.
  bool AskAnotherSupervisor();
  void Request(wire::ToSupervisor request, Answer done);
  // Takes the request out of pending_. Returns null if it was answered before.
  Answer Take(uint64_t request_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same for the start that a report answers.
  Answer TakeStart(const wire::ExecutionRecord& report);
  // Makes a request whose reply is its status alone.
  void Ask(wire::ToSupervisor request, Done done);
  void Send(const wire::ToSupervisor& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnReady(uint32_t events);
  void Flush();
  void FlushLater();
  void Receive();
  void OnMessage(const wire::FromSupervisor& message,
                 std::vector<UniqueFd> fds);
  void OnReply(const wire::Reply& reply, std::vector<UniqueFd> fds);
  void OnExecution(const wire::ExecutionRecord& record);
  void OnEnd(const absl::Status& why);

  EventLoop* const loop_;
  const std::thread::id loop_thread_;
  PacketSocket socket_;
  SupervisorObserver* const observer_;
  const std::atomic<bool>* const let_go_;
  const std::function<void()> lost_;
  const absl::Duration end_patience_;

  // Used on the loop's thread only.
  Timer flush_timer_;
  Timer end_timer_;
  // The supervisor's process; null if it is not known.
  std::shared_ptr<const UniqueFd> pidfd_;
  // Null after Listen().
  std::unique_ptr<SandboxCreation> creation_;
  // The end that the supervisor reported; has no cause before that.
  wire::SandboxEnd end_;

  Mutex mutex_;
  // True once the supervisor has ended.
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_request_ ABSL_GUARDED_BY(mutex_);
  // The id of DeleteSandbox(); 0: it was not called.
  uint64_t delete_request_ ABSL_GUARDED_BY(mutex_) = 0;
  // Requests without a reply, by id.
  std::map<uint64_t, Answer> pending_ ABSL_GUARDED_BY(mutex_);
  // Those of them that start an execution and that its report answers, with the
  // execution's id: an earlier server has given the same numbers.
  std::map<uint64_t, std::string> starts_ ABSL_GUARDED_BY(mutex_);
  // Requests that the socket had no room for.
  std::deque<wire::ToSupervisor> unsent_ ABSL_GUARDED_BY(mutex_);

  // Expires on the loop's thread before this object is destroyed. Posted
  // functions check it there.
  std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sandbox

#endif  // SANDBOX_CLIENT_LOCAL_SUPERVISOR_CONNECTION_H_

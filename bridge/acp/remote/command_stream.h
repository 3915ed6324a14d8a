#ifndef BRIDGE_ACP_REMOTE_COMMAND_STREAM_H_
#define BRIDGE_ACP_REMOTE_COMMAND_STREAM_H_

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/mutex.h"

namespace bridge {

// One call of RunExecution: starts a command and delivers its output to the
// loop. Reads the next event when the last one has been handled, so that only
// one is in memory. Has no thread of its own. An OutputFollower continues what
// breaks.
//
// Used on the loop's thread only.
class CommandStream final
    : private grpc::ClientReadReactor<corral::v1::OutputEvent> {
 public:
  using OnStarted = std::function<void(grpc::Status)>;
  using OnEvent = absl::AnyInvocable<void(const corral::v1::OutputEvent&)>;
  using OnBroken = absl::AnyInvocable<void()>;

  // Begins the call. Runs `on_started` once, on another thread: with OK when
  // the server has answered that the command runs, or has failed to start. The
  // call fails with DEADLINE_EXCEEDED if there is no answer within `limit`.
  CommandStream(PollLoop* loop, client::Connection& connection,
                const corral::v1::RunExecutionRequest& request,
                absl::Duration limit, OnStarted on_started);
  // Cancels the call; the command goes on.
  ~CommandStream() override;

  CommandStream(const CommandStream&) = delete;
  CommandStream& operator=(const CommandStream&) = delete;

  // The answer. Call it after `on_started` got OK.
  const corral::v1::Execution& started() const { return started_; }

  // Runs `on_event` on the loop for each chunk and gap, and for `ended`, last.
  // If the call ends before, or delivers nothing for Timing.stream_silence,
  // runs `on_broken` last instead. Both may destroy the stream; neither runs
  // after that. Call it once, after `on_started` got OK.
  void Follow(OnEvent on_event, OnBroken on_broken);

 private:
  struct Callbacks {
    OnEvent on_event;
    OnBroken on_broken;
  };

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  void Read();
  void Deliver(const corral::v1::OutputEvent& event);
  // Lets OnDone come: nothing is read any more.
  void LetEnd();
  // Looks after `rest` whether the call is silent.
  void WatchSilence(absl::Duration rest);

  PollLoop* const loop_;
  const absl::Duration start_limit_;
  const absl::Duration silence_limit_;
  const corral::v1::RunExecutionRequest request_;
  grpc::ClientContext context_;
  absl::Time last_event_;
  // Set by Follow().
  std::shared_ptr<Callbacks> callbacks_;
  // Expires with the stream: posts and timers then do nothing.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  // Used by gRPC's threads, one at a time, before `on_started` or a post.
  OnStarted on_started_;
  corral::v1::Execution started_;
  corral::v1::OutputEvent event_;
  bool has_ended_ = false;

  sandbox::Mutex mutex_;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_REMOTE_COMMAND_STREAM_H_

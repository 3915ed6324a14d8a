// One call of ConnectPort: a connection to a server in a sandbox.
//
//   kAwaitsOpen -> kConnecting -> kAnswering -> kOpen
//                      any of them -> kEnding -> kFinished
//
// Everything but the constructor runs on the thread of the loop: what gRPC, the
// sandbox and its supervisor report is posted there. Data from the sandbox is
// only passed on.

#ifndef SERVER_PORTS_PORT_CALL_H_
#define SERVER_PORTS_PORT_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/v1/port.pb.h"
#include "grpcpp/support/server_callback.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/socket_pump.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "server/core/lifetime.h"
#include "server/core/sandbox.h"
#include "server/core/sandboxes.h"
#include "server/ports/loopback_dial.h"
#include "server/runtime/activity.h"

namespace server {

class PortCall final
    : public grpc::ServerBidiReactor<corral::v1::ConnectPortRequest,
                                     corral::v1::ConnectPortResponse>,
      public LastingCall,
      public sandbox::SocketPump::Peer,
      public std::enable_shared_from_this<PortCall> {
 public:
  // A client that does not read may hold up the end of its call for this time.
  static constexpr absl::Duration kEndPatience = absl::Seconds(1);

  // The reactor lives until the call is over; all pointers must outlive it. A
  // server that does not accept for `patience` ends the call.
  static PortCall* Begin(std::shared_ptr<sandbox::EventLoop> loop,
                         Sandboxes* sandboxes, absl::Duration patience,
                         grpc::CallbackServerContext* context,
                         Activity::Call call);

  // Called on any thread.
  void Fail(const absl::Status& status) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class State {
    kAwaitsOpen,
    kConnecting,
    // `connected` is being sent.
    kAnswering,
    kOpen,
    // Waits until a write is over; Finish() follows.
    kEnding,
    kFinished,
  };

  PortCall(std::shared_ptr<sandbox::EventLoop> loop, Sandboxes* sandboxes,
           absl::Duration patience, grpc::CallbackServerContext* context,
           Activity::Call call)
      : loop_(std::move(loop)),
        sandboxes_(sandboxes),
        patience_(patience),
        context_(context),
        call_(std::move(call)) {}

  void Post(absl::AnyInvocable<void(PortCall&)> function);

  void OnRequest();
  absl::Status Open(const corral::v1::OpenPort& open);
  void OnKnown(const absl::Status& known);
  void OnSockets(absl::StatusOr<std::vector<sandbox::UniqueFd>> sockets);
  void OnDialled(absl::StatusOr<sandbox::UniqueFd> socket);
  void OnResponded();

  // SocketPump::Peer.
  void Write(std::string data) override;
  void WriteEnd() override;
  void Read() override;
  void OnEnd(const absl::Status& status) override;

  void Respond();
  // The client is gone, or the server or the sandbox ends.
  void Leave(const absl::Status& why);
  void End(const absl::Status& result);
  void FinishNow();
  void CleanUp();

  // Shared, because a report about the sandbox may come after the end of the
  // service.
  const std::shared_ptr<sandbox::EventLoop> loop_;
  Sandboxes* const sandboxes_;
  const absl::Duration patience_;
  grpc::CallbackServerContext* const context_;
  Activity::Call call_;
  // Keeps this object alive until CleanUp().
  std::shared_ptr<PortCall> self_;

  State state_ = State::kAwaitsOpen;
  bool writing_ = false;
  corral::v1::ConnectPortRequest request_;
  corral::v1::ConnectPortResponse response_;
  uint16_t port_ = 0;
  std::shared_ptr<Sandbox> sandbox_;
  std::optional<CallHold> hold_;
  std::unique_ptr<LoopbackDial> dial_;
  std::unique_ptr<sandbox::SocketPump> pump_;
  absl::Status result_;
  sandbox::Timer end_timer_;
};

}  // namespace server

#endif  // SERVER_PORTS_PORT_CALL_H_

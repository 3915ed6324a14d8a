// The supervisor's side of the control socket: one connection at a time, the
// newest.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_CONTROL_SOCKET_H_
#define SANDBOX_SUPERVISOR_CONTROL_SOCKET_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class ControlSocket {
 public:
  using OnRequest = std::function<void(wire::ToSupervisor)>;

  // `connected` is called for each connection that is accepted, and may send
  // the first message to it.
  // `disconnected` is called when the peer has gone, never inside of Send().
  ControlSocket(EventLoop* loop, PacketSocket first, OnRequest on_request,
                std::function<void()> connected,
                std::function<void()> disconnected);
  ~ControlSocket();

  // Makes the socket of Listen(), which a confined supervisor cannot make.
  absl::Status Open();
  // Accepts connections to <directory>/control.sock from now on, of processes
  // with the user id of this one. Others are closed at once. Call it once after
  // Open().
  absl::Status Listen(const std::string& directory);

  // Never blocks. A message waits until the peer reads it; without a peer it is
  // dropped. `fds` go with it.
  void Send(wire::FromSupervisor message, std::vector<UniqueFd> fds = {});
  // Reports what the logs of an execution hold now. At most one such message
  // waits, however often this is called: a later change replaces an earlier one
  // of the same execution.
  void SendOutputChange(wire::OutputChange change);

  // True if nothing waits to be sent.
  bool idle() const { return queue_.empty() && changed_.empty(); }

 private:
  struct Outgoing {
    wire::FromSupervisor message;
    std::vector<UniqueFd> fds;
  };

  void Adopt(PacketSocket socket);
  void OnReady(uint32_t events);
  void Accept();
  // Returns false if no request waits, or the server is gone.
  bool ReceiveOne();
  // Fails as PacketSocket::Send() does.
  absl::Status SendNext();
  void Flush();
  void FlushLater();
  void Disconnect();

  EventLoop* const loop_;
  const OnRequest on_request_;
  const std::function<void()> connected_;
  const std::function<void()> disconnected_;
  PacketSocket socket_;
  UniqueFd listener_;
  bool waiting_ = false;
  Timer flush_timer_;
  Timer changes_timer_;
  Timer disconnected_timer_;
  std::deque<Outgoing> queue_;
  // The changes to send, by execution.
  std::map<std::string, wire::OutputChange> changed_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_CONTROL_SOCKET_H_

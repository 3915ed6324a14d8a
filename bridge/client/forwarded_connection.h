// One connection of a local program to a server in a sandbox.
//
// While corrald cannot be reached, or refuses for now, the connection waits;
// once it is open, nothing is repeated: what breaks it resets the local socket.
//
// Used on the thread of the loop only.

#ifndef BRIDGE_CLIENT_FORWARDED_CONNECTION_H_
#define BRIDGE_CLIENT_FORWARDED_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bridge/client/connection.h"
#include "bridge/client/port_stream.h"
#include "bridge/client/retry_schedule.h"
#include "grpcpp/support/status.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/socket_pump.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"

namespace client {

class ForwardedConnection final : public PortStream::Observer,
                                  public sandbox::SocketPump::Peer {
 public:
  struct Observer {
    // The server is gone; the connection tries again.
    std::function<void()> server_gone;
    // The last call; destroys the connection.
    std::function<void(ForwardedConnection*, const grpc::Status&)> over;
  };

  // All pointers must live until `over`.
  ForwardedConnection(std::shared_ptr<sandbox::EventLoop> loop,
                      Connection* connection, const std::string& sandbox,
                      uint16_t port, sandbox::UniqueFd socket,
                      const Observer* observer);
  void Begin();
  // Resets the local socket. `over` follows.
  void Cancel();

 private:
  enum class State { kConnecting, kWaiting, kOpen, kEnding };

  void Attempt();

  // PortStream::Observer. A message that comes out of order cancels the call.
  void OnConnected() override;
  void OnData(std::string data) override;
  void OnDataEnd() override;
  void OnWritten() override;
  void OnOver(const grpc::Status& status) override;

  // SocketPump::Peer.
  void Write(std::string data) override;
  void WriteEnd() override;
  void Read() override;
  void OnEnd(const absl::Status& status) override;

  void Finish(const grpc::Status& status);

  const std::shared_ptr<sandbox::EventLoop> loop_;
  Connection* const connection_;
  const std::string sandbox_;
  const uint16_t port_;
  const Observer* const observer_;
  State state_ = State::kConnecting;
  // The socket, until the pump has it.
  sandbox::UniqueFd socket_;
  RetrySchedule schedule_;
  absl::Time begin_;
  std::shared_ptr<PortStream> stream_;
  std::unique_ptr<sandbox::SocketPump> pump_;
  sandbox::Timer retry_;
};

}  // namespace client

#endif  // BRIDGE_CLIENT_FORWARDED_CONNECTION_H_

#ifndef BRIDGE_ACP_REMOTE_CONNECTOR_H_
#define BRIDGE_ACP_REMOTE_CONNECTOR_H_

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "bridge/acp/remote/poll_loop.h"
#include "bridge/client/connection.h"

namespace bridge {

// Opens the connection to corrald, and restores it after it was lost, on a
// thread of its own so that the loop never waits. May start a local server.
// Used on the loop's thread only.
class Connector {
 public:
  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  // `loop` must outlive this object.
  Connector(PollLoop* loop, client::ConnectOptions options);
  // Waits for a thread that connects. The first connection to a server that
  // hangs takes 11 s, and up to 30 s more if the server is started for it.
  ~Connector();

  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Runs `done` with OK on the loop once calls can be made, otherwise with
  // Unavailable and what was tried: after 1 s if there was a connection before.
  void Connect(Done done);

  // Null until Connect() has succeeded once. Never replaced, since streams
  // refer to it.
  client::Connection* connection() const { return connection_.get(); }

 private:
  // Runs on the thread.
  void Try(client::Connection* known);
  void OnTried();

  PollLoop* const loop_;
  const client::ConnectOptions options_;
  std::unique_ptr<client::Connection> connection_;
  std::vector<Done> waiting_;  // for the attempt under way
  std::atomic<bool> abandoned_ = false;

  std::thread thread_;
  // The result of the attempt: written by the thread before it posts.
  std::unique_ptr<client::Connection> opened_;
  absl::Status status_;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_REMOTE_CONNECTOR_H_

// Moves bytes between a connected TCP socket and a peer that takes and gives
// them in messages: both ways, each with its own end. It holds back whoever is
// faster: at most kMaxData bytes of each direction are here at one time.
//
// Used on the thread of its loop only, which also calls the methods of the
// peer.

#ifndef SANDBOX_BASE_SOCKET_PUMP_H_
#define SANDBOX_BASE_SOCKET_PUMP_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

class SocketPump {
 public:
  // The most bytes of one message.
  static constexpr size_t kMaxData = 256 << 10;
  // The same for a peer that may be an earlier version.
  static constexpr size_t kCompatibleData = 64 << 10;

  // How long, after a reset, the peer may take to accept the data that came
  // before it.
  static constexpr absl::Duration kResetPatience = absl::Seconds(1);

  // The other side of the pump. Its methods neither call the pump nor destroy
  // it.
  class Peer {
   public:
    // Takes data, or the end of the data, from the socket. OnWritten() follows
    // when the next can be taken.
    virtual void Write(std::string data) = 0;
    virtual void WriteEnd() = 0;
    // Asks for data for the socket. OnRead() or OnReadEnd() follows.
    virtual void Read() = 0;
    // The last call: OK if both directions have ended, Aborted if the socket
    // was reset.
    virtual void OnEnd(const absl::Status& status) = 0;

   protected:
    ~Peer() = default;
  };

  // `socket` is non-blocking. `loop` and `peer` must outlive the object. The
  // peer takes at most `max_written` bytes at a time.
  SocketPump(EventLoop* loop, UniqueFd socket, Peer* peer,
             size_t max_written = kMaxData);
  // Resets the connection unless both directions have ended.
  ~SocketPump();
  SocketPump(const SocketPump&) = delete;
  SocketPump& operator=(const SocketPump&) = delete;

  // Call it once, before all other methods.
  void Begin();

  void OnWritten();
  // `data` is not empty.
  void OnRead(std::string data);
  void OnReadEnd();

 private:
  enum class FromSocket {
    // Waits for data.
    kReceiving,
    // The peer takes what was received.
    kWriting,
    kWritingEnd,
    kEnded,
  };
  enum class ToSocket {
    // Waits for the peer.
    kReading,
    // The socket takes `unsent_`.
    kSending,
    kEnded,
    // The other end takes nothing more.
    kBroken,
  };

  void OnReady(uint32_t events);
  void OnHangUp();
  void Receive();
  void Send();
  // The other end takes nothing more. What it has sent may still be received.
  void Break();
  // The events that the pump waits for now.
  uint32_t wanted() const;
  // Makes the loop report the events of wanted() and no others.
  void Watch();
  void Unwatch();
  void MaybeEnd();
  void End(const absl::Status& status);

  EventLoop* const loop_;
  UniqueFd socket_;
  Peer* const peer_;
  const size_t max_written_;
  FromSocket from_ = FromSocket::kReceiving;
  ToSocket to_ = ToSocket::kReading;
  // False from a hang-up on: the kernel would report it again and again.
  bool watched_ = false;
  uint32_t events_ = 0;
  // The data that the socket has not taken: from `sent_` on.
  std::string unsent_;
  size_t sent_ = 0;
  Timer reset_;
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_SOCKET_PUMP_H_

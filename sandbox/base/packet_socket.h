// The socket between corrald and a supervisor: whole messages, as
// supervisor.proto describes it.
//
// Not thread-safe, except that Send and Receive may be called from two threads
// at a time.

#ifndef SANDBOX_BASE_PACKET_SOCKET_H_
#define SANDBOX_BASE_PACKET_SOCKET_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

class PacketSocket {
 public:
  PacketSocket() = default;
  // A non-blocking SOCK_SEQPACKET socket.
  explicit PacketSocket(UniqueFd fd);

  static absl::StatusOr<std::pair<PacketSocket, PacketSocket>> Pair();
  // Connects to the socket `name` in `directory`. NotFound: nobody listens.
  static absl::StatusOr<PacketSocket> Connect(const std::string& directory,
                                              const std::string& name);

  // A pidfd of who listens where this was connected to; invalid if it is of
  // another pid namespace. Unavailable: it has just ended.
  absl::StatusOr<UniqueFd> PeerProcess() const;

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }

  // Unavailable: the peer does not read, nothing was sent. ResourceExhausted:
  // this host is short of something, nothing was sent, and it may be tried
  // again. FailedPrecondition: the peer is gone.
  absl::Status Send(const google::protobuf::MessageLite& message);

  // True: `message` is the next one. False: nothing is there now.
  // FailedPrecondition: the peer is gone. Descriptors that come with a packet
  // are closed, but for the memfd of a large message.
  absl::StatusOr<bool> Receive(google::protobuf::MessageLite* message);

 private:
  // False: no descriptor is left for the memfd of a large message, should one
  // be next.
  bool MakeRoom();

  UniqueFd fd_;
  // Closed while a memfd is received: when no descriptor is left, the kernel
  // drops those of a packet.
  UniqueFd reserve_;
  std::string buffer_;
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_PACKET_SOCKET_H_

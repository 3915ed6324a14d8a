// The socket between corrald and a supervisor: whole messages, as
// supervisor.proto describes it.
//
// Not thread-safe, except that Send and Receive may be called from two threads
// at a time.

#ifndef SANDBOX_PACKET_SOCKET_H_
#define SANDBOX_PACKET_SOCKET_H_

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
  explicit PacketSocket(UniqueFd fd) : fd_(std::move(fd)) {}

  static absl::StatusOr<std::pair<PacketSocket, PacketSocket>> Pair();
  // Connects to the socket `name` in `directory`. NotFound: nobody listens.
  static absl::StatusOr<PacketSocket> Connect(const std::string& directory,
                                              const std::string& name);

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }

  // Unavailable: the peer does not read, nothing was sent. FailedPrecondition:
  // the peer is gone.
  absl::Status Send(const google::protobuf::MessageLite& message);

  // True: `message` is the next one. False: nothing is there now.
  // FailedPrecondition: the peer is gone. Descriptors that come with a packet
  // are closed, but for the memfd of a large message.
  absl::StatusOr<bool> Receive(google::protobuf::MessageLite* message);

 private:
  UniqueFd fd_;
  std::string buffer_;
};

}  // namespace sandbox

#endif  // SANDBOX_PACKET_SOCKET_H_

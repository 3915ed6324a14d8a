// The socket between corrald and a supervisor: whole messages, as
// supervisor.proto describes it.
//
// Not thread-safe, except that Send and Receive may be called from two threads
// at a time.

#ifndef SANDBOX_BASE_PACKET_SOCKET_H_
#define SANDBOX_BASE_PACKET_SOCKET_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

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
  // Connects to the socket `name` in `directory`. Fails with NotFound if nobody
  // listens.
  static absl::StatusOr<PacketSocket> Connect(const std::string& directory,
                                              const std::string& name);

  // A pidfd of the process that listens at the other end; invalid if that
  // process is in another pid namespace. Fails with Unavailable if it has just
  // ended.
  absl::StatusOr<UniqueFd> PeerProcess() const;

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }

  // Sends one message without waiting, with `fds`, which only a message of at
  // most 64 KiB may have. Unavailable: the peer does not read; nothing was
  // sent. ResourceExhausted: this host is short of something; nothing was sent,
  // and a retry may succeed. Fails with FailedPrecondition if the peer is gone.
  absl::Status Send(const google::protobuf::MessageLite& message,
                    const std::vector<int>& fds = {});

  // Receives the next message without waiting. Returns false if there is none
  // now. Fails with FailedPrecondition if the peer is gone, and with
  // InvalidArgument if the peer sent something else. `fds` gets the descriptors
  // that came with the message, as far as this process may have more; if it is
  // null, they are closed.
  absl::StatusOr<bool> Receive(google::protobuf::MessageLite* message,
                               std::vector<UniqueFd>* fds = nullptr);

 private:
  // Returns false if there is no message, or if the next one is large and no
  // descriptor is left for its memfd.
  bool MakeRoom();

  UniqueFd fd_;
  // A spare descriptor, closed while a memfd is received, so that one is free:
  // without a free one the kernel drops the descriptors of a packet.
  UniqueFd reserve_;
  // Made with the first message and never filled, so that only the pages that
  // messages have needed take memory.
  std::unique_ptr<char[]> buffer_;
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_PACKET_SOCKET_H_

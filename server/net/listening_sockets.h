// The sockets on which the server listens. They are made here instead of by
// gRPC, so that a successor can take them over while connections wait in their
// queues.

#ifndef SERVER_NET_LISTENING_SOCKETS_H_
#define SERVER_NET_LISTENING_SOCKETS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/listen_address.h"

namespace server {

// Not thread-safe.
class ListeningSockets {
 public:
  // Listens on `address`. Only the owner can connect to a Unix socket, from the
  // moment that it exists. If its directory is missing, it is made with mode
  // 0700. A socket file on which nobody listens is replaced. A host with
  // several addresses gets a socket for each.
  //
  // Fails with AlreadyExists if another process listens there, and with
  // InvalidArgument if the file is not a socket or the host is unknown.
  static absl::StatusOr<ListeningSockets> Open(const ListenAddress& address);

  // Takes over the sockets of a predecessor. FailedPrecondition: they listen on
  // another address; they are closed, and their file is removed.
  static absl::StatusOr<ListeningSockets> Adopt(
      const ListenAddress& address, std::vector<sandbox::UniqueFd> sockets);
  // Closes the sockets of a predecessor and removes their file, unless it is
  // the file of `address`.
  static void Discard(const ListenAddress& address,
                      const std::vector<sandbox::UniqueFd>& sockets);

  // Removes the socket's file. A server that has a successor exits without this
  // destructor.
  ~ListeningSockets();

  ListeningSockets(ListeningSockets&& other) noexcept;
  ListeningSockets& operator=(ListeningSockets&&) = delete;

  // The sockets, which do not block and live as long as this object.
  std::vector<int> fds() const;

 private:
  ListeningSockets(std::string path, std::vector<sandbox::UniqueFd> sockets)
      : path_(std::move(path)), sockets_(std::move(sockets)) {}

  // Empty: there is no file to remove.
  std::string path_;
  std::vector<sandbox::UniqueFd> sockets_;
};

}  // namespace server

#endif  // SERVER_NET_LISTENING_SOCKETS_H_

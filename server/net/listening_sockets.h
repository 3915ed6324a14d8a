// The sockets that the server listens on. They are made here and not by gRPC,
// so that a successor can take them over while connections wait in their
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
  // Listens on `address`. A Unix socket is its owner's alone from its birth on;
  // its directory is made for its owner alone if it is missing, and a socket
  // that nobody listens on is replaced. A host with several addresses has a
  // socket for each.
  //
  // AlreadyExists: somebody listens there. InvalidArgument: the path is not
  // that of a socket, or the host is unknown.
  static absl::StatusOr<ListeningSockets> Open(const ListenAddress& address);

  // Takes over the sockets of a predecessor. FailedPrecondition: they do not
  // listen on `address`; they are closed, and their file is removed.
  static absl::StatusOr<ListeningSockets> Adopt(
      const ListenAddress& address, std::vector<sandbox::UniqueFd> sockets);
  // Closes the sockets of a predecessor and removes their file, unless it is
  // that of `address`.
  static void Discard(const ListenAddress& address,
                      const std::vector<sandbox::UniqueFd>& sockets);

  // Removes the socket's file. A server with a successor ends without that.
  ~ListeningSockets();

  ListeningSockets(ListeningSockets&& other) noexcept;
  ListeningSockets& operator=(ListeningSockets&&) = delete;

  // Non-blocking. They live as long as this object.
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

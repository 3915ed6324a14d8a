// The connections that were given to gRPC and that it has not closed yet.
//
// gRPC does not report when it closes a connection that it was given. Each
// socket has an inode number of its own, which shows whether a descriptor is
// still that socket.

#ifndef SERVER_NET_OPEN_CONNECTIONS_H_
#define SERVER_NET_OPEN_CONNECTIONS_H_

#include <sys/types.h>

#include <cstddef>
#include <map>

namespace server {

// Not thread-safe. The descriptors may be closed on any thread at any time.
class OpenConnections {
 public:
  explicit OpenConnections(size_t most) : most_(most) {}

  // Counts the socket `fd`. Returns false if `most` others are open; then it is
  // not counted.
  bool Add(int fd);

 private:
  void ForgetClosed();

  const size_t most_;
  std::map<int, ino_t> inodes_;
};

}  // namespace server

#endif  // SERVER_NET_OPEN_CONNECTIONS_H_

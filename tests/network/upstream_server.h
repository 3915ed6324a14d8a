// A server on the host's loopback that a sandbox may reach by name.

#ifndef TESTS_NETWORK_UPSTREAM_SERVER_H_
#define TESTS_NETWORK_UPSTREAM_SERVER_H_

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"

namespace tests {

// Thread-safe.
class UpstreamServer {
 public:
  // Gets a connected socket that blocks, in a thread of its own. Must return
  // when the peer closes the connection.
  using Serve = std::function<void(int socket)>;

  // Listens at `address`, an IPv4 address of the host, on any port, or on
  // `port`.
  explicit UpstreamServer(Serve serve, const char* address = "127.0.0.1",
                          uint16_t port = 0);
  // Waits for the threads.
  ~UpstreamServer();

  uint16_t port() const { return port_; }
  int connections();

 private:
  void Accept();

  const Serve serve_;
  sandbox::UniqueFd listener_;
  uint16_t port_ = 0;
  sandbox::Mutex mutex_;
  int connections_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

// The descriptor of this process that is connected to a port of 127.0.0.1; -1
// if there is none.
int SocketTo(uint16_t port);

// Sends everything back until the peer closes its side.
void Echo(int socket);

// Reads until the bytes end with `end`, or to the end of the stream.
std::string ReadUntil(int socket, absl::string_view end);

// Sends all bytes. Returns false if the connection is broken.
bool SendAll(int socket, absl::string_view bytes);

}  // namespace tests

#endif  // TESTS_NETWORK_UPSTREAM_SERVER_H_

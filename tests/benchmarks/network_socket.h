// Sockets of network_client and network_server. Whoever fails ends the program,
// which the benchmark reports.

#ifndef TESTS_BENCHMARKS_NETWORK_SOCKET_H_
#define TESTS_BENCHMARKS_NETWORK_SOCKET_H_

#include <cstddef>

namespace tests {

constexpr size_t kBlock = 64 << 10;

// Ends the program unless `good`.
void Check(bool good, const char* what);

// Allows the process as many descriptors as it can have.
void AllowManySockets();

// Data is sent as it comes.
void SendAtOnce(int socket);

// Connects to an IPv4 address of `host`.
int Connect(const char* host, const char* port);

// Returns false if the other end is gone.
bool SendAll(int socket, const char* data, size_t size);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_NETWORK_SOCKET_H_

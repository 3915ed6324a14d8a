// The clients of the figures about networks, for network_server.
//
//   network_client download HOST PORT MIB  prints MB/s
//   network_client turns HOST PORT COUNT   prints the microseconds of each
//   round
//                                          trip of one byte
//   network_client crowd HOST PORT COUNT KIND
//       makes all connections, sends KIND, which is d or e, and awaits a byte
//       in each; prints the milliseconds, and ends with its input

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/benchmarks/network_socket.h"

namespace tests {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

void Download(int socket, int mebibytes) {
  std::vector<char> block(kBlock);
  const double bytes = static_cast<double>(mebibytes) * (1 << 20);
  const auto begin = std::chrono::steady_clock::now();
  Check(SendAll(socket, "d", 1), "send");
  for (double received = 0; received < bytes;) {
    const ssize_t size = ::recv(socket, block.data(), block.size(), 0);
    Check(size > 0, "recv");
    received += static_cast<double>(size);
  }
  std::printf("%f\n", bytes / SecondsSince(begin) / 1e6);
}

void TakeTurns(int socket, int count) {
  char byte = 'e';
  Check(SendAll(socket, &byte, 1), "send");
  for (int i = 0; i < count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    Check(SendAll(socket, &byte, 1), "send");
    Check(::recv(socket, &byte, 1, 0) == 1, "recv");
    std::printf("%f\n", SecondsSince(begin) * 1e6);
  }
}

void Crowd(char** where, int count, char kind) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<int> sockets;
  for (int i = 0; i < count; ++i) {
    sockets.push_back(Connect(where[0], where[1]));
    const char request[] = {kind, 'x'};
    Check(SendAll(sockets.back(), request, sizeof(request)), "send");
  }
  char byte = 0;
  for (const int socket : sockets) {
    Check(::recv(socket, &byte, 1, 0) == 1, "recv");
  }
  std::printf("%f\n", SecondsSince(begin) * 1e3);
  std::fflush(stdout);
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

}  // namespace
}  // namespace tests

int main(int argc, char** argv) {
  tests::AllowManySockets();
  const std::string role = argc >= 5 ? argv[1] : "";
  const int number = argc >= 5 ? std::atoi(argv[4]) : 0;
  if (role == "download") {
    tests::Download(tests::Connect(argv[2], argv[3]), number);
  } else if (role == "turns") {
    tests::TakeTurns(tests::Connect(argv[2], argv[3]), number);
  } else if (role == "crowd" && argc == 6) {
    tests::Crowd(argv + 2, number, argv[5][0]);
  } else {
    return 2;
  }
  return 0;
}

// Two network namespaces, joined by a veth pair that can go silent: packets
// then vanish in both directions, and neither side gets a reset, an error or a
// carrier that is down.
//
// The namespaces belong to two child processes and go with them, also when the
// test is killed.

#ifndef TESTS_INTEGRATION_SILENT_NETWORK_H_
#define TESTS_INTEGRATION_SILENT_NETWORK_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/process.h"

namespace tests {

// Not thread-safe.
class SilentNetwork {
 public:
  static constexpr char kServerIp[] = "10.213.0.1";
  static constexpr char kClientIp[] = "10.213.0.2";

  SilentNetwork();

  // Returns why this host cannot make such a network; empty if it can. If it is
  // not empty, no other method may be called.
  const std::string& failure() const { return failure_; }

  // Words to put before a command, so that it runs on one side. The command
  // keeps its process id.
  std::vector<std::string> OnServerSide() const;
  std::vector<std::string> OnClientSide() const;

  void Silence();
  void Restore();

  // Wait until at least `count` connections of the client's side are open, or
  // wait for the answer to their first packet.
  void AwaitConnected(int count) const;
  void AwaitConnecting(int count) const;

 private:
  // Starts a process in a network namespace of its own. Sets failure_.
  std::unique_ptr<Process> MakeNamespace();
  void Ip(const Process& side, const std::vector<std::string>& arguments) const;
  // `state`: as /proc/net/tcp shows it.
  void AwaitConnections(const std::string& state, int count) const;
  int CountConnections(const std::string& state) const;

  std::string failure_;
  std::unique_ptr<Process> server_;
  std::unique_ptr<Process> client_;
};

}  // namespace tests

#endif  // TESTS_INTEGRATION_SILENT_NETWORK_H_

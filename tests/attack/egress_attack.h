// A sandbox that may reach one host by name, with the servers outside that
// attacks want to reach.

#ifndef TESTS_ATTACK_EGRESS_ATTACK_H_
#define TESTS_ATTACK_EGRESS_ATTACK_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "corral/egress/v1/egress.pb.h"
#include "tests/attack/attack_test.h"
#include "tests/network/name_server.h"
#include "tests/network/upstream_server.h"

namespace tests {

class EgressAttackTest : public AttackTest {
 protected:
  using Event = ::corral::egress::v1::Event;
  using Rule = ::corral::egress::v1::Rule;

  // Allows api.example.
  EgressAttackTest();

  void Allow(const std::string& host, uint16_t port, Rule::Protocol protocol);

  // Runs a program in Python and returns what it printed. Its variables: `port`
  // and `host_port` are those of both servers. Its functions: attempt(f) prints
  // how the call of f ends; dial(), say() and datagram() need a host and a
  // port.
  std::string Python(const std::string& program);

  // All events, when there are at least `count`.
  std::vector<Event> Events(size_t count = 0);
  // "REASON host" for each event.
  std::vector<std::string> Refusals();

  // The proxy of this process's sandbox, once it runs.
  static pid_t AwaitProxy();

  NameServer names_;
  // api.example.
  UpstreamServer server_;
  // Listens where nothing inside may connect to.
  UpstreamServer other_;
};

}  // namespace tests

#endif  // TESTS_ATTACK_EGRESS_ATTACK_H_

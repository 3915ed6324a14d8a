// A corral-egress with a network namespace that stands for a sandbox's, a name
// server and operations of a program inside.

#ifndef SANDBOX_EGRESS_EGRESS_FIXTURE_H_
#define SANDBOX_EGRESS_EGRESS_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "corral/egress/v1/egress.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/egress_process.h"
#include "sandbox/egress/inner_sockets.h"
#include "tests/network/name_server.h"
#include "tests/network/network_namespace.h"
#include "tests/network/upstream_server.h"

namespace egress {

class EgressTest : public ::testing::Test {
 protected:
  using Event = ::corral::egress::v1::Event;

  EgressTest();
  ~EgressTest() override;

  void Allow(const std::string& host, uint16_t port,
             ::corral::egress::v1::Rule::Protocol protocol =
                 ::corral::egress::v1::Rule::WEB);
  // Allows `host` and lets it lead to `server`.
  void Serve(const std::string& host, const tests::UpstreamServer& server,
             ::corral::egress::v1::Rule::Protocol protocol =
                 ::corral::egress::v1::Rule::WEB);
  // Starts the program with the rules so far. 127.0.0.1 is an allowed network.
  void Start();
  void Restart();
  // Sends the rules so far to the program, with listeners for further ports,
  // and waits until they are in force.
  void Update();
  // Starts the program with these descriptors, which start_ describes. Another
  // way of running it overrides both and sets process_.socket.
  virtual void Launch(const std::vector<int>& fds);
  virtual void Kill();

  // Makes recv(2) on the socket fail after 60 s instead of hanging.
  static void LimitWaiting(const sandbox::UniqueFd& socket);

  // The next functions do what a program inside would do.

  // Looks a name up and returns its address; empty if the answer is a refusal
  // or has none.
  std::string Lookup(const std::string& name, uint16_t type = 1);
  // Returns what comes back for a datagram to 127.0.0.53:53.
  std::string Ask(const std::string& message);
  // A blocking socket that is connected to a name, or to an address; invalid
  // with errno if the connection is refused.
  sandbox::UniqueFd Dial(const std::string& host, uint16_t port);
  // Dials, sends the bytes, and returns all that comes back until the end of
  // the stream. "RST" if the connection is reset.
  std::string Exchange(const std::string& host, uint16_t port,
                       absl::string_view bytes);

  // A field of the program's /proc/PID/status.
  std::string Status(absl::string_view field);

  // Waits for the next event.
  Event NextEvent();
  ::corral::egress::v1::Report NextReport();

  tests::NameServer server_;
  tests::NetworkNamespace inside_;
  ::corral::egress::v1::Start start_;
  EgressProcess process_;
  sandbox::UniqueFd names_;
  InnerSockets inner_;
  // OK if Start() found that this host has TUN devices.
  absl::Status device_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_EGRESS_FIXTURE_H_

// One connection on the loop of the test, with its clock. The program inside is
// in a namespace.

#ifndef SANDBOX_EGRESS_CONNECTION_STATE_FIXTURE_H_
#define SANDBOX_EGRESS_CONNECTION_STATE_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/address_filter.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/credentials.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/egress/journal.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/pipe_pool.h"
#include "sandbox/egress/policy.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/service_host.h"
#include "tests/fakes/fake_timers.h"
#include "tests/network/name_server.h"
#include "tests/network/network_namespace.h"
#include "tests/network/upstream_server.h"

namespace egress {

class ConnectionStateTest : public ::testing::Test {
 protected:
  ConnectionStateTest();
  ~ConnectionStateTest() override;

  // A program dials a port of the host kName, which leads to 127.0.0.1. There
  // is a service "model", too.
  void Dial(uint16_t port, wire::Rule::Protocol protocol,
            const std::string& name = kName);
  // Begins a connection of this socket.
  void Begin(sandbox::UniqueFd client, uint16_t port);
  // Dials a server with a rule that allows any bytes, and waits for its
  // "hello".
  void DialServer(const tests::UpstreamServer& server);
  void Send(const std::string& bytes);
  // Waits until bytes of the program have arrived.
  void AwaitBytes() const;
  // The program breaks the connection off.
  void BreakOff();

  // Runs the loop until nothing is ready.
  void Settle();
  // The same, while there is no pipe.
  void SettleWithoutPipes();
  // Runs the loop until `reached` returns true.
  void RunUntil(const std::function<bool()>& reached);
  void RunUntilEnd() {
    RunUntil([this] { return ends_ > 0; });
  }

  static constexpr char kName[] = "a.example";
  static constexpr absl::Duration kIdle = absl::Seconds(40);
  static constexpr absl::Duration kTotal = absl::Seconds(500);

  const std::unique_ptr<sandbox::EventLoop> loop_ =
      *sandbox::EventLoop::Create();
  tests::FakeTimers timers_;
  const tests::NetworkNamespace inside_;
  tests::NameServer names_server_;
  std::unique_ptr<Resolver> resolver_ =
      *Resolver::Create(loop_.get(), loop_.get(), {names_server_.address()});
  Policy policy_ = *Policy::Make({});
  const sandbox::UniqueFd file_ = *NameTable::MakeFile();
  NameTable names_ = *NameTable::Open(file_);
  const AddressFilter filter_{{*IpNetwork::Parse("127.0.0.1")}};
  PipePool pipes_;
  // Each as "KIND REASON host upstream".
  std::vector<std::string> events_;
  Journal journal_;
  Credentials credentials_{loop_.get(), &timers_, sandbox::UniqueFd()};
  TlsContexts contexts_;
  ConnectionHost host_;
  sandbox::UniqueFd program_;
  // The program got this of a server; "|" is the end of the stream, "!" a
  // reset.
  std::string received_;
  // Owned by the connection.
  int client_ = -1;
  int ends_ = 0;
  std::unique_ptr<Connection> connection_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_CONNECTION_STATE_FIXTURE_H_

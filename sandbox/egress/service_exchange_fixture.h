// One exchange with a service on the loop of the test, which stands for the
// program inside, for the owner of the connection and for the supervisor.

#ifndef SANDBOX_EGRESS_SERVICE_EXCHANGE_FIXTURE_H_
#define SANDBOX_EGRESS_SERVICE_EXCHANGE_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corral/egress/v1/egress.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/address_filter.h"
#include "sandbox/egress/credentials.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/service_exchange.h"
#include "sandbox/egress/service_host.h"
#include "tests/fakes/fake_timers.h"
#include "tests/network/name_server.h"

namespace egress {

class ServiceExchangeTest : public ::testing::Test {
 protected:
  using Event = ::corral::egress::v1::Event;
  using Texts = std::vector<std::string>;

  static constexpr char kUpstream[] = "api.example";

  ServiceExchangeTest();
  ~ServiceExchangeTest() override;

  // Starts an exchange with the service "model", whose upstream is a port of
  // kUpstream, which leads to 127.0.0.1.
  void Start(uint16_t port);
  // Sends the head of a request with the further fields and the begin of its
  // body, and waits until the value is asked for.
  void Request(const std::string& fields = "", const std::string& begun = "");
  void Send(const std::string& bytes);
  // The supervisor answers; an empty value is the failure "no value".
  void Answer(const std::string& value);

  // Runs the loop until nothing is ready.
  void Settle();
  // Runs the loop until `reached` returns true.
  void RunUntil(const std::function<bool()>& reached);
  void RunUntilEnd() {
    RunUntil([this] { return !ends_.empty(); });
  }
  void RunUntilReport() {
    RunUntil([this] { return !reports_.empty(); });
  }
  // All that the program gets until the end of its stream.
  std::string Received();

  const std::unique_ptr<sandbox::EventLoop> loop_ =
      *sandbox::EventLoop::Create();
  tests::FakeTimers timers_;
  // Those of the credentials.
  tests::FakeTimers waiting_;
  const AddressFilter filter_{{*IpNetwork::Parse("127.0.0.1")}};
  TlsContexts contexts_;
  tests::NameServer names_;
  const std::unique_ptr<Resolver> resolver_ =
      *Resolver::Create(loop_.get(), loop_.get(), {names_.address()});
  std::unique_ptr<Credentials> credentials_;
  // The program's end, and the end that the exchange uses.
  sandbox::UniqueFd program_;
  sandbox::UniqueFd client_;
  sandbox::UniqueFd supervisor_;
  // "model", or "model refused" for a value in place of a refused one.
  Texts asked_;
  // Each as "KIND REASON claimed upstream sent/received".
  Texts reports_;
  // Whether the client must notice that the answer is incomplete.
  std::vector<bool> ends_;
  // The argument of all calls of count(), and its result.
  uint64_t counted_ = 0;
  bool allowed_ = true;
  std::unique_ptr<ServiceExchange> exchange_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_SERVICE_EXCHANGE_FIXTURE_H_

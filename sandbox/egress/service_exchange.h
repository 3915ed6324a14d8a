// One request of a program inside to a service, and the answer of its upstream.

#ifndef SANDBOX_EGRESS_SERVICE_EXCHANGE_H_
#define SANDBOX_EGRESS_SERVICE_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/connector.h"
#include "sandbox/egress/http_request.h"
#include "sandbox/egress/policy.h"
#include "sandbox/egress/service_host.h"
#include "sandbox/egress/service_relay.h"
#include "sandbox/egress/tls_stream.h"

namespace egress {

// A request that cannot be passed on is answered with an error in plain text.
// Used on the thread of its loop only.
class ServiceExchange {
 public:
  struct Owner {
    // Reports the end of the exchange, as CONNECTION_REFUSED or
    // CONNECTION_ENDED. Called once.
    std::function<void(::corral::egress::v1::Event)> report;
    // Called once, after `report`. If `reset` is true, the client must notice
    // that the answer is incomplete. May destroy the exchange later, not at
    // once.
    std::function<void(bool reset)> end;
    // Counts bytes that were moved. Returns false if the limit of all
    // connections is exceeded.
    std::function<bool(uint64_t bytes)> count;
  };

  // `client` does not block, and is watched by the owner, which sets its events
  // with SetEvents() of `loop`. It and the pointers outlive the exchange.
  ServiceExchange(const ServiceHost& host, int client, Service service,
                  Owner owner);
  ~ServiceExchange();

  void Start();
  // The client's socket has these EPOLL* bits.
  void OnClient(uint32_t events);
  // Ends the exchange for this reason, a limit.
  void Expire(::corral::egress::v1::Event::Reason reason);

  // Bytes in both directions that reached their receiver.
  uint64_t moved() const;

  // The time for the head of the request, and for the handshake with the
  // upstream.
  static constexpr absl::Duration kRequestTime = absl::Seconds(15);
  // The time in which a client must read an error and close.
  static constexpr absl::Duration kCloseTime = absl::Seconds(5);

 private:
  using Event = ::corral::egress::v1::Event;

  // An exchange goes through the states in this order, and may leave out any.
  enum class State {
    kNew,
    // The head of the request is read.
    kReading,
    // The value of the header is asked for.
    kPreparing,
    kConnecting,
    kHandshaking,
    kRelaying,
    // An error was answered, and the client has not closed yet.
    kClosing,
    kEnded,
  };

  void Enter(State next);
  void ReadRequest();
  void OnRequest();
  void OnCredential(const absl::StatusOr<std::string>& value);
  void OnConnected(Connector::Outcome outcome);
  void OnUpstream();
  void Handshake();
  void Relay();
  void DiscardUntilClosed();

  // Answers with an error and reports it.
  void Refuse(Event::Reason reason, absl::string_view status,
              absl::string_view why, const std::string& claimed = "");
  void Report(Event::Kind kind, Event::Reason reason,
              const std::string& claimed = "");
  void End(bool reset);

  const ServiceHost host_;
  const int client_;
  const Service service_;
  const Owner owner_;
  State state_ = State::kNew;
  std::string received_;
  HttpRequest request_;
  // The head for the upstream, with the value.
  std::string head_;
  std::unique_ptr<Connector> connector_;
  sandbox::UniqueFd upstream_;
  std::string upstream_address_;
  std::unique_ptr<TlsStream> tls_;
  std::unique_ptr<ServiceRelay> relay_;
  sandbox::Timer deadline_;
  sandbox::Timer again_;
  // Lets a late answer find out that the exchange is gone.
  const std::shared_ptr<ServiceExchange*> self_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_SERVICE_EXCHANGE_H_

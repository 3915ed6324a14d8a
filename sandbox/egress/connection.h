// One connection from inside the sandbox: from its acceptance to its end.

#ifndef SANDBOX_EGRESS_CONNECTION_H_
#define SANDBOX_EGRESS_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/timers.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/address_filter.h"
#include "sandbox/egress/connector.h"
#include "sandbox/egress/credentials.h"
#include "sandbox/egress/flow.h"
#include "sandbox/egress/inspection.h"
#include "sandbox/egress/journal.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/pipe_pool.h"
#include "sandbox/egress/policy.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/service_exchange.h"
#include "sandbox/egress/service_host.h"

namespace egress {

// The objects that connections share. All of them outlive the connections.
struct ConnectionHost {
  sandbox::EventLoop* loop;
  sandbox::Timers* timers;
  const Policy* policy;
  const NameTable* names;
  const AddressFilter* filter;
  Resolver* resolver;
  PipePool* pipes;
  Journal* journal;
  Credentials* credentials;
  const TlsContexts* contexts;
  // Bytes that all connections have moved.
  uint64_t moved_bytes = 0;
};

// Used on the thread of its loop only.
class Connection {
 public:
  // `port` is the dialled port. `on_end` is called once, may destroy the
  // connection, and is never called by Start().
  Connection(ConnectionHost* host, sandbox::UniqueFd client, uint16_t port,
             std::function<void()> on_end);
  ~Connection();

  void Start();

  // The time a client has for its ClientHello or the head of its request.
  static constexpr absl::Duration kRequestTime = absl::Seconds(15);

 private:
  // A connection goes through the states in this order, and may end in each of
  // them. It skips kInspecting if its rule allows any bytes.
  enum class State {
    kNew,
    kInspecting,
    kConnecting,
    kPumping,
    // A service answers; see ServiceExchange.
    kServing,
    kEnded
  };

  void Enter(State next);
  void Inspect();
  void OnRequest();
  void Connect();
  void OnConnected(Connector::Outcome outcome);
  void Pump();
  void Serve(const Service& service);
  // Counts bytes that were moved. Returns false if the limit is exceeded.
  bool Count(uint64_t bytes);
  void LimitTime();
  void OnIdleTick();
  // Ends a connection at a limit of time.
  void Expire(wire::Event::Reason reason);
  // Bytes that reached their receivers.
  uint64_t Moved() const;

  // Ends a connection that never reached its host.
  void Refuse(wire::Event::Reason reason, const std::string& claimed = "");
  // Ends a connection that reached its host.
  void Finish(wire::Event::Reason reason);
  void Report(wire::Event event);
  void End(bool reset);

  ConnectionHost* const host_;
  sandbox::UniqueFd client_;
  const uint16_t port_;
  const std::function<void()> on_end_;
  const absl::Time begin_;
  State state_ = State::kNew;
  // The host that the dialled address stands for, or the address.
  std::string name_;
  std::string received_;
  Inspection accepted_;
  std::unique_ptr<Connector> connector_;
  sandbox::UniqueFd upstream_;
  std::string upstream_address_;
  std::unique_ptr<Flow> sending_;
  std::unique_ptr<Flow> receiving_;
  std::unique_ptr<ServiceExchange> service_;
  int idle_ticks_ = 0;
  // The bytes that had been moved at the last idle tick.
  uint64_t moved_ = 0;
  sandbox::Timer deadline_;
  sandbox::Timer idle_;
  sandbox::Timer again_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_CONNECTION_H_

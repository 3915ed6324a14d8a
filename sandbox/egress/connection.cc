#include "sandbox/egress/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "sandbox/base/log.h"
#include "sandbox/base/reset_on_close.h"
#include "sandbox/base/send_at_once.h"

namespace egress {
namespace {

using Event = wire::Event;

// The bytes that one connection moves before others get their turn.
constexpr size_t kTurn = 4 << 20;
constexpr size_t kReadSize = 16 << 10;
// A connection is idle after so many ticks without a byte.
constexpr int kIdleTicks = 4;
constexpr absl::Duration kSoon = absl::Milliseconds(20);
constexpr uint32_t kBothWays = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
constexpr uint32_t kGone = EPOLLERR | EPOLLHUP;

std::optional<IpAddress> DialledAddress(const sandbox::UniqueFd& client) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(client.get(), reinterpret_cast<sockaddr*>(&address),
                    &size) != 0) {
    return std::nullopt;
  }
  return IpAddress::Of(address);
}

// close(2) sends a RST if bytes were not read, and the peer would lose what it
// has not read yet.
void Discard(const sandbox::UniqueFd& socket) {
  char bytes[kReadSize];
  for (int i = 0; i < 64; ++i) {
    if (::recv(socket.get(), bytes, sizeof(bytes), 0) <= 0) {
      return;
    }
  }
}

}  // namespace

Connection::Connection(ConnectionHost* host, sandbox::UniqueFd client,
                       uint16_t port, std::function<void()> on_end)
    : host_(host),
      client_(std::move(client)),
      port_(port),
      on_end_(std::move(on_end)),
      begin_(absl::Now()) {}

Connection::~Connection() {
  if (client_.valid()) {
    host_->loop->Unwatch(client_.get());
  }
  if (upstream_.valid()) {
    host_->loop->Unwatch(upstream_.get());
  }
}

void Connection::Enter(State next) {
  CHECK(state_ < next) << "a connection does not go back";
  state_ = next;
}

void Connection::Start() {
  const std::optional<IpAddress> address = DialledAddress(client_);
  if (!address.has_value()) {
    Refuse(Event::UNKNOWN_ADDRESS);
    return;
  }
  const std::optional<std::string> name = host_->names->Find(*address);
  name_ = name.value_or(address->ToString());
  if (!name.has_value()) {
    Refuse(Event::UNKNOWN_ADDRESS);
    return;
  }
  const Service* const service = host_->policy->FindService(name_);
  const Rule* const rule = host_->policy->Find(name_, port_);
  if (service != nullptr ? port_ != kServicePort : rule == nullptr) {
    Refuse(Event::PORT_NOT_ALLOWED);
    return;
  }
  sandbox::SendAtOnce(client_.get());
  host_->loop->Watch(client_.get(), 0, [this](uint32_t events) {
    if (state_ == State::kInspecting) {
      OnRequest();
    } else if (state_ == State::kPumping) {
      Pump();
    } else if (state_ == State::kServing) {
      service_->OnClient(events);
    } else if ((events & kGone) != 0) {
      Refuse(Event::BROKEN);
    }
  });
  if (service != nullptr) {
    Serve(*service);
  } else if (rule->protocol == wire::Rule::TCP) {
    Connect();
  } else {
    Inspect();
  }
}

void Connection::Inspect() {
  Enter(State::kInspecting);
  deadline_ = sandbox::Timer(host_->timers, kRequestTime,
                             [this] { Refuse(Event::NO_REQUEST); });
  host_->loop->SetEvents(client_.get(), EPOLLIN);
}

void Connection::OnRequest() {
  char bytes[kReadSize];
  const ssize_t got = ::recv(client_.get(), bytes, sizeof(bytes), 0);
  if (got <= 0) {
    if (got == 0 || errno != EAGAIN) {
      Refuse(Event::NO_REQUEST);
    }
    return;
  }
  received_.append(bytes, static_cast<size_t>(got));
  Inspection inspection = ::egress::Inspect(received_, name_);
  switch (inspection.state) {
    case Inspection::State::kIncomplete:
      break;
    case Inspection::State::kRefused:
      Refuse(inspection.reason, inspection.claimed);
      break;
    case Inspection::State::kAccepted:
      accepted_ = std::move(inspection);
      received_ = std::string();
      Connect();
      break;
  }
}

void Connection::Connect() {
  Enter(State::kConnecting);
  deadline_.Cancel();
  host_->loop->SetEvents(client_.get(), 0);
  connector_ = std::make_unique<Connector>(
      host_->loop, host_->timers, host_->resolver, host_->filter, name_, port_,
      [this](Connector::Outcome outcome) { OnConnected(std::move(outcome)); });
  connector_->Start();
}

void Connection::OnConnected(Connector::Outcome outcome) {
  if (state_ != State::kConnecting) {
    return;
  }
  upstream_address_ = outcome.address;
  if (!outcome.socket.valid()) {
    Refuse(outcome.failure);
    return;
  }
  Enter(State::kPumping);
  upstream_ = std::move(outcome.socket);
  sandbox::SendAtOnce(upstream_.get());
  sending_ = std::make_unique<Flow>(host_->pipes, client_.get(),
                                    upstream_.get(), std::move(accepted_.first),
                                    accepted_.rest, std::move(accepted_.body));
  receiving_ =
      std::make_unique<Flow>(host_->pipes, upstream_.get(), client_.get(), "",
                             kUnlimited, std::move(accepted_.answer));
  LimitTime();
  host_->loop->SetEvents(client_.get(), kBothWays);
  // The loop reports it at once, because it can be written to.
  host_->loop->Watch(upstream_.get(), kBothWays, [this](uint32_t) { Pump(); });
}

void Connection::Pump() {
  const uint64_t before = sending_->moved() + receiving_->moved();
  const Flow::Next sent = sending_->Move(kTurn);
  const Flow::Next received = receiving_->Move(kTurn);
  const uint64_t moved = sending_->moved() + receiving_->moved() - before;
  if (!Count(moved)) {
    Finish(Event::BYTE_LIMIT);
  } else if (sending_->state() == Flow::State::kBroken ||
             receiving_->state() == Flow::State::kBroken) {
    Finish(Event::BROKEN);
  } else if (sending_->state() != Flow::State::kOpen &&
             receiving_->state() == Flow::State::kEnded) {
    Finish(Event::CLOSED);
  } else if (sent == Flow::Next::kAgain || received == Flow::Next::kAgain) {
    again_ =
        sandbox::Timer(host_->timers, moved > 0 ? absl::ZeroDuration() : kSoon,
                       [this] { Pump(); });
  }
}

void Connection::Serve(const Service& service) {
  Enter(State::kServing);
  LimitTime();
  service_ = std::make_unique<ServiceExchange>(
      ServiceHost{host_->loop, host_->timers, host_->resolver, host_->filter,
                  host_->credentials, host_->contexts},
      client_.get(), service,
      ServiceExchange::Owner{[this](Event event) { Report(std::move(event)); },
                             [this](bool reset) { End(reset); },
                             [this](uint64_t bytes) { return Count(bytes); }});
  service_->Start();
}

bool Connection::Count(uint64_t bytes) {
  host_->moved_bytes += bytes;
  const uint64_t limit = host_->policy->limits().bytes;
  return limit == 0 || host_->moved_bytes <= limit;
}

void Connection::LimitTime() {
  deadline_ = sandbox::Timer(host_->timers, host_->policy->limits().total,
                             [this] { Expire(Event::TOTAL_TIME); });
  idle_ =
      sandbox::Timer(host_->timers, host_->policy->limits().idle / kIdleTicks,
                     [this] { OnIdleTick(); });
}

uint64_t Connection::Moved() const {
  return service_ != nullptr ? service_->moved()
                             : sending_->moved() + receiving_->moved();
}

void Connection::OnIdleTick() {
  const uint64_t moved = Moved();
  idle_ticks_ = moved == moved_ ? idle_ticks_ + 1 : 0;
  moved_ = moved;
  if (idle_ticks_ >= kIdleTicks) {
    Expire(Event::IDLE);
    return;
  }
  idle_ =
      sandbox::Timer(host_->timers, host_->policy->limits().idle / kIdleTicks,
                     [this] { OnIdleTick(); });
}

void Connection::Expire(Event::Reason reason) {
  if (service_ != nullptr) {
    service_->Expire(reason);
  } else {
    Finish(reason);
  }
}

void Connection::Refuse(Event::Reason reason, const std::string& claimed) {
  Event event;
  event.set_kind(Event::CONNECTION_REFUSED);
  event.set_reason(reason);
  event.set_claimed(claimed);
  Report(std::move(event));
  End(true);
}

void Connection::Finish(Event::Reason reason) {
  Event event;
  event.set_kind(Event::CONNECTION_ENDED);
  event.set_reason(reason);
  event.set_sent_bytes(sending_->moved());
  event.set_received_bytes(receiving_->moved());
  Report(std::move(event));
  End(reason != Event::CLOSED);
}

void Connection::Report(Event event) {
  event.set_host(name_);
  event.set_port(port_);
  if (service_ == nullptr) {
    event.set_upstream(upstream_address_);
  }
  if (event.kind() == Event::CONNECTION_ENDED) {
    event.set_duration_ns(absl::ToInt64Nanoseconds(absl::Now() - begin_));
  }
  host_->journal->Report(std::move(event));
}

void Connection::End(bool reset) {
  Enter(State::kEnded);
  if (reset) {
    sandbox::ResetOnClose(client_.get());
    if (upstream_.valid()) {
      sandbox::ResetOnClose(upstream_.get());
    }
  } else {
    Discard(client_);
  }
  deadline_.Cancel();
  idle_.Cancel();
  again_.Cancel();
  host_->loop->Unwatch(client_.get());
  if (upstream_.valid()) {
    host_->loop->Unwatch(upstream_.get());
  }
  // A callback of this object may be running.
  host_->loop->Defer(on_end_);
}

}  // namespace egress

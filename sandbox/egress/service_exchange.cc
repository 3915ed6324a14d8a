#include "sandbox/egress/service_exchange.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"
#include "sandbox/base/reset_on_close.h"
#include "sandbox/base/send_at_once.h"
#include "sandbox/egress/service_request.h"

namespace egress {
namespace {

constexpr size_t kReadSize = 16 << 10;
// The bytes that one exchange moves before others get their turn.
constexpr size_t kTurn = 4 << 20;
constexpr uint32_t kBothWays = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
constexpr uint32_t kGone = EPOLLERR | EPOLLHUP;
constexpr int kUnauthorized = 401;
constexpr char kBadGateway[] = "502 Bad Gateway";
constexpr char kBadRequest[] = "400 Bad Request";

std::string MakeError(absl::string_view status, absl::string_view text) {
  return MakeHttpHead(absl::StrCat("HTTP/1.1 ", status),
                      {{"Content-Type", "text/plain"},
                       {"Content-Length", absl::StrCat(text.size())},
                       {"Connection", "close"}}) +
         std::string(text);
}

absl::string_view WhyUnreachable(::corral::egress::v1::Event::Reason reason) {
  switch (reason) {
    case ::corral::egress::v1::Event::NAME_NOT_FOUND:
      return "the name of its upstream has no address";
    case ::corral::egress::v1::Event::ADDRESS_NOT_ALLOWED:
      return "the address of its upstream is not public, and the server's "
             "egress.private_networks do not allow it";
    default:  // UPSTREAM_UNREACHABLE
      return "its upstream cannot be reached";
  }
}

}  // namespace

ServiceExchange::ServiceExchange(const ServiceHost& host, int client,
                                 Service service, Owner owner)
    : host_(host),
      client_(client),
      service_(std::move(service)),
      owner_(std::move(owner)),
      self_(std::make_shared<ServiceExchange*>(this)) {}

ServiceExchange::~ServiceExchange() {
  if (upstream_.valid()) {
    host_.loop->Unwatch(upstream_.get());
  }
}

uint64_t ServiceExchange::moved() const {
  return relay_ == nullptr ? 0 : relay_->sent() + relay_->received();
}

void ServiceExchange::Enter(State next) {
  CHECK(state_ < next) << "an exchange does not go back";
  state_ = next;
}

void ServiceExchange::Start() {
  Enter(State::kReading);
  deadline_ = sandbox::Timer(host_.timers, kRequestTime,
                             [this] { Expire(Event::NO_REQUEST); });
  host_.loop->SetEvents(client_, EPOLLIN);
}

void ServiceExchange::OnClient(uint32_t events) {
  switch (state_) {
    case State::kReading:
      ReadRequest();
      break;
    case State::kPreparing:
    case State::kConnecting:
    case State::kHandshaking:
      if ((events & kGone) != 0) {
        Expire(Event::BROKEN);
      }
      break;
    case State::kRelaying:
      Relay();
      break;
    case State::kClosing:
      DiscardUntilClosed();
      break;
    case State::kNew:
    case State::kEnded:
      break;
  }
}

void ServiceExchange::ReadRequest() {
  char bytes[kReadSize];
  const ssize_t got = ::recv(client_, bytes, sizeof(bytes), 0);
  if (got <= 0) {
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      Expire(Event::NO_REQUEST);
    }
    return;
  }
  received_.append(bytes, static_cast<size_t>(got));
  request_ = ParseHttpRequest(received_);
  switch (request_.state) {
    case HttpRequest::State::kIncomplete:
      break;
    case HttpRequest::State::kMalformed:
      Refuse(Event::NOT_WEB, kBadRequest, "the request is no valid HTTP/1");
      break;
    case HttpRequest::State::kComplete:
      OnRequest();
      break;
  }
}

void ServiceExchange::OnRequest() {
  const std::string host = HostOf(request_);
  if (host != HostNameOf(service_)) {
    Refuse(
        Event::HOST_DIFFERS, kBadRequest,
        absl::StrCat("the request must name the host ", HostNameOf(service_)),
        host);
    return;
  }
  if (request_.method == "TRACE") {
    // The answer would show the header.
    Refuse(Event::NOT_WEB, "405 Method Not Allowed", "TRACE is not passed on");
    return;
  }
  Enter(State::kPreparing);
  host_.loop->SetEvents(client_, 0);
  // The supervisor has a limit of its own.
  deadline_.Cancel();
  const std::weak_ptr<ServiceExchange*> self = self_;
  host_.credentials->Get(service_.name,
                         [self](const absl::StatusOr<std::string>& value) {
                           if (const auto exchange = self.lock()) {
                             (*exchange)->OnCredential(value);
                           }
                         });
}

void ServiceExchange::OnCredential(const absl::StatusOr<std::string>& value) {
  if (state_ != State::kPreparing) {
    return;
  }
  if (!value.ok()) {
    Refuse(Event::NO_CREDENTIAL, kBadGateway, value.status().message());
    return;
  }
  head_ = MakeServiceRequest(request_, service_, *value);
  Enter(State::kConnecting);
  connector_ = std::make_unique<Connector>(
      host_.loop, host_.timers, host_.resolver, host_.filter, service_.host,
      service_.port,
      [this](Connector::Outcome outcome) { OnConnected(std::move(outcome)); });
  connector_->Start();
}

void ServiceExchange::OnConnected(Connector::Outcome outcome) {
  if (state_ != State::kConnecting) {
    return;
  }
  upstream_address_ = outcome.address;
  if (!outcome.socket.valid()) {
    Refuse(outcome.failure, kBadGateway, WhyUnreachable(outcome.failure));
    return;
  }
  const auto context = host_.contexts->find(service_.name);
  if (context == host_.contexts->end() || context->second == nullptr) {
    Refuse(Event::UPSTREAM_NOT_TRUSTED, kBadGateway,
           "the server has no authorities for its upstream");
    return;
  }
  upstream_ = std::move(outcome.socket);
  sandbox::SendAtOnce(upstream_.get());
  tls_ = std::make_unique<TlsStream>(*context->second, upstream_.get(),
                                     service_.host);
  Enter(State::kHandshaking);
  deadline_ = sandbox::Timer(host_.timers, kRequestTime, [this] {
    Refuse(Event::UPSTREAM_UNREACHABLE, kBadGateway,
           "its upstream does not answer");
  });
  // The loop reports it at once, because it can be written to.
  host_.loop->Watch(upstream_.get(), kBothWays,
                    [this](uint32_t) { OnUpstream(); });
}

void ServiceExchange::OnUpstream() {
  if (state_ == State::kHandshaking) {
    Handshake();
  } else if (state_ == State::kRelaying) {
    Relay();
  }
}

void ServiceExchange::Handshake() {
  switch (tls_->Handshake()) {
    case TlsStream::Result::kWait:
      return;
    case TlsStream::Result::kEnded:
    case TlsStream::Result::kFailed:
      Refuse(Event::UPSTREAM_NOT_TRUSTED, kBadGateway,
             absl::StrCat("its upstream is not trusted: ", tls_->failure()));
      return;
    case TlsStream::Result::kDone:
      break;
  }
  Enter(State::kRelaying);
  deadline_.Cancel();
  relay_ = std::make_unique<ServiceRelay>(
      client_, tls_.get(), request_, std::move(head_),
      absl::string_view(received_).substr(request_.head_size));
  received_ = std::string();
  // The loop reports it at once, because it can be written to.
  host_.loop->SetEvents(client_, kBothWays);
}

void ServiceExchange::Relay() {
  const uint64_t before = moved();
  const bool again = relay_->Move(kTurn);
  if (!owner_.count(moved() - before)) {
    Expire(Event::BYTE_LIMIT);
    return;
  }
  if (relay_->state() == ServiceRelay::State::kOpen) {
    if (again) {
      again_ = sandbox::Timer(host_.timers, absl::ZeroDuration(),
                              [this] { Relay(); });
    }
    return;
  }
  const bool whole = relay_->state() == ServiceRelay::State::kEnded;
  Report(Event::CONNECTION_ENDED, whole ? Event::CLOSED : Event::BROKEN);
  End(!whole);
}

void ServiceExchange::DiscardUntilClosed() {
  char bytes[kReadSize];
  const ssize_t got = ::recv(client_, bytes, sizeof(bytes), 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
    End(false);
  }
}

void ServiceExchange::Expire(Event::Reason reason) {
  if (state_ == State::kClosing) {
    End(true);
    return;
  }
  Report(state_ == State::kRelaying ? Event::CONNECTION_ENDED
                                    : Event::CONNECTION_REFUSED,
         reason);
  End(true);
}

void ServiceExchange::Refuse(Event::Reason reason, absl::string_view status,
                             absl::string_view why,
                             const std::string& claimed) {
  Report(Event::CONNECTION_REFUSED, reason, claimed);
  Enter(State::kClosing);
  // The answer fits into the empty buffer of the socket.
  const std::string answer = MakeError(
      status, absl::StrCat("Corral: service ", service_.name, ": ", why, "\n"));
  ::send(client_, answer.data(), answer.size(), MSG_NOSIGNAL);
  ::shutdown(client_, SHUT_WR);
  // close(2) would send a RST, and the client could lose the answer.
  deadline_ = sandbox::Timer(host_.timers, kCloseTime, [this] { End(false); });
  host_.loop->SetEvents(client_, EPOLLIN);
}

void ServiceExchange::Report(Event::Kind kind, Event::Reason reason,
                             const std::string& claimed) {
  Event event;
  event.set_kind(kind);
  event.set_reason(reason);
  event.set_claimed(claimed);
  event.set_upstream(upstream_address_);
  if (relay_ != nullptr) {
    event.set_sent_bytes(relay_->sent());
    event.set_received_bytes(relay_->received());
    if (relay_->status() == kUnauthorized) {
      host_.credentials->Refuse(service_.name);
    }
  }
  owner_.report(std::move(event));
}

void ServiceExchange::End(bool reset) {
  Enter(State::kEnded);
  deadline_.Cancel();
  again_.Cancel();
  if (reset && upstream_.valid()) {
    sandbox::ResetOnClose(upstream_.get());
  }
  owner_.end(reset);
}

}  // namespace egress

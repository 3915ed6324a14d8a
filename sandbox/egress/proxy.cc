#include "sandbox/egress/proxy.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/log.h"
#include "sandbox/base/reset_on_close.h"
#include "sandbox/base/status_macros.h"

namespace egress {
namespace {

using sandbox::UniqueFd;

// The number of connections that are accepted before others get their turn.
constexpr int kBatch = 64;
// How long a listener pauses when this process has no descriptor left.
constexpr absl::Duration kPause = absl::Milliseconds(100);

absl::StatusOr<AddressFilter> MakeFilter(const wire::Policy& policy) {
  std::vector<IpNetwork> networks;
  for (const std::string& text : policy.private_networks()) {
    ASSIGN_OR_RETURN(const IpNetwork network, IpNetwork::Parse(text));
    networks.push_back(network);
  }
  return AddressFilter(std::move(networks));
}

// Returns null if the authorities cannot be used.
std::shared_ptr<TlsContext> MakeContext(const std::string& service,
                                        const std::string& authorities) {
  absl::StatusOr<std::unique_ptr<TlsContext>> made =
      TlsContext::Create(authorities);
  if (!made.ok()) {
    LOG(WARNING) << "service " << service << ": " << made.status().ToString();
    return nullptr;
  }
  return *std::move(made);
}

// Makes the contexts of the policy's services. A service whose authorities
// cannot be used has none.
TlsContexts MakeContexts(const wire::Start& start,
                         const Proxy::Descriptors& descriptors) {
  TlsContexts contexts;
  std::shared_ptr<TlsContext> of_host;
  for (const wire::Service& service : start.policy().services()) {
    if (!service.own_authorities()) {
      if (of_host == nullptr) {
        of_host = MakeContext(service.name(), HostAuthorities());
      }
      contexts[service.name()] = of_host;
    }
  }
  for (int i = 0; i < start.descriptors_size(); ++i) {
    if (start.descriptors(i).kind() == wire::Descriptor::AUTHORITIES) {
      const std::string& service = start.descriptors(i).service();
      contexts[service] =
          MakeContext(service, ReadAuthorities(descriptors[i].get()));
    }
  }
  return contexts;
}

UniqueFd TakeCredentials(const wire::Start& start,
                         Proxy::Descriptors& descriptors) {
  for (int i = 0; i < start.descriptors_size(); ++i) {
    if (start.descriptors(i).kind() == wire::Descriptor::CREDENTIALS) {
      return std::move(descriptors[i]);
    }
  }
  return UniqueFd();
}

absl::Status CheckCount(size_t came, int described) {
  return came == static_cast<size_t>(described)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   came, " descriptors came instead of ", described));
}

absl::StatusOr<UniqueFd> TakeNames(const wire::Start& start,
                                   Proxy::Descriptors& descriptors) {
  for (int i = 0; i < start.descriptors_size(); ++i) {
    if (start.descriptors(i).kind() == wire::Descriptor::NAMES) {
      return std::move(descriptors[i]);
    }
  }
  return absl::InvalidArgumentError("no descriptor for the names");
}

bool SetNonBlocking(const UniqueFd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  return flags >= 0 && ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Proxy>> Proxy::Create(sandbox::EventLoop* loop,
                                                     Journal* journal,
                                                     const wire::Start& start,
                                                     Descriptors descriptors) {
  RETURN_IF_ERROR(CheckCount(descriptors.size(), start.descriptors_size()));
  ASSIGN_OR_RETURN(Policy policy, Policy::Make(start.policy()));
  ASSIGN_OR_RETURN(AddressFilter filter, MakeFilter(start.policy()));
  ASSIGN_OR_RETURN(const UniqueFd file, TakeNames(start, descriptors));
  ASSIGN_OR_RETURN(NameTable names, NameTable::Open(file));
  ASSIGN_OR_RETURN(std::unique_ptr<Resolver> resolver,
                   Resolver::Create(loop, loop,
                                    {start.name_servers().begin(),
                                     start.name_servers().end()}));
  std::unique_ptr<Proxy> proxy(new Proxy(loop, journal, std::move(policy),
                                         std::move(filter), std::move(names),
                                         std::move(resolver)));
  proxy->contexts_ = MakeContexts(start, descriptors);
  proxy->credentials_ = std::make_unique<Credentials>(
      loop, loop, TakeCredentials(start, descriptors));
  proxy->host_.credentials = proxy->credentials_.get();
  RETURN_IF_ERROR(proxy->TakeSockets(start, std::move(descriptors)));
  return proxy;
}

Proxy::Proxy(sandbox::EventLoop* loop, Journal* journal, Policy policy,
             AddressFilter filter, NameTable names,
             std::unique_ptr<Resolver> resolver)
    : loop_(loop),
      journal_(journal),
      policy_(std::move(policy)),
      filter_(std::move(filter)),
      names_(std::move(names)),
      resolver_(std::move(resolver)),
      host_{loop_,   loop_,    &policy_, &names_,    &filter_, resolver_.get(),
            &pipes_, journal_, nullptr,  &contexts_, 0} {}

Proxy::~Proxy() {
  for (const auto& listener : listeners_) {
    loop_->Unwatch(listener->socket.get());
  }
}

absl::Status Proxy::TakeSockets(const wire::Start& start,
                                Descriptors descriptors) {
  UniqueFd udp;
  UniqueFd tcp;
  for (int i = 0; i < start.descriptors_size(); ++i) {
    const wire::Descriptor& descriptor = start.descriptors(i);
    UniqueFd fd = std::move(descriptors[i]);
    if (fd.valid() && !SetNonBlocking(fd)) {
      return absl::ErrnoToStatus(errno, "set O_NONBLOCK on a socket");
    }
    switch (descriptor.kind()) {
      case wire::Descriptor::DNS_UDP:
        udp = std::move(fd);
        break;
      case wire::Descriptor::DNS_TCP:
        tcp = std::move(fd);
        break;
      case wire::Descriptor::LISTENER:
        Listen(std::move(fd), static_cast<uint16_t>(descriptor.port()));
        break;
      case wire::Descriptor::PACKETS:
        refuser_ =
            std::make_unique<PacketRefuser>(loop_, journal_, std::move(fd));
        break;
      default:
        break;
    }
  }
  if (!udp.valid() || !tcp.valid()) {
    return absl::InvalidArgumentError("no sockets for the name service");
  }
  service_ = std::make_unique<NameService>(&policy_, &names_, journal_,
                                           start.policy().ipv6());
  dns_ = std::make_unique<DnsServer>(loop_, loop_, service_.get(),
                                     std::move(udp), std::move(tcp));
  return absl::OkStatus();
}

absl::Status Proxy::Update(const wire::Update& update,
                           Descriptors descriptors) {
  RETURN_IF_ERROR(CheckCount(descriptors.size(), update.descriptors_size()));
  ASSIGN_OR_RETURN(policy_, Policy::Make(update.policy()));
  for (int i = 0; i < update.descriptors_size(); ++i) {
    if (!SetNonBlocking(descriptors[i])) {
      return absl::ErrnoToStatus(errno, "set O_NONBLOCK on a listener");
    }
    Listen(std::move(descriptors[i]),
           static_cast<uint16_t>(update.descriptors(i).port()));
  }
  return absl::OkStatus();
}

void Proxy::Listen(UniqueFd socket, uint16_t port) {
  listeners_.push_back(
      std::make_unique<Listener>(Listener{std::move(socket), port, {}}));
  Listener* const listener = listeners_.back().get();
  loop_->Watch(listener->socket.get(), EPOLLIN,
               [this, listener](uint32_t) { OnListener(listener); });
}

void Proxy::OnListener(Listener* listener) {
  for (int i = 0; i < kBatch; ++i) {
    UniqueFd client(::accept4(listener->socket.get(), nullptr, nullptr,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
          errno == ENOBUFS) {
        Pause(listener);
      }
      return;
    }
    Accept(std::move(client), listener->port);
  }
}

void Proxy::Pause(Listener* listener) {
  loop_->SetEvents(listener->socket.get(), 0);
  listener->pause = sandbox::Timer(loop_, kPause, [this, listener] {
    loop_->SetEvents(listener->socket.get(), EPOLLIN);
  });
}

void Proxy::Accept(UniqueFd client, uint16_t port) {
  if (connections_.size() >= policy_.limits().connections) {
    RefuseForRoom(std::move(client), port);
    return;
  }
  const uint64_t id = next_connection_++;
  auto& connection = connections_[id];
  connection = std::make_unique<Connection>(
      &host_, std::move(client), port, [this, id] { connections_.erase(id); });
  connection->Start();
}

void Proxy::RefuseForRoom(UniqueFd client, uint16_t port) {
  sandbox::ResetOnClose(client.get());
  wire::Event event;
  event.set_kind(wire::Event::CONNECTION_REFUSED);
  event.set_reason(wire::Event::TOO_MANY_CONNECTIONS);
  event.set_port(port);
  journal_->Report(std::move(event));
}

}  // namespace egress

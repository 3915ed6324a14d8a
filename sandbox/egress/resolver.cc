#include "sandbox/egress/resolver.h"

#include <ares.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace egress {
namespace {

constexpr int kTimeoutMillis = 2000;
constexpr int kTries = 3;

absl::Status Failure(int status) {
  const std::string text = ares_strerror(status);
  return status == ARES_ENOTFOUND || status == ARES_ENODATA
             ? absl::NotFoundError(text)
             : absl::UnavailableError(text);
}

std::vector<IpAddress> AddressesOf(const ares_addrinfo* result) {
  std::vector<IpAddress> addresses;
  for (const ares_addrinfo_node* node = result->nodes;
       node != nullptr && addresses.size() < Resolver::kMaxAddresses;
       node = node->ai_next) {
    sockaddr_storage address = {};
    std::copy_n(reinterpret_cast<const char*>(node->ai_addr),
                std::min<size_t>(node->ai_addrlen, sizeof(address)),
                reinterpret_cast<char*>(&address));
    addresses.push_back(IpAddress::Of(address));
  }
  std::stable_partition(
      addresses.begin(), addresses.end(),
      [](const IpAddress& address) { return address.family() == AF_INET; });
  return addresses;
}

void OnResult(void* argument, int status, int, ares_addrinfo* result) {
  const std::unique_ptr<Resolver::Done> done(
      static_cast<Resolver::Done*>(argument));
  if (status != ARES_SUCCESS) {
    (*done)(Failure(status));
    return;
  }
  std::vector<IpAddress> addresses = AddressesOf(result);
  ares_freeaddrinfo(result);
  (*done)(std::move(addresses));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Resolver>> Resolver::Create(
    sandbox::EventLoop* loop, sandbox::Timers* timers,
    const std::vector<std::string>& servers) {
  std::unique_ptr<Resolver> resolver(new Resolver(loop, timers));
  char lookups[] = "b";  // DNS alone, without /etc/hosts
  ares_options options = {};
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
  options.timeout = kTimeoutMillis;
  options.tries = kTries;
  options.lookups = lookups;
  options.sock_state_cb = [](void* data, int fd, int readable, int writable) {
    static_cast<Resolver*>(data)->OnSocket(fd, readable != 0, writable != 0);
  };
  options.sock_state_cb_data = resolver.get();
  int status =
      ares_init_options(&resolver->channel_, &options,
                        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                            ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB);
  if (status == ARES_SUCCESS && !servers.empty()) {
    status = ares_set_servers_ports_csv(resolver->channel_,
                                        absl::StrJoin(servers, ",").c_str());
  }
  if (status != ARES_SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat("name servers '", absl::StrJoin(servers, ","),
                     "': ", ares_strerror(status)));
  }
  return resolver;
}

Resolver::~Resolver() {
  if (channel_ != nullptr) {
    ares_destroy(channel_);
  }
}

void Resolver::Resolve(const std::string& name, Done done) {
  ares_addrinfo_hints hints = {};
  hints.ai_flags = ARES_AI_NOSORT;  // sorting would connect sockets
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, OnResult,
                   new Done(std::move(done)));
  SetTimeout();
}

void Resolver::OnSocket(int fd, bool readable, bool writable) {
  // The library may close a descriptor and open another one with the same
  // number; it reports the close first.
  loop_->Unwatch(fd);
  const uint32_t events =
      (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U);
  if (events != 0) {
    loop_->Watch(fd, events,
                 [this, fd](uint32_t ready) { OnReady(fd, ready); });
  }
}

void Resolver::OnReady(int fd, uint32_t events) {
  // An error is found by reading.
  const bool readable = (events & ~static_cast<uint32_t>(EPOLLOUT)) != 0;
  ares_process_fd(channel_, readable ? fd : ARES_SOCKET_BAD,
                  (events & EPOLLOUT) != 0 ? fd : ARES_SOCKET_BAD);
  SetTimeout();
}

void Resolver::SetTimeout() {
  timeval left;
  if (ares_timeout(channel_, nullptr, &left) == nullptr) {
    timeout_.Cancel();
    return;
  }
  timeout_ = sandbox::Timer(timers_, absl::DurationFromTimeval(left), [this] {
    ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    SetTimeout();
  });
}

}  // namespace egress

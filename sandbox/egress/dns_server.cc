#include "sandbox/egress/dns_server.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/string_view.h"

namespace egress {
namespace {

// A question takes at most 271 bytes; options may follow.
constexpr size_t kMaxMessage = 4096;
// Messages after which others get their turn.
constexpr int kBatch = 64;
constexpr size_t kLengthBytes = 2;

size_t LengthOf(absl::string_view bytes) {
  return static_cast<size_t>(static_cast<uint8_t>(bytes[0]) << 8 |
                             static_cast<uint8_t>(bytes[1]));
}

std::string WithLength(const std::string& answer) {
  std::string bytes;
  bytes.push_back(static_cast<char>(answer.size() >> 8));
  bytes.push_back(static_cast<char>(answer.size()));
  return bytes + answer;
}

}  // namespace

DnsServer::DnsServer(sandbox::EventLoop* loop, sandbox::Timers* timers,
                     NameService* service, sandbox::UniqueFd udp,
                     sandbox::UniqueFd tcp)
    : loop_(loop),
      timers_(timers),
      service_(service),
      udp_(std::move(udp)),
      tcp_(std::move(tcp)) {
  loop_->Watch(udp_.get(), EPOLLIN, [this](uint32_t) { OnUdp(); });
  loop_->Watch(tcp_.get(), EPOLLIN, [this](uint32_t) { OnTcp(); });
}

DnsServer::~DnsServer() {
  while (!clients_.empty()) {
    Remove(clients_.begin()->first);
  }
  loop_->Unwatch(udp_.get());
  loop_->Unwatch(tcp_.get());
}

void DnsServer::OnUdp() {
  char message[kMaxMessage];
  for (int i = 0; i < kBatch; ++i) {
    sockaddr_storage client;
    socklen_t size = sizeof(client);
    const ssize_t got =
        ::recvfrom(udp_.get(), message, sizeof(message), MSG_DONTWAIT,
                   reinterpret_cast<sockaddr*>(&client), &size);
    if (got < 0) {
      // An error of an earlier answer, or nothing is left.
      return;
    }
    const std::string answer =
        service_->Answer({message, static_cast<size_t>(got)});
    if (!answer.empty()) {
      ::sendto(udp_.get(), answer.data(), answer.size(), MSG_DONTWAIT,
               reinterpret_cast<sockaddr*>(&client), size);
    }
  }
}

void DnsServer::OnTcp() {
  for (int i = 0; i < kBatch; ++i) {
    sandbox::UniqueFd socket(
        ::accept4(tcp_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      return;
    }
    if (clients_.size() >= kMaxClients) {
      continue;
    }
    const int fd = socket.get();
    Client& client = clients_[fd];
    client.socket = std::move(socket);
    client.timeout =
        sandbox::Timer(timers_, kClientTime, [this, fd] { Remove(fd); });
    loop_->Watch(fd, EPOLLIN, [this, fd](uint32_t) { OnClient(fd); });
  }
}

void DnsServer::OnClient(int fd) {
  if (!Serve(clients_[fd])) {
    Remove(fd);
  }
}

bool DnsServer::Serve(Client& client) {
  char bytes[kMaxMessage];
  const ssize_t got = ::recv(client.socket.get(), bytes, sizeof(bytes), 0);
  if (got <= 0) {
    return got < 0 && errno == EAGAIN;
  }
  client.received.append(bytes, static_cast<size_t>(got));
  absl::string_view rest = client.received;
  while (rest.size() >= kLengthBytes &&
         rest.size() - kLengthBytes >= LengthOf(rest)) {
    const size_t length = LengthOf(rest);
    const std::string answer =
        WithLength(service_->Answer(rest.substr(kLengthBytes, length)));
    // A client that does not read its answers is not waited for.
    if (answer.size() > kLengthBytes &&
        ::send(client.socket.get(), answer.data(), answer.size(),
               MSG_NOSIGNAL) != static_cast<ssize_t>(answer.size())) {
      return false;
    }
    rest.remove_prefix(kLengthBytes + length);
  }
  const bool fits = rest.size() < kLengthBytes || LengthOf(rest) <= kMaxMessage;
  // Frees what `rest` refers to.
  client.received = std::string(rest);
  return fits;
}

void DnsServer::Remove(int fd) {
  loop_->Unwatch(fd);
  clients_.erase(fd);
}

}  // namespace egress

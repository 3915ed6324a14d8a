#include "tests/network/name_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tests {
namespace {

using sandbox::UniqueFd;

constexpr size_t kHeader = 12;
constexpr size_t kMaxUdp = 512;
constexpr size_t kMaxTcp = 65535;
constexpr char kNoSuchName = 3;

UniqueFd Bind(int type, uint16_t port) {
  UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address),
             sizeof(address)) != 0) {
    return UniqueFd();
  }
  return socket;
}

uint16_t PortOf(const UniqueFd& socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// A record of the address, or nothing if it is of another type.
std::string Record(const std::string& address, int type) {
  char bytes[16];
  const int family = type == 1 ? AF_INET : AF_INET6;
  if (::inet_pton(family, address.c_str(), bytes) != 1) {
    return "";
  }
  const size_t size = type == 1 ? 4 : 16;
  const char head[] = {'\xc0', '\x0c', 0, static_cast<char>(type), 0, 1, 0, 0,
                       0,      0,      0, static_cast<char>(size)};
  return std::string(head, sizeof(head)) + std::string(bytes, size);
}

}  // namespace

NameServer::NameServer() : stop_(::eventfd(0, EFD_CLOEXEC)) {
  // Both sockets need the same port, which may be taken for the second one.
  do {
    udp_ = Bind(SOCK_DGRAM, 0);
    tcp_ = Bind(SOCK_STREAM, PortOf(udp_));
  } while (!tcp_.valid());
  EXPECT_EQ(::listen(tcp_.get(), 64), 0);
  thread_ = std::thread([this] { Serve(); });
}

NameServer::~NameServer() {
  const uint64_t one = 1;
  EXPECT_EQ(::write(stop_.get(), &one, sizeof(one)),
            static_cast<ssize_t>(sizeof(one)));
  thread_.join();
}

std::string NameServer::address() const {
  return absl::StrCat("127.0.0.1:", PortOf(udp_));
}

void NameServer::Set(const std::string& name,
                     std::vector<std::string> addresses) {
  sandbox::MutexLock lock(&mutex_);
  names_[name] = std::move(addresses);
}

std::vector<std::string> NameServer::Questions() {
  sandbox::MutexLock lock(&mutex_);
  return questions_;
}

void NameServer::Serve() {
  for (;;) {
    pollfd fds[] = {{stop_.get(), POLLIN, 0},
                    {udp_.get(), POLLIN, 0},
                    {tcp_.get(), POLLIN, 0}};
    ::poll(fds, 3, -1);
    if (fds[0].revents != 0) {
      return;
    }
    if (fds[1].revents != 0) {
      char message[kMaxUdp];
      sockaddr_in client;
      socklen_t size = sizeof(client);
      const ssize_t got =
          ::recvfrom(udp_.get(), message, sizeof(message), 0,
                     reinterpret_cast<sockaddr*>(&client), &size);
      const std::string answer =
          Answer({message, static_cast<size_t>(got)}, kMaxUdp);
      ::sendto(udp_.get(), answer.data(), answer.size(), 0,
               reinterpret_cast<sockaddr*>(&client), size);
    }
    if (fds[2].revents != 0) {
      ServeTcp();
    }
  }
}

// One question.
void NameServer::ServeTcp() {
  const UniqueFd client(::accept4(tcp_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  char message[kMaxUdp];
  const ssize_t got = ::recv(client.get(), message, sizeof(message), 0);
  if (got <= 2) {
    return;
  }
  const std::string answer =
      Answer({message + 2, static_cast<size_t>(got) - 2}, kMaxTcp);
  std::string bytes;
  bytes.push_back(static_cast<char>(answer.size() >> 8));
  bytes.push_back(static_cast<char>(answer.size()));
  bytes += answer;
  ::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

std::string NameServer::Answer(absl::string_view message, size_t limit) {
  std::string name;
  size_t at = kHeader;
  while (message[at] != 0) {
    absl::StrAppend(&name, name.empty() ? "" : ".",
                    message.substr(at + 1, static_cast<size_t>(message[at])));
    at += 1 + static_cast<size_t>(message[at]);
  }
  const int type = message[at + 2];
  std::string answer(message.substr(0, at + 5));
  answer[2] = '\x81';
  answer[3] = '\x80';
  answer.replace(6, 6, 6, '\0');
  sandbox::MutexLock lock(&mutex_);
  questions_.push_back(name);
  const auto found = names_.find(name);
  if (found == names_.end()) {
    answer[3] = static_cast<char>('\x80' | kNoSuchName);
    return answer;
  }
  unsigned count = 0;
  for (const std::string& address : found->second) {
    const std::string record = Record(address, type);
    if (!record.empty() && answer.size() + record.size() > limit) {
      answer[2] = '\x83';  // truncated
      break;
    }
    answer += record;
    count += record.empty() ? 0 : 1;
  }
  answer[6] = static_cast<char>(count >> 8);
  answer[7] = static_cast<char>(count);
  return answer;
}

}  // namespace tests

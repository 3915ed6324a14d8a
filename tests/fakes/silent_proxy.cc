#include "tests/fakes/silent_proxy.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sandbox/base/log.h"

namespace tests {
namespace {

using sandbox::MutexLock;
using sandbox::UniqueFd;

sockaddr_un Address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

UniqueFd Socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// Passes on what there is. Returns false at the end, and after an error.
bool Pass(int from, int to) {
  char data[65536];
  const ssize_t size = ::read(from, data, sizeof data);
  for (ssize_t done = 0; done < size;) {
    const ssize_t sent = ::send(to, data + done, size - done, MSG_NOSIGNAL);
    if (sent < 0) {
      return false;
    }
    done += sent;
  }
  return size > 0;
}

}  // namespace

SilentProxy::SilentProxy(const std::string& target)
    : target_path_(absl::StripPrefix(target, "unix:")),
      listener_(Socket()),
      wakeup_(::eventfd(0, EFD_CLOEXEC)) {
  char directory[] = "/tmp/silent_proxy.XXXXXX";
  CHECK(::mkdtemp(directory) != nullptr);
  directory_ = directory;
  const std::string path = directory_ + "/corrald.sock";
  address_ = absl::StrCat("unix:", path);
  const sockaddr_un address = Address(path);
  CHECK(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address),
               sizeof address) == 0);
  CHECK(::listen(listener_.get(), 100) == 0);
  thread_ = std::thread([this] { Run(); });
}

SilentProxy::~SilentProxy() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  CHECK(::eventfd_write(wakeup_.get(), 1) == 0);
  thread_.join();
  ::unlink((directory_ + "/corrald.sock").c_str());
  ::rmdir(directory_.c_str());
}

void SilentProxy::SilenceConnections() {
  MutexLock lock(&mutex_);
  silence_wanted_ = true;
  CHECK(::eventfd_write(wakeup_.get(), 1) == 0);
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !silence_wanted_;
  });
}

void SilentProxy::Run() {
  for (;;) {
    std::vector<pollfd> items = {{wakeup_.get(), POLLIN, 0},
                                 {listener_.get(), POLLIN, 0}};
    for (const auto& connection : connections_) {
      // Descriptors of -1 are left out by poll.
      items.push_back(
          {connection->silent ? -1 : connection->client.get(), POLLIN, 0});
      items.push_back(
          {connection->silent ? -1 : connection->server.get(), POLLIN, 0});
    }
    CHECK(::poll(items.data(), items.size(), -1) >= 0 || errno == EINTR);
    for (size_t i = 0; i < connections_.size(); ++i) {
      Forward(*connections_[i], items[2 + 2 * i].revents,
              items[3 + 2 * i].revents);
    }
    if (items[1].revents != 0) {
      Accept();
    }
    if (items[0].revents != 0) {
      eventfd_t value = 0;
      ::eventfd_read(wakeup_.get(), &value);
    }
    MutexLock lock(&mutex_);
    if (stopping_) {
      return;
    }
    if (silence_wanted_) {
      for (const auto& connection : connections_) {
        connection->silent = true;
      }
      silence_wanted_ = false;
      mutex_.Signal();
    }
  }
}

void SilentProxy::Accept() {
  auto connection = std::make_unique<Connection>();
  connection->client.Reset(
      ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  connection->server = Socket();
  const sockaddr_un address = Address(target_path_);
  if (::connect(connection->server.get(),
                reinterpret_cast<const sockaddr*>(&address),
                sizeof address) == 0) {
    connections_.push_back(std::move(connection));
  }
}

void SilentProxy::Forward(Connection& connection, short client_events,
                          short server_events) {
  const int client = connection.client.get();
  const int server = connection.server.get();
  if ((client_events != 0 && !Pass(client, server)) ||
      (server_events != 0 && !Pass(server, client))) {
    connection.client.Reset();
    connection.server.Reset();
  }
}

}  // namespace tests

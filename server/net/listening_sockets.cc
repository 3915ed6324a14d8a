#include "server/net/listening_sockets.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/listen_address.h"

namespace server {
namespace {

using sandbox::UniqueFd;

constexpr int kSocketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
// A connection ends when its peer acknowledges nothing for this long; the value
// that gRPC itself would set.
constexpr unsigned kUserTimeoutMillis = 20'000;

sockaddr_un ToUnixAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::Status InUse(const std::string& where) {
  return absl::AlreadyExistsError(
      absl::StrCat("listen: another server answers on ", where));
}

absl::Status RemoveStale(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus()
                           : absl::ErrnoToStatus(errno, path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("listen: ", path, " exists and is not a socket"));
  }
  const UniqueFd probe(::socket(AF_UNIX, kSocketFlags, 0));
  const sockaddr_un address = ToUnixAddress(path);
  // EAGAIN: a server listens, and its queue is full.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0 ||
      errno == EAGAIN) {
    return InUse(path);
  }
  if (errno == ECONNREFUSED && ::unlink(path.c_str()) == 0) {
    return absl::OkStatus();
  }
  // ENOENT: the other server has just ended.
  return errno == ENOENT ? absl::OkStatus() : absl::ErrnoToStatus(errno, path);
}

absl::StatusOr<UniqueFd> OpenUnix(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  if (!directory.empty() && ::mkdir(directory.c_str(), 0700) != 0 &&
      errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdir(", directory, ")"));
  }
  RETURN_IF_ERROR(RemoveStale(path));
  UniqueFd socket(::socket(AF_UNIX, kSocketFlags, 0));
  const sockaddr_un address = ToUnixAddress(path);
  // bind(2) makes the file with the mode that the socket has by then.
  if (!socket.valid() || ::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("bind(", path, ")"));
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("listen(", path, ")"));
  }
  return socket;
}

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

absl::StatusOr<Addresses> Resolve(const std::string& host_and_port) {
  const size_t colon = host_and_port.rfind(':');
  std::string host = host_and_port.substr(0, colon);
  const std::string port = host_and_port.substr(colon + 1);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("listen: ", host_and_port, ": ", ::gai_strerror(error)));
  }
  return Addresses(found);
}

bool SetOption(const UniqueFd& socket, int level, int name, unsigned value) {
  return ::setsockopt(socket.get(), level, name, &value, sizeof(value)) == 0;
}

absl::StatusOr<UniqueFd> OpenTcp(const addrinfo& address,
                                 const std::string& host_and_port) {
  UniqueFd socket(::socket(address.ai_family, kSocketFlags, 0));
  // Accepted connections inherit TCP_NODELAY and TCP_USER_TIMEOUT.
  if (!socket.valid() || !SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1) ||
      !SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1) ||
      !SetOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMillis) ||
      ::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return errno == EADDRINUSE
               ? InUse(host_and_port)
               : absl::ErrnoToStatus(
                     errno, absl::StrCat("listen(", host_and_port, ")"));
  }
  return socket;
}

absl::StatusOr<std::vector<UniqueFd>> OpenAllTcp(
    const std::string& host_and_port) {
  ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host_and_port));
  std::vector<UniqueFd> sockets;
  absl::Status failure;
  for (const addrinfo* address = addresses.get(); address != nullptr;
       address = address->ai_next) {
    absl::StatusOr<UniqueFd> socket = OpenTcp(*address, host_and_port);
    if (socket.ok()) {
      sockets.push_back(*std::move(socket));
    } else if (!absl::IsAlreadyExists(failure)) {
      failure = socket.status();
    }
  }
  // One of several addresses may fail, for example if IPv6 is switched off.
  if (sockets.empty() || absl::IsAlreadyExists(failure)) {
    return failure;
  }
  return sockets;
}

// Returns the bytes of the socket's address, for comparison.
std::string NameOf(const UniqueFd& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address),
                    &size) != 0) {
    return "";
  }
  return std::string(reinterpret_cast<const char*>(&address), size);
}

// Returns the path of a Unix socket; empty for other sockets.
std::string PathOf(const UniqueFd& socket) {
  const std::string name = NameOf(socket);
  sockaddr_un address = {};
  std::memcpy(&address, name.data(), std::min(name.size(), sizeof(address)));
  return address.sun_family == AF_UNIX ? address.sun_path : "";
}

bool ListenOn(const std::vector<UniqueFd>& sockets,
              const ListenAddress& address) {
  if (sockets.empty()) {
    return false;
  }
  if (address.is_socket()) {
    struct stat info = {};
    return PathOf(sockets[0]) == address.socket_path &&
           ::lstat(address.socket_path.c_str(), &info) == 0 &&
           S_ISSOCK(info.st_mode);
  }
  const absl::StatusOr<Addresses> addresses = Resolve(address.host_and_port);
  return addresses.ok() &&
         std::all_of(
             sockets.begin(), sockets.end(),
             [&addresses](const UniqueFd& socket) {
               const std::string name = NameOf(socket);
               const addrinfo* wanted = addresses->get();
               while (wanted != nullptr &&
                      name != absl::string_view(reinterpret_cast<const char*>(
                                                    wanted->ai_addr),
                                                wanted->ai_addrlen)) {
                 wanted = wanted->ai_next;
               }
               return wanted != nullptr;
             });
}

}  // namespace

absl::StatusOr<ListeningSockets> ListeningSockets::Open(
    const ListenAddress& address) {
  std::vector<UniqueFd> sockets;
  if (address.is_socket()) {
    ASSIGN_OR_RETURN(UniqueFd socket, OpenUnix(address.socket_path));
    sockets.push_back(std::move(socket));
  } else {
    ASSIGN_OR_RETURN(sockets, OpenAllTcp(address.host_and_port));
  }
  return ListeningSockets(address.socket_path, std::move(sockets));
}

absl::StatusOr<ListeningSockets> ListeningSockets::Adopt(
    const ListenAddress& address, std::vector<UniqueFd> sockets) {
  if (ListenOn(sockets, address)) {
    return ListeningSockets(address.socket_path, std::move(sockets));
  }
  Discard(address, sockets);
  return absl::FailedPreconditionError(
      "the predecessor listened on another address");
}

void ListeningSockets::Discard(const ListenAddress& address,
                               const std::vector<UniqueFd>& sockets) {
  for (const UniqueFd& socket : sockets) {
    const std::string path = PathOf(socket);
    if (!path.empty() && path != address.socket_path) {
      ::unlink(path.c_str());
    }
  }
}

ListeningSockets::~ListeningSockets() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
  }
}

ListeningSockets::ListeningSockets(ListeningSockets&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      sockets_(std::move(other.sockets_)) {}

std::vector<int> ListeningSockets::fds() const {
  std::vector<int> fds;
  fds.reserve(sockets_.size());
  for (const UniqueFd& socket : sockets_) {
    fds.push_back(socket.get());
  }
  return fds;
}

}  // namespace server

#include "bridge/mcp/http/loopback_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace bridge {
namespace {

// The columns of /proc/net/tcp; see proc_net_tcp.txt of the kernel.
constexpr size_t kLocal = 1;
constexpr size_t kRemote = 2;
constexpr size_t kState = 3;
constexpr size_t kUser = 7;
// A socket that was closed has no user any more, and the table shows 0.
constexpr char kEstablished[] = "01";

// An end of a connection as the table shows it: the words of the address as
// this machine stores them, and the port.
std::string Format(const sockaddr_storage& end) {
  std::string text;
  uint16_t port = 0;
  const auto append = [&text](const void* address, size_t size) {
    for (size_t at = 0; at < size; at += sizeof(uint32_t)) {
      uint32_t word = 0;
      std::memcpy(&word, static_cast<const char*>(address) + at, sizeof(word));
      absl::StrAppendFormat(&text, "%08X", word);
    }
  };
  if (end.ss_family == AF_INET6) {
    const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(&end);
    append(&v6.sin6_addr, sizeof(v6.sin6_addr));
    port = ntohs(v6.sin6_port);
  } else {
    const auto& v4 = *reinterpret_cast<const sockaddr_in*>(&end);
    append(&v4.sin_addr, sizeof(v4.sin_addr));
    port = ntohs(v4.sin_port);
  }
  return absl::StrCat(text, absl::StrFormat(":%04X", port));
}

std::optional<uint32_t> FindUser(const std::string& table,
                                 const std::string& local,
                                 const std::string& remote) {
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> columns = absl::StrSplit(
        absl::StripAsciiWhitespace(line), ' ', absl::SkipEmpty());
    uint32_t user = 0;
    if (columns.size() > kUser && columns[kLocal] == local &&
        columns[kRemote] == remote && columns[kState] == kEstablished &&
        absl::SimpleAtoi(columns[kUser], &user)) {
      return user;
    }
  }
  return std::nullopt;
}

}  // namespace

absl::Status CheckLoopbackPeer(const sockaddr_storage& client,
                               const sockaddr_storage& server) {
  const std::optional<uint32_t> user = FindUser(
      client.ss_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp",
      Format(client), Format(server));
  if (user.has_value() && (*user == 0 || *user == ::geteuid())) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      "without a token, only programs of the same user are served");
}

}  // namespace bridge

#include "sandbox/base/peer_process.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

// SO_PEERPIDFD, since Linux 6.5. Debian 12 does not declare it.
constexpr int kPeerPidfd = 77;

UniqueFd OpenPeer(int connection, pid_t pid) {
  int pidfd = -1;
  socklen_t size = sizeof(pidfd);
  if (::getsockopt(connection, SOL_SOCKET, kPeerPidfd, &pidfd, &size) == 0) {
    return UniqueFd(pidfd);
  }
  // On an older kernel, the pid may have been reused since the connection was
  // made.
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

bool IsFromBelow(int connection) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return true;
  }
  if (peer.pid == 0) {
    return false;  // it lives in a namespace above or beside
  }
  const UniqueFd pidfd = OpenPeer(connection, peer.pid);
  const absl::StatusOr<std::string> info =
      ReadSmallFile(absl::StrCat("/proc/self/fdinfo/", pidfd.get()));
  if (!pidfd.valid() || !info.ok()) {
    return true;
  }
  for (absl::string_view line : absl::StrSplit(*info, '\n')) {
    // One number for each pid namespace from the caller's on. Of a process that
    // has ended: -1.
    if (absl::ConsumePrefix(&line, "NSpid:\t")) {
      return line != absl::StrCat(peer.pid);
    }
  }
  return true;
}

}  // namespace sandbox

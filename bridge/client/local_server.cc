#include "bridge/client/local_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bridge/client/detached_process.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"

namespace client {
namespace {

using sandbox::UniqueFd;

constexpr absl::Duration kConnectInterval = absl::Milliseconds(5);
constexpr off_t kLogExcerpt = 2000;

// Makes the socket's directory, which is corrald's own. Its parent must exist.
absl::Status MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdir(", path, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags) {
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open(", path, ")"));
  }
  return file;
}

absl::Status Lock(const UniqueFd& file) {
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "flock(corrald.lock)");
    }
  }
  return absl::OkStatus();
}

// The words that start `program`. It leaves the working directory, so its path
// is absolute.
std::vector<std::string> CommandOf(const std::string& program,
                                   const std::string& socket_path) {
  std::vector<std::string> words = {program, "--listen",
                                    absl::StrCat("unix:", socket_path),
                                    "--idle-exit-seconds", "600"};
  const char* const config = std::getenv("CORRAL_CONFIG");
  if (config != nullptr && *config != '\0') {
    char path[PATH_MAX];
    words.insert(
        words.end(),
        {"--config", ::realpath(config, path) == nullptr ? config : path});
  }
  return words;
}

// The end of what the server logged since `begin`.
std::string LogExcerpt(const UniqueFd& log, off_t begin) {
  const off_t end = ::lseek(log.get(), 0, SEEK_END);
  if (end - begin > kLogExcerpt) {
    begin = end - kLogExcerpt;
  }
  std::string text(end > begin ? end - begin : 0, '\0');
  const ssize_t size = ::pread(log.get(), text.data(), text.size(), begin);
  text.resize(size > 0 ? size : 0);
  return std::string(absl::StripTrailingAsciiWhitespace(text));
}

// True if the process ended within `wait`.
bool EndsWithin(const UniqueFd& process, absl::Duration wait) {
  pollfd item = {process.get(), POLLIN, 0};
  const timespec timeout = absl::ToTimespec(wait);
  return ::ppoll(&item, 1, &timeout, nullptr) == 1;
}

absl::Status WaitUntilListening(const std::string& socket_path,
                                const UniqueFd& process, absl::Time deadline) {
  while (absl::Now() < deadline) {
    ASSIGN_OR_RETURN(const bool listening, IsListening(socket_path));
    if (listening) {
      return absl::OkStatus();
    }
    // Only a connection shows whether a socket is listened to, so this loop
    // connects again and again. The wait ends early if the server dies.
    if (EndsWithin(process, kConnectInterval)) {
      return absl::UnavailableError("it ended");
    }
  }
  return absl::UnavailableError("it did not begin to listen in time");
}

}  // namespace

absl::StatusOr<bool> IsListening(const std::string& socket_path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(
        absl::StrCat(socket_path, ": too long for the path of a socket"));
  }
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const UniqueFd connection(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.valid()) {
    return absl::ErrnoToStatus(errno, "socket");
  }
  if (::connect(connection.get(), reinterpret_cast<sockaddr*>(&address),
                sizeof address) == 0 ||
      errno == EAGAIN) {
    return true;
  }
  if (errno == ENOENT || errno == ECONNREFUSED) {
    return false;
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("connect(", socket_path, ")"));
}

absl::StatusOr<std::string> NeighbouringServer() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  if (size < 0) {
    return absl::ErrnoToStatus(errno, "readlink(/proc/self/exe)");
  }
  const absl::string_view path(self, size);
  const std::string program =
      absl::StrCat(path.substr(0, path.rfind('/')), "/corrald");
  if (::access(program.c_str(), X_OK) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot start a server: access(",
                                               program,
                                               "): ", std::strerror(errno)));
  }
  return program;
}

absl::Status EnsureLocalServer(const std::string& socket_path,
                               const std::string& program,
                               absl::Time deadline) {
  const std::string directory = socket_path.substr(0, socket_path.rfind('/'));
  RETURN_IF_ERROR(MakeDirectory(directory));
  ASSIGN_OR_RETURN(
      UniqueFd lock,
      OpenFile(absl::StrCat(directory, "/corrald.lock"), O_RDWR | O_CREAT));
  RETURN_IF_ERROR(Lock(lock));
  ASSIGN_OR_RETURN(const bool listening, IsListening(socket_path));
  if (listening) {
    return absl::OkStatus();
  }
  const std::string log_path = absl::StrCat(directory, "/corrald.log");
  ASSIGN_OR_RETURN(UniqueFd log,
                   OpenFile(log_path, O_RDWR | O_CREAT | O_APPEND));
  const off_t log_begin = ::lseek(log.get(), 0, SEEK_END);
  const absl::StatusOr<UniqueFd> process =
      StartDetached(CommandOf(program, socket_path), log);
  if (!process.ok()) {
    return absl::UnavailableError(process.status().message());
  }
  const absl::Status started =
      WaitUntilListening(socket_path, *process, deadline);
  if (!started.ok()) {
    return absl::UnavailableError(
        absl::StrCat("started ", program, ", but ", started.message(), "; see ",
                     log_path, "\n", LogExcerpt(log, log_begin)));
  }
  return absl::OkStatus();
}

}  // namespace client

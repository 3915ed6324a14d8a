#include "server/acquisition.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/handover.h"

namespace server {
namespace {

using Sockets = absl::StatusOr<std::vector<sandbox::UniqueFd>>;

// Asks a predecessor for its sockets, and opens the state directory. Repeats
// that while another server has the directory.
absl::StatusOr<std::unique_ptr<StateDirectory>> OpenAsSuccessor(
    const std::string& path, int attempts, Sockets* sockets) {
  for (int attempt = 1;; ++attempt) {
    if (!sockets->ok()) {
      *sockets = TakeOver(path);
    }
    if (!sockets->ok() && !absl::IsNotFound(sockets->status())) {
      return sockets->status();
    }
    absl::StatusOr<std::unique_ptr<StateDirectory>> state =
        StateDirectory::Open(path);
    if (!absl::IsUnavailable(state.status()) || attempt >= attempts) {
      return state;
    }
    std::this_thread::sleep_for(
        std::chrono::milliseconds(kAcquisitionIntervalMillis));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateDirectory>> Acquire(
    const corral::config::v1::ServerConfig& config, Listener* listener) {
  ASSIGN_OR_RETURN(std::unique_ptr<StateDirectory> state,
                   StateDirectory::Open(config.state_dir()));
  // Listens after locking the state directory, so that only one of two servers
  // that start at the same time touches the socket.
  RETURN_IF_ERROR(listener->Listen());
  return state;
}

absl::StatusOr<std::unique_ptr<StateDirectory>> AcquireFromPredecessor(
    const corral::config::v1::ServerConfig& config, int attempts,
    Listener* listener) {
  const absl::Status opened = listener->Listen();
  if (!opened.ok() && !absl::IsAlreadyExists(opened)) {
    return opened;
  }
  Sockets sockets = absl::NotFoundError("no predecessor was asked");
  ASSIGN_OR_RETURN(std::unique_ptr<StateDirectory> state,
                   OpenAsSuccessor(config.state_dir(), attempts, &sockets));
  if (sockets.ok()) {
    RETURN_IF_ERROR(listener->Adopt(*std::move(sockets)));
  } else if (!opened.ok()) {
    RETURN_IF_ERROR(listener->Listen());
  }
  return state;
}

}  // namespace server

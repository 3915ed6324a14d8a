#include "server/acquisition.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/handover.h"

namespace server {
namespace {

using Sockets = absl::StatusOr<std::vector<sandbox::UniqueFd>>;

using State = absl::StatusOr<std::unique_ptr<StateDirectory>>;

// Opens the state directory, again while another server has it. Calls `ask`
// before each attempt.
State OpenPatiently(const std::string& path, int attempts,
                    absl::FunctionRef<absl::Status()> ask) {
  for (int attempt = 1;; ++attempt) {
    RETURN_IF_ERROR(ask());
    State state = StateDirectory::Open(path);
    if (!absl::IsUnavailable(state.status()) || attempt >= attempts) {
      return state;
    }
    std::this_thread::sleep_for(
        std::chrono::milliseconds(kAcquisitionIntervalMillis));
  }
}

// Asks a predecessor for its sockets, unless it has given them already. OK if
// there is none.
absl::Status Ask(const std::string& path, Sockets* sockets) {
  if (!sockets->ok()) {
    *sockets = TakeOver(path);
  }
  return absl::IsNotFound(sockets->status()) ? absl::OkStatus()
                                             : sockets->status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateDirectory>> Acquire(
    const corral::config::v1::ServerConfig& config, int attempts,
    Listener* listener) {
  ASSIGN_OR_RETURN(std::unique_ptr<StateDirectory> state,
                   OpenPatiently(config.state_dir(), attempts,
                                 [] { return absl::OkStatus(); }));
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
                   OpenPatiently(config.state_dir(), attempts, [&] {
                     return Ask(config.state_dir(), &sockets);
                   }));
  if (sockets.ok()) {
    RETURN_IF_ERROR(listener->Adopt(*std::move(sockets)));
  } else if (!opened.ok()) {
    RETURN_IF_ERROR(listener->Listen());
  }
  return state;
}

}  // namespace server

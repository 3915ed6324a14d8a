#include "server/acquisition.h"

#include <chrono>
#include <optional>
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

// Opens the address of a successor before its predecessor gives way.
class EarlyListening {
 public:
  explicit EarlyListening(Listener* listener) : listener_(listener) {}

  // Tries it once. OK if another server has the address, since that should be
  // the predecessor.
  absl::Status Try() {
    if (!opened_.has_value()) {
      opened_ = listener_->Listen();
    }
    return error();
  }
  // Why the address can never be opened.
  absl::Status error() const {
    return !opened_.has_value() || absl::IsAlreadyExists(*opened_)
               ? absl::OkStatus()
               : *opened_;
  }
  // The predecessor has ended without giving its sockets.
  absl::Status Finish() {
    return opened_.has_value() && opened_->ok() ? absl::OkStatus()
                                                : listener_->Listen();
  }

 private:
  Listener* const listener_;
  std::optional<absl::Status> opened_;
};

// Asks a predecessor for its sockets, unless it has given them already. OK if
// there is none.
absl::Status Ask(const std::string& path, EarlyListening& listening,
                 Sockets* sockets) {
  if (sockets->ok()) {
    return absl::OkStatus();
  }
  // A predecessor that awaits successors has opened its own address; one that
  // only starts would miss it.
  *sockets = TakeOver(path, [&listening] { return listening.Try(); });
  RETURN_IF_ERROR(listening.error());
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
  EarlyListening listening(listener);
  Sockets sockets = absl::NotFoundError("no predecessor was asked");
  ASSIGN_OR_RETURN(std::unique_ptr<StateDirectory> state,
                   OpenPatiently(config.state_dir(), attempts, [&] {
                     return Ask(config.state_dir(), listening, &sockets);
                   }));
  RETURN_IF_ERROR(sockets.ok() ? listener->Adopt(*std::move(sockets))
                               : listening.Finish());
  return state;
}

}  // namespace server

// Acquires what only one server at a time can have: the state directory and the
// listening address.

#ifndef SERVER_ACQUISITION_H_
#define SERVER_ACQUISITION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "server/core/state_directory.h"
#include "server/net/listener.h"

namespace server {

// Opens the state directory, and lets `listener` listen. Unavailable: another
// server has the directory; then the address is not touched. Other errors: see
// StateDirectory::Open and Listener::Listen.
//
// A child that a killed server was just starting holds the directory until it
// executes its program. So there are up to `attempts` attempts, at intervals of
// kAcquisitionIntervalMillis. Blocks.
absl::StatusOr<std::unique_ptr<StateDirectory>> Acquire(
    const corral::config::v1::ServerConfig& config, int attempts,
    Listener* listener);

// Does the same, but takes both from a predecessor if there is one: see
// TakeOver. Whatever can fail is tried before the predecessor is asked, as far
// as possible. The address is not touched before the predecessor awaits
// successors, or the directory is locked. Another server that is just starting
// or stopping neither answers nor unlocks the directory; so there are up to
// `attempts` attempts, at intervals of kAcquisitionIntervalMillis. Blocks.
absl::StatusOr<std::unique_ptr<StateDirectory>> AcquireFromPredecessor(
    const corral::config::v1::ServerConfig& config, int attempts,
    Listener* listener);

inline constexpr int kAcquisitionIntervalMillis = 20;

}  // namespace server

#endif  // SERVER_ACQUISITION_H_

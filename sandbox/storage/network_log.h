// The network events of a sandbox, as its supervisor keeps them: the files
// network.log and, with the events before, network.log.old. Each event is a
// little-endian u32, its size, and the message.
//
// The size is bounded: at kMaxFile bytes the log becomes the old one, and the
// old one goes.

#ifndef SANDBOX_STORAGE_NETWORK_LOG_H_
#define SANDBOX_STORAGE_NETWORK_LOG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/egress/v1/egress.pb.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

// Not thread-safe.
class NetworkLog {
 public:
  // Makes an empty log in `directory`.
  static absl::StatusOr<NetworkLog> Create(const std::string& directory);

  // Appends the event with the next number, the first of which is 1. An event
  // that cannot be written is lost, and its number is missing.
  absl::Status Append(::corral::egress::v1::Event event);

  static constexpr size_t kMaxFile = 1 << 20;

 private:
  NetworkLog(std::string path, UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}

  absl::Status Rotate();

  std::string path_;
  UniqueFd file_;
  size_t size_ = 0;
  uint64_t next_number_ = 1;
};

// Returns the kept events with a number above `after`, in order, at most
// `most`. Empty if there is no log. May be called while the log is written.
// Blocks on the disk.
absl::StatusOr<std::vector<::corral::egress::v1::Event>> ReadNetworkLog(
    const std::string& directory, uint64_t after, size_t most);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_NETWORK_LOG_H_

// The network events of a sandbox on disk. The supervisor writes them; corrald
// reads them.
//
// There are two files: network.log, and network.log.old with the events before
// it. Each event is a little-endian u32, the size of the message, followed by
// the serialized message. Before network.log would exceed kMaxFile bytes, it
// is renamed to network.log.old, which replaces the earlier one.

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
  // Makes an empty log in `directory`; empties the one that is there.
  static absl::StatusOr<NetworkLog> Create(const std::string& directory);

  // Appends the event with the next number, from 1 on. An event that cannot be
  // written is lost; its number is not used again, so a reader sees the loss.
  absl::Status Append(::corral::egress::v1::Event event);

  // The size of one file, in bytes.
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

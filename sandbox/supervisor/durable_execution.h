// Makes an execution survive a crash of the host, in two steps. The second is
// taken only after the first has succeeded: an end whose header says `synced`
// is then true, and all output that was written before it is on the disk.
//
// Each step blocks on the disk. Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_DURABLE_EXECUTION_H_
#define SANDBOX_SUPERVISOR_DURABLE_EXECUTION_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

class DurableExecution {
 public:
  // Opens the files of the execution whose file is `path`. Fails with NotFound
  // if it was deleted.
  static absl::StatusOr<DurableExecution> Open(const std::string& path);
  // The same for one whose streams hold no bytes.
  static absl::StatusOr<DurableExecution> OpenWithoutOutput(
      const std::string& path);

  // Syncs the records and the output. With `rewrite` the pages of the file, in
  // which `end` is the record of the end, and of the others are written again
  // first: after a failed sync the kernel treats data that it could not write
  // as written. `end` is empty: there is no end yet, and only the record of the
  // start matters.
  absl::Status SyncFiles(const std::string& end, bool rewrite) const;

  // True if the streams hold bytes. Without any, the seal of its record proves
  // an end complete: it needs no SyncFiles() before Confirm().
  bool has_output() const { return ends_[0] + ends_[1] > 0; }

  // Stores `synced`, and syncs that with the records.
  absl::Status Confirm() const;

 private:
  DurableExecution() = default;
  absl::Status Rewrite(const std::string& end) const;

  UniqueFd file_;
  // The end offsets of the logs when the files were opened, by their numbers,
  // and the files with bytes after the windows. Invalid: there are none.
  std::array<uint64_t, 2> ends_ = {};
  std::array<UniqueFd, 2> rests_;
};

// Opens a directory for SyncNames().
absl::StatusOr<UniqueFd> OpenDirectory(const std::string& path);
// Syncs the names in a directory.
absl::Status SyncNames(const UniqueFd& directory);
// Syncs a file.
absl::Status SyncFile(const std::string& path);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_DURABLE_EXECUTION_H_

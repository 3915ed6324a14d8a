// Makes an execution survive a crash of the host, in two steps. The second is
// taken only after the first has succeeded: an end whose header says `synced`
// is then true, and all output that was written before it is on the disk.
// Without output there is no second step, since the seal proves an end true.
//
// Each step blocks on the disk. Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_DURABLE_EXECUTION_H_
#define SANDBOX_SUPERVISOR_DURABLE_EXECUTION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"

namespace sandbox {

class DurableExecution {
 public:
  // Opens the files of the execution whose file is `path`. Fails with NotFound
  // if it was deleted.
  static absl::StatusOr<DurableExecution> Open(const std::string& path);
  // The same for one whose streams hold no bytes.
  static absl::StatusOr<DurableExecution> OpenWithoutOutput(
      const std::string& path);
  // The same with the file, which is open.
  static DurableExecution WithoutOutput(
      std::shared_ptr<const ExecutionFile> file);

  // Syncs the records and the output. With `rewrite` the pages of the file, in
  // which `end` is the record of the end, and of the others are written again
  // first: after a failed sync the kernel treats data that it could not write
  // as written. `end` is empty: there is no end yet, and only the record of the
  // start matters.
  absl::Status SyncFiles(const std::string& end, bool rewrite) const;

  // Stores `synced`, and syncs that with the records.
  absl::Status Confirm() const;

 private:
  DurableExecution() = default;
  absl::Status Rewrite(const std::string& end) const;

  int fd() const { return shared_ == nullptr ? file_.get() : shared_->fd(); }

  // One of these.
  UniqueFd file_;
  std::shared_ptr<const ExecutionFile> shared_;
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

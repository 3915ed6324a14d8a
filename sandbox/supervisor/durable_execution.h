// Makes what an execution has on disk survive the death of the host, in steps
// that are each to be taken after the one before has succeeded. An exit.pb that
// is found is then true, and all output that was written before it is there.
//
// Each step blocks on the disk. Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_DURABLE_EXECUTION_H_
#define SANDBOX_SUPERVISOR_DURABLE_EXECUTION_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

class DurableExecution {
 public:
  // NotFound: it was deleted.
  static absl::StatusOr<DurableExecution> Open(const std::string& directory);

  // start.pb, and when `end`, the content of exit.pb.new, is not empty, the
  // logs and that. With `rewrite` everything is written first as it is, or as
  // it should be: after a sync that failed the kernel takes what it could not
  // write for written.
  absl::Status SyncFiles(const std::string& end, bool rewrite) const;

  // Renames exit.pb.new to exit.pb.
  absl::Status Publish() const;

  // The directory and its entry in the one above.
  absl::Status SyncDirectory() const;

 private:
  explicit DurableExecution(UniqueFd directory)
      : directory_(std::move(directory)) {}
  absl::Status SyncLog(const char* name, bool rewrite) const;
  absl::Status SyncEnd(const std::string& end, bool rewrite) const;

  UniqueFd directory_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_DURABLE_EXECUTION_H_

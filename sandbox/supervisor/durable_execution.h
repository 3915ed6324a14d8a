// Makes the files of an execution survive a crash of the host, in three steps.
// Each step must succeed before the next. An exit.pb that exists is then true,
// and all output that was written before it is on the disk.
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
  // Fails with NotFound if the execution was deleted.
  static absl::StatusOr<DurableExecution> Open(const std::string& directory);

  // Syncs start.pb and, unless `end` is empty, the logs and exit.pb.new, whose
  // content is `end`. With `rewrite`, writes everything again first: after a
  // failed sync the kernel treats data that it could not write as written.
  absl::Status SyncFiles(const std::string& end, bool rewrite) const;

  // Renames exit.pb.new to exit.pb.
  absl::Status Publish() const;

  // Syncs the directory and its entry in the directory above.
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

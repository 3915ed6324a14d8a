// The files of an execution: one with its two records and the begin of its
// output, and others beside it that are made only when they are needed. See
// sandbox/storage/execution_layout.h.
//
// The file is made ahead and renamed when an execution needs it. Without a
// record of the start it belongs to no execution. Nothing is synced here: see
// record_sync.h.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_EXECUTION_FILES_H_
#define SANDBOX_SUPERVISOR_EXECUTION_FILES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class ExecutionFiles {
 public:
  ExecutionFiles() = default;

  // Makes the file `parent`/`name`. Fails with AlreadyExists if there is one.
  // On failure nothing is left.
  static absl::StatusOr<ExecutionFiles> Create(const std::string& parent,
                                               const std::string& name);

  // False for a default-constructed or removed one.
  bool valid() const { return !path_.empty(); }

  // Fails with AlreadyExists if `name` exists. Call it before Log().
  absl::Status Rename(const std::string& parent, const std::string& name);

  // Returns the log of a stream. Call it once for each stream, and before
  // WriteEnd().
  OutputLogWriter Log(wire::Stream stream) const {
    return OutputLogWriter(file_, stream);
  }

  // False if no stream has had a byte. Call it before the end is written.
  bool has_output() const;

  // True once the record of the end is in the file.
  bool complete() const { return valid() && file_ == nullptr; }

  // The path of the file.
  const std::string& path() const { return path_; }

  // Writes the record of the start, without the command's argv and environment,
  // since `original` has them. Call it once, and before WriteEnd().
  absl::Status WriteStart(wire::ExecutionRecord record);
  // Writes the sealed record of the end, and gives the file away. May be tried
  // again until it succeeds.
  absl::StatusOr<std::shared_ptr<ExecutionFile>> WriteEnd(
      const std::string& sealed);

  // Removes all files. The streams of `record` tell which ones there may be.
  // After an error something is left, and the caller may try again.
  absl::Status Remove(const wire::ExecutionRecord& record);
  // The same for the execution whose file is `path`.
  static absl::Status Remove(const std::string& path,
                             const wire::ExecutionRecord& record);

 private:
  std::string path_;
  // Until the end is written.
  std::shared_ptr<ExecutionFile> file_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_EXECUTION_FILES_H_

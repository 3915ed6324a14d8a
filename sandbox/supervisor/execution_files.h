// The files of an execution: a directory with its two records and its logs.
//
// Creating five files takes longer than starting a program, so a set is made
// ahead and renamed when an execution needs it. A set without start.pb belongs
// to no execution. Nothing is synced here: see record_sync.h.
//
// Not thread-safe.

#ifndef SANDBOX_SUPERVISOR_EXECUTION_FILES_H_
#define SANDBOX_SUPERVISOR_EXECUTION_FILES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

class ExecutionFiles {
 public:
  ExecutionFiles() = default;

  // Makes a set in the directory `parent`/`name`, which must not exist, with
  // the logs STDOUT and STDERR, or TERMINAL. On failure nothing is left.
  static absl::StatusOr<ExecutionFiles> Create(const std::string& parent,
                                               const std::string& name,
                                               bool terminal);

  // False for a default-constructed or removed one.
  bool valid() const { return !directory_.empty(); }

  // Fails with AlreadyExists if `name` exists.
  absl::Status Rename(const std::string& parent, const std::string& name);

  // The log is the caller's from now on. Once for each stream.
  OutputLogWriter TakeLog(wire::Stream stream);
  void CloseUntakenLogs() { logs_.clear(); }

  // The path of the directory.
  const std::string& directory() const { return directory_; }
  std::string LogPath(wire::Stream stream) const;

  // Writes start.pb, without the command's argv and environment, since
  // `original` has them. Call it once.
  absl::Status WriteStart(wire::ExecutionRecord record);
  // Writes exit.pb.new with the sealed record. May be tried again until it
  // succeeds.
  absl::Status WriteEnd(const std::string& sealed);

  // Removes the directory. After an error something is left, and the caller may
  // try again.
  absl::Status Remove();

 private:
  std::string directory_;
  UniqueFd start_;
  UniqueFd end_;
  std::map<wire::Stream, OutputLogWriter> logs_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_EXECUTION_FILES_H_

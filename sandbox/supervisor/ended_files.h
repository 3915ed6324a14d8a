// The files of an execution that has ended tell all that its command would
// report. They are listed and read when somebody asks, which is seldom.
//
// Thread-safe. Blocks on the disk.

#ifndef SANDBOX_SUPERVISOR_ENDED_FILES_H_
#define SANDBOX_SUPERVISOR_ENDED_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// Returns the ids of all executions that have a file in `directory`, whether
// they have ended or not. Some may never have begun.
absl::StatusOr<std::vector<std::string>> ListExecutions(
    const std::string& directory);

// Returns the report of the execution `id`: the record of its end, with what
// its logs hold now. Fails with NotFound if it has no file. Any other error
// says that it cannot be read now.
absl::StatusOr<wire::ExecutionRecord> ReadEnded(const std::string& directory,
                                                const std::string& id);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_ENDED_FILES_H_

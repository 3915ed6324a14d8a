// The files of a sandbox's executions, as the server reads them. The supervisor
// writes them: see sandbox/storage/execution_layout.h. Those of a supervisor
// that an earlier Corral started are in a directory for each execution.
//
//   <sandbox>/executions/<id>
//
// Thread-safe. Everything blocks on the disk, except ExecutionPath().

#ifndef SERVER_CORE_EXECUTION_RECORDS_H_
#define SERVER_CORE_EXECUTION_RECORDS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"

namespace server {

std::string ExecutionPath(absl::string_view sandbox_path,
                          absl::string_view execution);

// Returns all names in the directory of executions, also those that are no ids.
// The first execution makes that directory: without it there is none.
absl::StatusOr<std::vector<std::string>> ListExecutionNames(
    const std::string& sandbox_path);

// Reads the records of each execution whose id `wanted` admits, one execution
// at a time, and passes them to `visit` as one. The state STARTING means that
// no end was written. An execution whose record of the start is absent or torn
// never began and is left out. With `host_went_down` an end with output counts
// only if it was synced: some of that output may be missing.
//
// Returns an error if at least one file could not be read. Its execution was
// left out or visited without its end, which then says nothing about it.
absl::Status ReadExecutionRecords(
    const std::string& sandbox_path, bool host_went_down,
    absl::FunctionRef<bool(const std::string& id)> wanted,
    absl::FunctionRef<void(const corral::supervisor::v1::ExecutionRecord&)>
        visit);

// Returns the command as the client sent it. Fails with NotFound if the record
// of the start is absent or torn.
absl::StatusOr<corral::v1::Command> ReadCommand(
    const std::string& execution_path);

// Returns true if there is an execution of this id, or if that cannot be found
// out.
bool IsRecorded(const std::string& sandbox_path, absl::string_view execution);

// Removes all files of an execution. May be repeated after an error.
absl::Status RemoveExecution(const std::string& execution_path);

// Removes what is left of deleted executions. With `never_begun` also
// executions that never began; then there must be no supervisor. Failures are
// logged.
void RemoveLeftoverExecutions(const std::string& sandbox_path,
                              bool never_begun);

// Cuts the logs of a sandbox whose host went down. After an error some logs are
// not cut; it may be called again.
absl::Status CutLogs(const std::string& sandbox_path);

}  // namespace server

#endif  // SERVER_CORE_EXECUTION_RECORDS_H_

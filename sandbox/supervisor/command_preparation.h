// Makes everything that a command needs before it is started.
//
// Used on the event loop's thread only.

#ifndef SANDBOX_SUPERVISOR_COMMAND_PREPARATION_H_
#define SANDBOX_SUPERVISOR_COMMAND_PREPARATION_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/command_group.h"
#include "sandbox/supervisor/command_host.h"
#include "sandbox/supervisor/execution_files.h"

namespace sandbox {

struct PreparedCommand {
  // They include the record of the start, which is not synced yet.
  ExecutionFiles files;
  std::unique_ptr<CommandGroup> group;
  // The events of the group that announce a lack of memory. Invalid if nothing
  // must be done then.
  UniqueFd oom_events;
  // See CommandStreams::command.
  std::vector<UniqueFd> command_fds;
  // The supervisor's end of its standard input; invalid if it has none.
  UniqueFd input;
  struct Output {
    wire::Stream kind;
    UniqueFd source;
    OutputLogWriter log;
  };
  std::vector<Output> outputs;
};

// Writes the record of the start: `record` with the command. If it fails,
// nothing is left. Fails with STORAGE if the files could not be written, and
// with EXECUTION_EXISTS if there are files of this execution.
absl::StatusOr<PreparedCommand> PrepareCommand(
    const CommandHost& host, const wire::CommandSpec& command,
    const wire::ExecutionRecord& record);

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_COMMAND_PREPARATION_H_

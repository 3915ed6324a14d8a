#include "sandbox/supervisor/command_preparation.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/supervisor/command_streams.h"
#include "sandbox/supervisor/spawner.h"

namespace sandbox {
namespace {

absl::Status StorageError(const absl::Status& status) {
  return WithFailure(absl::IsAlreadyExists(status)
                         ? wire::Reply::EXECUTION_EXISTS
                         : wire::Reply::STORAGE,
                     status);
}

// Returns what a full log does. An unknown value drops the oldest bytes.
Overflow OverflowOf(const wire::CommandSpec& command) {
  switch (command.overflow()) {
    case wire::CommandSpec::DROP_OLDEST:
      return Overflow::kDropOldest;
    case wire::CommandSpec::BLOCK:
      return Overflow::kBlock;
    case wire::CommandSpec::HEAD_AND_TAIL:
      return Overflow::kHeadAndTail;
    case wire::CommandSpec::KILL:
      return Overflow::kKill;
    default:
      return Overflow::kDropOldest;
  }
}

// The command's streams.
absl::StatusOr<CommandStreams> OpenStreams(const CommandHost& host,
                                           const wire::CommandSpec& command) {
  const uid_t owner = host.first_id.has_value()
                          ? *host.first_id + UserIdOf(command)
                          : kSameOwner;
  return command.terminal_rows() != 0
             ? OpenTerminal(host.devpts, command.terminal_rows(),
                            command.terminal_columns(), owner)
             : OpenPipes(command.open_stdin(), command.merge_stderr(), owner);
}

// Fills `prepared`, whose files exist.
absl::Status Complete(const CommandHost& host, const wire::CommandSpec& command,
                      const wire::ExecutionRecord& record,
                      PreparedCommand* prepared) {
  ASSIGN_OR_RETURN(prepared->group, host.spares->TakeGroup());
  if (host.kill_all_on_oom) {
    ASSIGN_OR_RETURN(prepared->oom_events, prepared->group->OomEvents());
  }
  if (command.cpu_timeout_ns() > 0) {
    // Counts from now on. Fails on a host that does not count CPU time; the
    // timeout could not be enforced later.
    RETURN_IF_ERROR(prepared->group->CpuTime().status());
  }
  ASSIGN_OR_RETURN(CommandStreams streams, OpenStreams(host, command));
  prepared->command_fds = std::move(streams.command);
  prepared->input = std::move(streams.input);
  for (auto& [kind, source] : streams.outputs) {
    OutputLogWriter log = prepared->files.Log(kind);
    log.SetRetention(command.retain_bytes(), OverflowOf(command));
    prepared->outputs.push_back({kind, std::move(source), std::move(log)});
  }
  wire::ExecutionRecord start = record;
  *start.mutable_command() = command;
  return StorageError(prepared->files.WriteStart(start));
}

}  // namespace

absl::StatusOr<PreparedCommand> PrepareCommand(
    const CommandHost& host, const wire::CommandSpec& command,
    const wire::ExecutionRecord& record) {
  absl::StatusOr<ExecutionFiles> files = host.spares->TakeFiles(record.id());
  RETURN_IF_ERROR(StorageError(files.status()));
  PreparedCommand prepared;
  prepared.files = *std::move(files);
  const absl::Status completed = Complete(host, command, record, &prepared);
  if (!completed.ok()) {
    // The destructor of `prepared` removes the group. Files that cannot be
    // removed do no harm: without a start they belong to no execution.
    (void)prepared.files.Remove(record);
    return completed;
  }
  return prepared;
}

}  // namespace sandbox

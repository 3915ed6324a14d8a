#include "server/core/execution_records.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/storage/terminal_times.h"
#include "server/core/directories.h"

namespace server {
namespace {

using corral::supervisor::v1::ExecutionRecord;

constexpr char kExecutions[] = "/executions";
// In a directory of an earlier supervisor.
constexpr char kStart[] = "/start.pb";

// The record is absent or torn. Any other error says nothing about the record.
bool IsMissing(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status);
}

// No id has a dot: a file beside that of an execution, or one that was made
// ahead or is being removed.
bool IsId(absl::string_view name) { return !absl::StrContains(name, '.'); }

// Succeeds if there is no such file. Fails with FailedPrecondition if it is a
// directory.
absl::Status Unlink(const std::string& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, absl::StrCat("unlink ", path));
}

// Reads the end in a directory.
absl::Status ReadEndIn(const std::string& path, ExecutionRecord* end) {
  absl::Status result;
  // exit.pb twice, since the supervisor may rename exit.pb.new meanwhile.
  for (const char* name : {"/exit.pb", "/exit.pb.new", "/exit.pb"}) {
    const absl::Status read =
        sandbox::ReadRecord(absl::StrCat(path, name), end);
    if (read.ok()) {
      return read;
    }
    result.Update(IsMissing(read) ? absl::OkStatus() : read);
  }
  return result.ok() ? absl::NotFoundError(path) : result;
}

// False if the seal of the end alone proves that nothing of the execution is
// missing.
bool MayHaveOutput(const ExecutionRecord& end) {
  return end.exit().output_open() ||
         std::any_of(end.streams().begin(), end.streams().end(),
                     [](const corral::supervisor::v1::StreamState& stream) {
                       return stream.end() > 0;
                     });
}

// The records of one execution.
struct Records {
  ExecutionRecord start;
  // Missing if there is no end.
  absl::Status end_read;
  ExecutionRecord end;
};

absl::StatusOr<Records> ReadRecords(const std::string& path,
                                    bool host_went_down) {
  Records records;
  const auto file = sandbox::ExecutionRecords::Open(path);
  if (absl::IsFailedPrecondition(file.status())) {
    RETURN_IF_ERROR(
        sandbox::ReadRecord(absl::StrCat(path, kStart), &records.start));
    records.end_read = ReadEndIn(path, &records.end);
    return records;
  }
  RETURN_IF_ERROR(file.status());
  RETURN_IF_ERROR(file->ReadStart(&records.start));
  records.end_read = file->ReadEnd(&records.end);
  if (records.end_read.ok() && host_went_down && !file->synced() &&
      MayHaveOutput(records.end)) {
    records.end_read = absl::NotFoundError(path);
  }
  return records;
}

bool IsEndOf(const ExecutionRecord& end, const std::string& id) {
  return end.id() == id &&
         ((end.state() == ExecutionRecord::EXITED && end.has_exit()) ||
          (end.state() == ExecutionRecord::FAILED_TO_START &&
           end.has_failure()));
}

bool HasNeverBegun(const std::string& path) {
  return IsMissing(ReadRecords(path, /*host_went_down=*/false).status());
}

// Sets the start time of a command without an end. Ignores failures.
void FindStartTime(const std::string& path, ExecutionRecord* record) {
  for (const auto stream :
       {corral::supervisor::v1::STDOUT, corral::supervisor::v1::TERMINAL}) {
    const auto log = sandbox::OutputLogReader::Open(path, stream);
    if (log.ok() && log->state().ok()) {
      record->set_start_time_ns(log->state()->start_time_ns);
    }
  }
}

}  // namespace

std::string ExecutionPath(absl::string_view sandbox_path,
                          absl::string_view execution) {
  return absl::StrCat(sandbox_path, kExecutions, "/", execution);
}

absl::StatusOr<std::vector<std::string>> ListExecutionNames(
    const std::string& sandbox_path) {
  absl::StatusOr<std::vector<std::string>> names =
      ListDirectory(absl::StrCat(sandbox_path, kExecutions));
  return absl::IsNotFound(names.status()) ? std::vector<std::string>()
                                          : std::move(names);
}

absl::Status ReadExecutionRecords(
    const std::string& sandbox_path, bool host_went_down,
    absl::FunctionRef<bool(const std::string& id)> wanted,
    absl::FunctionRef<void(const ExecutionRecord&)> visit) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                   ListExecutionNames(sandbox_path));
  absl::Status status;
  for (const std::string& id : ids) {
    if (!IsId(id) || !wanted(id)) {
      continue;
    }
    const std::string path = ExecutionPath(sandbox_path, id);
    absl::StatusOr<Records> read = ReadRecords(path, host_went_down);
    if (!read.ok() || read->start.id() != id) {
      status.Update(IsMissing(read.status()) ? absl::OkStatus()
                                             : read.status());
      continue;
    }
    ExecutionRecord& record = read->start;
    if (read->end_read.ok() && IsEndOf(read->end, id)) {
      *read->end.mutable_command() = std::move(*record.mutable_command());
      *read->end.mutable_request() = std::move(*record.mutable_request());
      visit(read->end);
      continue;
    }
    status.Update(IsMissing(read->end_read) ? absl::OkStatus()
                                            : read->end_read);
    FindStartTime(path, &record);
    visit(record);
  }
  return status;
}

absl::StatusOr<corral::v1::Command> ReadCommand(
    const std::string& execution_path) {
  const absl::StatusOr<Records> read =
      ReadRecords(execution_path, /*host_went_down=*/false);
  corral::v1::Command command;
  if (IsMissing(read.status()) ||
      (read.ok() &&
       !command.ParseFromString(read->start.command().original()))) {
    return absl::NotFoundError(absl::StrCat(execution_path, " has no command"));
  }
  RETURN_IF_ERROR(read.status());
  return command;
}

bool IsRecorded(const std::string& sandbox_path, absl::string_view execution) {
  const std::string start =
      absl::StrCat(ExecutionPath(sandbox_path, execution), kStart);
  // ENOTDIR: the execution has a file.
  return ::access(start.c_str(), F_OK) == 0 || errno != ENOENT;
}

absl::Status RemoveExecution(const std::string& execution_path) {
  // First the records: without them the rest belongs to no execution.
  absl::Status removed = Unlink(execution_path);
  if (absl::IsFailedPrecondition(removed)) {
    removed = RemoveDirectory(execution_path);
  }
  for (const char* suffix :
       {sandbox::kOutputPlace.suffix, sandbox::kErrorPlace.suffix,
        sandbox::kTerminalTimes}) {
    RETURN_IF_ERROR(removed);
    removed = Unlink(absl::StrCat(execution_path, suffix));
  }
  return removed;
}

void RemoveLeftoverExecutions(const std::string& sandbox_path,
                              bool never_begun) {
  const auto names = ListExecutionNames(sandbox_path);
  if (!names.ok()) {
    LOG(ERROR) << "leftovers of executions cannot be listed: "
               << names.status().message();
    return;
  }
  const std::set<std::string> known(names->begin(), names->end());
  for (const std::string& name : *names) {
    const std::string path = ExecutionPath(sandbox_path, name);
    const bool is_of_another = known.count(name.substr(0, name.find('.'))) != 0;
    const bool leftover =
        IsBeingRemoved(name) ||
        (never_begun && (IsId(name) ? HasNeverBegun(path) : !is_of_another));
    if (!leftover) {
      continue;
    }
    const absl::Status removed =
        IsId(name) ? RemoveExecution(path) : RemoveDirectory(path);
    if (!removed.ok()) {
      LOG(ERROR) << "the leftover of an execution stays: " << removed.message();
    }
  }
}

absl::Status CutLogs(const std::string& sandbox_path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                   ListExecutionNames(sandbox_path));
  absl::Status status;
  for (const std::string& id : ids) {
    if (!IsId(id)) {
      continue;
    }
    for (const auto stream :
         {corral::supervisor::v1::STDOUT, corral::supervisor::v1::STDERR,
          corral::supervisor::v1::TERMINAL}) {
      const absl::Status cut =
          sandbox::CutOutputLog(ExecutionPath(sandbox_path, id), stream);
      // DataLoss: the file of an execution that never began.
      status.Update(IsMissing(cut) ? absl::OkStatus() : cut);
    }
  }
  return status;
}

}  // namespace server

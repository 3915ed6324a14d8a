#include "server/core/execution_records.h"

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
#include "sandbox/storage/log_names.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "server/core/directories.h"

namespace server {
namespace {

using corral::supervisor::v1::ExecutionRecord;

constexpr char kExecutions[] = "/executions";
constexpr char kStart[] = "/start.pb";

// The record is absent or torn. Any other error says nothing about the record.
bool IsMissing(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status);
}

// A name of no execution: a directory that was made ahead or is being removed.
bool IsHidden(absl::string_view name) { return absl::StartsWith(name, "."); }

bool HasNeverBegun(const std::string& path) {
  ExecutionRecord start;
  return IsMissing(sandbox::ReadRecord(absl::StrCat(path, kStart), &start));
}

bool IsEndOf(const ExecutionRecord& end, const std::string& id) {
  return end.id() == id &&
         ((end.state() == ExecutionRecord::EXITED && end.has_exit()) ||
          (end.state() == ExecutionRecord::FAILED_TO_START &&
           end.has_failure()));
}

// Returns false if no end was written, or if it cannot be read because of
// `error`.
bool ReadEnd(const std::string& path, const std::string& id,
             ExecutionRecord* end, absl::Status* error) {
  absl::Status failed;
  // exit.pb twice, since the supervisor may rename exit.pb.new meanwhile.
  for (const char* name : {"/exit.pb", "/exit.pb.new", "/exit.pb"}) {
    const absl::Status read =
        sandbox::ReadRecord(absl::StrCat(path, name), end);
    if (read.ok() && IsEndOf(*end, id)) {
      return true;
    }
    if (!IsMissing(read)) {
      failed.Update(read);
    }
  }
  error->Update(failed);
  return false;
}

// Sets the start time of a command without an end. Ignores failures.
void FindStartTime(const std::string& path, ExecutionRecord* record) {
  for (const char* name : {"/stdout", "/terminal"}) {
    const auto log = sandbox::OutputLogReader::Open(absl::StrCat(path, name));
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
    const std::string& sandbox_path,
    absl::FunctionRef<bool(const std::string& id)> wanted,
    absl::FunctionRef<void(const ExecutionRecord&)> visit) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                   ListExecutionNames(sandbox_path));
  absl::Status status;
  for (const std::string& id : ids) {
    if (IsHidden(id) || !wanted(id)) {
      continue;
    }
    const std::string path = ExecutionPath(sandbox_path, id);
    ExecutionRecord record;
    const absl::Status read =
        sandbox::ReadRecord(absl::StrCat(path, kStart), &record);
    if (!read.ok() || record.id() != id) {
      status.Update(IsMissing(read) ? absl::OkStatus() : read);
      continue;
    }
    ExecutionRecord end;
    if (ReadEnd(path, id, &end, &status)) {
      *end.mutable_command() = std::move(*record.mutable_command());
      *end.mutable_request() = std::move(*record.mutable_request());
      record = std::move(end);
    } else {
      FindStartTime(path, &record);
    }
    visit(record);
  }
  return status;
}

absl::StatusOr<corral::v1::Command> ReadCommand(
    const std::string& execution_path) {
  const std::string path = absl::StrCat(execution_path, kStart);
  ExecutionRecord start;
  const absl::Status read = sandbox::ReadRecord(path, &start);
  corral::v1::Command command;
  if (IsMissing(read) ||
      (read.ok() && !command.ParseFromString(start.command().original()))) {
    return absl::NotFoundError(absl::StrCat(path, " has no command"));
  }
  RETURN_IF_ERROR(read);
  return command;
}

void RemoveLeftoverExecutions(const std::string& sandbox_path,
                              bool never_begun) {
  const auto names = ListExecutionNames(sandbox_path);
  if (!names.ok()) {
    LOG(ERROR) << "leftovers of executions cannot be listed: "
               << names.status().message();
    return;
  }
  for (const std::string& name : *names) {
    const std::string path = ExecutionPath(sandbox_path, name);
    const bool leftover =
        IsBeingRemoved(name) ||
        (never_begun && (IsHidden(name) || HasNeverBegun(path)));
    if (!leftover) {
      continue;
    }
    const absl::Status removed = RemoveDirectory(path);
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
    for (const char* log : sandbox::kLogNames) {
      const absl::Status cut = sandbox::CutOutputLog(
          absl::StrCat(ExecutionPath(sandbox_path, id), "/", log));
      status.Update(absl::IsNotFound(cut) ? absl::OkStatus() : cut);
    }
  }
  return status;
}

}  // namespace server

#include "server/core/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "sandbox/base/log.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/log_names.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"

namespace server {
namespace {

using corral::supervisor::v1::DeleteSandbox;
using corral::supervisor::v1::ExecutionRecord;
using corral::supervisor::v1::SandboxEnd;
using corral::supervisor::v1::SandboxSpec;
using sandbox::UniqueFd;

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
constexpr char kSpec[] = "/spec.pb";
constexpr char kDeletion[] = "/deleting.pb";
constexpr char kFailure[] = "/failure.pb";
constexpr char kControl[] = "control.sock";
constexpr char kExecutions[] = "/executions";
// No id begins so.
constexpr char kRemoved[] = ".removed-";

absl::Status Failed(absl::string_view what, absl::string_view path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, "(", path, ")"));
}

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags) {
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return Failed("open", path);
  }
  return file;
}

// Makes `path` for its owner alone, and what is missing above it for all.
absl::Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      error);
  if (error) {
    errno = error.value();
    return Failed("mkdir", path);
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed("mkdir", path);
  }
  return absl::OkStatus();
}

absl::Status SyncDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd directory,
                   OpenFile(path, O_RDONLY | O_DIRECTORY));
  return ::fsync(directory.get()) == 0 ? absl::OkStatus()
                                       : Failed("fsync", path);
}

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    errno = error.value();
    return Failed("remove", path);
  }
  return absl::OkStatus();
}

// Takes a directory from its place. What an earlier one of this name left goes.
absl::Status TakeAway(const std::string& path, const std::string& removed) {
  if (path == removed || ::rename(path.c_str(), removed.c_str()) == 0 ||
      errno == ENOENT) {
    return absl::OkStatus();
  }
  if (errno == ENOTEMPTY || errno == EEXIST) {
    RETURN_IF_ERROR(RemoveTree(removed));
    if (::rename(path.c_str(), removed.c_str()) == 0) {
      return absl::OkStatus();
    }
  }
  return Failed("rename", path);
}

// Reads a record. This version seals it; the version before wrote the
// message alone, which begins with the tag of its first field, as no seal does.
absl::Status ReadAnyRecord(const std::string& path,
                           google::protobuf::MessageLite* message) {
  constexpr char kTagOfFirstField = '\x0a';
  ASSIGN_OR_RETURN(const std::string content, sandbox::ReadSmallFile(path));
  if (!content.empty() && content[0] == kTagOfFirstField) {
    return message->ParseFromString(content)
               ? absl::OkStatus()
               : absl::DataLossError(absl::StrCat(path, " is torn"));
  }
  return sandbox::UnsealRecord(content, message);
}

bool IsEndOf(const ExecutionRecord& end, const std::string& id) {
  return end.id() == id &&
         ((end.state() == ExecutionRecord::EXITED && end.has_exit()) ||
          (end.state() == ExecutionRecord::FAILED_TO_START &&
           end.has_failure()));
}

// The record was never written, or not to its end. Any other error says nothing
// of it.
bool IsMissing(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status);
}

bool IsNeverBegun(const std::string& path) {
  ExecutionRecord start;
  return IsMissing(ReadAnyRecord(absl::StrCat(path, "/start.pb"), &start));
}

// False: none was written, or `error` is what kept it from being read.
bool ReadEnd(const std::string& path, const std::string& id,
             ExecutionRecord* end, absl::Status* error) {
  absl::Status failed;
  // Twice, since the supervisor may rename the second to the first meanwhile.
  for (const char* name : {"/exit.pb", "/exit.pb.new", "/exit.pb"}) {
    const absl::Status read = ReadAnyRecord(absl::StrCat(path, name), end);
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

// Finds the start time of a command without an end. A failure is ignored.
void FindStartTime(const std::string& path, ExecutionRecord* record) {
  for (const char* name : {"/stdout", "/terminal"}) {
    const auto log = sandbox::OutputLogReader::Open(absl::StrCat(path, name));
    if (log.ok() && log->state().ok()) {
      record->set_start_time_ns(log->state()->start_time_ns);
    }
  }
}

// Nobody's: made ahead, or on its way out.
bool IsHidden(absl::string_view name) { return absl::StartsWith(name, "."); }

absl::StatusOr<std::vector<std::string>> ListWhole(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end;
       !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    errno = error.value();
    return Failed("list", path);
  }
  return names;
}

// The names in the directory of executions, which the first one makes.
absl::StatusOr<std::vector<std::string>> ListExecutions(
    const std::string& sandbox_path) {
  absl::StatusOr<std::vector<std::string>> names =
      ListWhole(absl::StrCat(sandbox_path, kExecutions));
  return absl::IsNotFound(names.status()) ? std::vector<std::string>()
                                          : std::move(names);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateDirectory>> StateDirectory::Open(
    const std::string& path) {
  RETURN_IF_ERROR(MakeDirectories(path));
  RETURN_IF_ERROR(MakeDirectories(absl::StrCat(path, "/sandboxes")));
  const std::string lock_path = absl::StrCat(path, "/lock");
  ASSIGN_OR_RETURN(UniqueFd lock, OpenFile(lock_path, O_RDWR | O_CREAT));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return absl::UnavailableError(
          absl::StrCat("another server uses the state directory ", path));
    }
    return Failed("flock", lock_path);
  }
  ASSIGN_OR_RETURN(const std::string boot_id, sandbox::ReadSmallFile(kBootId));
  // make_unique cannot reach the constructor.
  return std::unique_ptr<StateDirectory>(new StateDirectory(
      path, std::string(absl::StripSuffix(boot_id, "\n")), std::move(lock)));
}

// Explicitly: a child that is being started may hold the descriptor, too.
void StateDirectory::Unlock() { ::flock(lock_.get(), LOCK_UN); }

std::string StateDirectory::SandboxPath(absl::string_view sandbox) const {
  return absl::StrCat(path_, "/sandboxes/", sandbox);
}

std::string StateDirectory::ExecutionPath(absl::string_view sandbox_path,
                                          absl::string_view execution) {
  return absl::StrCat(sandbox_path, kExecutions, "/", execution);
}

absl::Status StateDirectory::WriteSpec(const SandboxSpec& spec) const {
  const std::string& directory = spec.directory();
  if (::mkdir(directory.c_str(), 0700) != 0) {
    return Failed("mkdir", directory);
  }
  absl::Status written = sandbox::ReplaceFile(absl::StrCat(directory, kSpec),
                                              sandbox::SealRecord(spec),
                                              sandbox::Durability::kMachine);
  if (written.ok()) {
    written = SyncDirectory(absl::StrCat(path_, "/sandboxes"));
  }
  if (!written.ok()) {
    RemoveTree(directory).IgnoreError();
  }
  return written;
}

absl::StatusOr<std::vector<std::string>> StateDirectory::ListSandboxes() const {
  return ListWhole(absl::StrCat(path_, "/sandboxes"));
}

absl::StatusOr<SandboxSpec> StateDirectory::ReadSpec(
    absl::string_view sandbox) const {
  const std::string path = absl::StrCat(SandboxPath(sandbox), kSpec);
  SandboxSpec spec;
  RETURN_IF_ERROR(ReadAnyRecord(path, &spec));
  if (spec.id() != sandbox) {
    return absl::DataLossError(absl::StrCat(path, " is of ", spec.id()));
  }
  return spec;
}

absl::Status StateDirectory::WriteDeletion(const std::string& sandbox_path,
                                           const DeleteSandbox& deletion) {
  return sandbox::ReplaceFile(absl::StrCat(sandbox_path, kDeletion),
                              sandbox::SealRecord(deletion),
                              sandbox::Durability::kProcess);
}

std::optional<DeleteSandbox> StateDirectory::ReadDeletion(
    const std::string& sandbox_path) {
  DeleteSandbox deletion;
  return sandbox::ReadRecord(absl::StrCat(sandbox_path, kDeletion), &deletion)
                 .ok()
             ? std::make_optional(deletion)
             : std::nullopt;
}

absl::Status StateDirectory::WriteFailure(const std::string& sandbox_path,
                                          const SandboxEnd& failure) {
  return sandbox::ReplaceFile(absl::StrCat(sandbox_path, kFailure),
                              sandbox::SealRecord(failure),
                              sandbox::Durability::kProcess);
}

std::optional<SandboxEnd> StateDirectory::ReadFailure(
    const std::string& sandbox_path) {
  SandboxEnd failure;
  return sandbox::ReadRecord(absl::StrCat(sandbox_path, kFailure), &failure)
                 .ok()
             ? std::make_optional(failure)
             : std::nullopt;
}

bool StateDirectory::IsUnborn(const std::string& sandbox_path) {
  // The socket is the last thing that is made, and stays.
  if (::access(absl::StrCat(sandbox_path, "/", kControl).c_str(), F_OK) == 0 ||
      errno != ENOENT) {
    return false;
  }
  const auto executions = ListExecutions(sandbox_path);
  return executions.ok() && executions->empty();
}

absl::Status StateDirectory::ReadRecords(
    const std::string& sandbox_path,
    absl::FunctionRef<bool(const std::string& id)> wanted,
    absl::FunctionRef<void(const ExecutionRecord&)> visit) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                   ListExecutions(sandbox_path));
  absl::Status status;
  for (const std::string& id : ids) {
    if (IsHidden(id) || !wanted(id)) {
      continue;
    }
    const std::string path = ExecutionPath(sandbox_path, id);
    ExecutionRecord record;
    const absl::Status read =
        ReadAnyRecord(absl::StrCat(path, "/start.pb"), &record);
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

absl::StatusOr<corral::v1::Command> StateDirectory::ReadCommand(
    const std::string& execution_path) {
  ExecutionRecord start;
  const absl::Status read =
      ReadAnyRecord(absl::StrCat(execution_path, "/start.pb"), &start);
  corral::v1::Command command;
  if (IsMissing(read) ||
      (read.ok() && !command.ParseFromString(start.command().original()))) {
    return absl::NotFoundError(
        absl::StrCat(execution_path, "/start.pb has no command"));
  }
  RETURN_IF_ERROR(read);
  return command;
}

void StateDirectory::RemoveLeftovers(const std::string& sandbox_path,
                                     bool all) {
  const auto names = ListExecutions(sandbox_path);
  if (!names.ok()) {
    LOG(ERROR) << "what is left of executions: " << names.status().message();
    return;
  }
  for (const std::string& name : *names) {
    const std::string path = ExecutionPath(sandbox_path, name);
    const bool leftover = absl::StartsWith(name, kRemoved) ||
                          (all && (IsHidden(name) || IsNeverBegun(path)));
    if (!leftover) {
      continue;
    }
    const absl::Status removed = Remove(path);
    if (!removed.ok()) {
      LOG(ERROR) << "what is left of an execution: " << removed.message();
    }
  }
}

absl::Status StateDirectory::CutLogs(const std::string& sandbox_path) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                   ListExecutions(sandbox_path));
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

std::string StateDirectory::RemovedPath(const std::string& path) {
  const size_t name = path.rfind('/') + 1;
  return absl::StartsWith(path.substr(name), kRemoved)
             ? path
             : absl::StrCat(path.substr(0, name), kRemoved, path.substr(name));
}

absl::Status StateDirectory::Remove(const std::string& path) {
  const std::string removed = RemovedPath(path);
  RETURN_IF_ERROR(TakeAway(path, removed));
  return RemoveTree(removed);
}

absl::Status StateDirectory::RemoveUnborn(const std::string& path) {
  const std::string removed = RemovedPath(path);
  RETURN_IF_ERROR(TakeAway(path, removed));
  // It may be a file.
  for (const std::string& name :
       ListWhole(removed).value_or(std::vector<std::string>())) {
    if (name != kControl) {
      RETURN_IF_ERROR(RemoveTree(absl::StrCat(removed, "/", name)));
    }
  }
  return std::remove(removed.c_str()) == 0 || errno == ENOENT
             ? absl::OkStatus()
             : Failed("remove", removed);
}

}  // namespace server

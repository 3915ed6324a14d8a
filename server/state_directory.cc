#include "server/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"

namespace server {
namespace {

using corral::supervisor::v1::ExecutionRecord;
using corral::supervisor::v1::SandboxSpec;
using sandbox::UniqueFd;

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

absl::Status Sync(const std::string& path, const UniqueFd& file) {
  return ::fsync(file.get()) == 0 ? absl::OkStatus() : Failed("fsync", path);
}

absl::Status SyncDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd directory,
                   OpenFile(path, O_RDONLY | O_DIRECTORY));
  return Sync(path, directory);
}

absl::Status WriteFile(const std::string& path, const std::string& bytes) {
  const std::string temporary = absl::StrCat(path, ".tmp");
  ASSIGN_OR_RETURN(const UniqueFd file,
                   OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC));
  if (::write(file.get(), bytes.data(), bytes.size()) !=
      static_cast<ssize_t>(bytes.size())) {
    return Failed("write", temporary);
  }
  RETURN_IF_ERROR(Sync(temporary, file));
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return Failed("rename", path);
  }
  return absl::OkStatus();
}

// False: not there, or no such message.
bool ReadMessage(const std::string& path,
                 google::protobuf::MessageLite* message) {
  std::ifstream file(path, std::ios::binary);
  return file.good() && message->ParseFromIstream(&file);
}

// Not if the host went down before all of it was on the disk.
bool IsWholeEnd(const ExecutionRecord& end, const std::string& id) {
  return end.id() == id &&
         ((end.state() == ExecutionRecord::EXITED && end.has_exit()) ||
          (end.state() == ExecutionRecord::FAILED_TO_START &&
           end.has_failure()));
}

std::vector<std::string> ListDirectory(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end;
       !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
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
  // make_unique cannot reach the constructor.
  return std::unique_ptr<StateDirectory>(
      new StateDirectory(path, std::move(lock)));
}

// Explicitly: a child that is being started may hold the descriptor, too.
void StateDirectory::Unlock() { ::flock(lock_.get(), LOCK_UN); }

std::string StateDirectory::SandboxPath(absl::string_view sandbox) const {
  return absl::StrCat(path_, "/sandboxes/", sandbox);
}

std::string StateDirectory::ExecutionPath(absl::string_view sandbox_path,
                                          absl::string_view execution) {
  return absl::StrCat(sandbox_path, "/executions/", execution);
}

absl::Status StateDirectory::WriteSpec(const SandboxSpec& spec) const {
  const std::string& directory = spec.directory();
  if (::mkdir(directory.c_str(), 0700) != 0) {
    return Failed("mkdir", directory);
  }
  RETURN_IF_ERROR(
      WriteFile(absl::StrCat(directory, "/spec.pb"), spec.SerializeAsString()));
  RETURN_IF_ERROR(SyncDirectory(directory));
  return SyncDirectory(absl::StrCat(path_, "/sandboxes"));
}

std::vector<std::string> StateDirectory::ListSandboxes() const {
  return ListDirectory(absl::StrCat(path_, "/sandboxes"));
}

absl::StatusOr<SandboxSpec> StateDirectory::ReadSpec(
    absl::string_view sandbox) const {
  const std::string path = absl::StrCat(SandboxPath(sandbox), "/spec.pb");
  SandboxSpec spec;
  if (!ReadMessage(path, &spec) || spec.id() != sandbox) {
    return absl::DataLossError(absl::StrCat(path, " is not readable"));
  }
  return spec;
}

std::vector<ExecutionRecord> StateDirectory::ReadRecords(
    absl::string_view sandbox) const {
  const std::string directory = SandboxPath(sandbox);
  std::vector<ExecutionRecord> records;
  for (const std::string& id :
       ListDirectory(absl::StrCat(directory, "/executions"))) {
    const std::string path = ExecutionPath(directory, id);
    ExecutionRecord record;
    if (!ReadMessage(absl::StrCat(path, "/start.pb"), &record) ||
        record.id() != id) {
      continue;
    }
    ExecutionRecord end;
    if (ReadMessage(absl::StrCat(path, "/exit.pb"), &end) &&
        IsWholeEnd(end, id)) {
      *end.mutable_command() = std::move(*record.mutable_command());
      record = std::move(end);
    }
    records.push_back(std::move(record));
  }
  return records;
}

absl::Status StateDirectory::Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    errno = error.value();
    return Failed("remove", path);
  }
  return absl::OkStatus();
}

}  // namespace server

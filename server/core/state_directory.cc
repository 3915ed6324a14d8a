#include "server/core/state_directory.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/record_file.h"
#include "server/core/directories.h"
#include "server/core/execution_records.h"

namespace server {
namespace {

using corral::supervisor::v1::DeleteSandbox;
using corral::supervisor::v1::SandboxEnd;
using corral::supervisor::v1::SandboxSpec;
using sandbox::UniqueFd;

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
constexpr char kSpec[] = "/spec.pb";
constexpr char kDeletion[] = "/deleting.pb";
constexpr char kFailure[] = "/failure.pb";
constexpr char kControl[] = "control.sock";

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

// Writes to an empty file.
absl::Status WriteFile(const std::string& path, absl::string_view data) {
  ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_WRONLY));
  const ssize_t written = ::write(file.get(), data.data(), data.size());
  if (written == static_cast<ssize_t>(data.size())) {
    return absl::OkStatus();
  }
  errno = written < 0 ? errno : ENOSPC;
  return Failed("write", path);
}

// Gives the directory `blank` the name `directory`.
absl::Status Publish(const std::string& blank, const std::string& directory) {
  int renamed = ::renameat2(AT_FDCWD, blank.c_str(), AT_FDCWD,
                            directory.c_str(), RENAME_NOREPLACE);
  if (renamed != 0 && errno == EINVAL) {
    // This file system does not know the flag. An empty directory is replaced.
    renamed = ::rename(blank.c_str(), directory.c_str());
    errno = errno == ENOTEMPTY ? EEXIST : errno;
  }
  return renamed == 0 ? absl::OkStatus() : Failed("rename", directory);
}

// Makes `path` with mode 0700, and missing directories above it with the usual
// mode.
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

// Has the file system put each directory in `path` into a block group of its
// own, as it does for home directories. ext4 without a journal does not use an
// inode again for a minute after a deletion, and looks at all of these in a
// group whenever it makes a file there: in one group with everything else that
// is deleted beside the state directory, that takes longer than a command.
// Other file systems do not know the flag.
void SpreadDirectories(const std::string& path) {
  const absl::StatusOr<UniqueFd> directory =
      OpenFile(path, O_RDONLY | O_DIRECTORY);
  int flags = 0;
  if (directory.ok() &&
      ::ioctl(directory->get(), FS_IOC_GETFLAGS, &flags) == 0) {
    flags |= FS_TOPDIR_FL;
    ::ioctl(directory->get(), FS_IOC_SETFLAGS, &flags);
  }
}

absl::Status Sync(const std::string& path, int flags) {
  ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, flags));
  return ::fsync(file.get()) == 0 ? absl::OkStatus() : Failed("fsync", path);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateDirectory>> StateDirectory::Open(
    const std::string& path) {
  RETURN_IF_ERROR(MakeDirectories(path));
  const std::string sandboxes = absl::StrCat(path, "/sandboxes");
  RETURN_IF_ERROR(MakeDirectories(sandboxes));
  SpreadDirectories(sandboxes);
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

// Closing the descriptor would not do: a child that is being started may hold a
// copy of it, and with that the lock.
void StateDirectory::Unlock() { ::flock(lock_.get(), LOCK_UN); }

std::string StateDirectory::SandboxPath(absl::string_view sandbox) const {
  return absl::StrCat(path_, "/sandboxes/", sandbox);
}

absl::Status StateDirectory::WriteSpec(const SandboxSpec& spec) const {
  ASSIGN_OR_RETURN(const std::string blank, blanks_->Take());
  absl::Status written =
      WriteFile(absl::StrCat(blank, kSpec), sandbox::SealRecord(spec));
  if (written.ok()) {
    written = Publish(blank, spec.directory());
  }
  if (!written.ok()) {
    RemoveTree(blank).IgnoreError();
  }
  return written;
}

absl::Status StateDirectory::SyncSpec(const SandboxSpec& spec) const {
  const std::string& directory = spec.directory();
  RETURN_IF_ERROR(Sync(absl::StrCat(directory, kSpec), O_RDONLY));
  RETURN_IF_ERROR(Sync(directory, O_RDONLY | O_DIRECTORY));
  return sandboxes_->Sync();
}

absl::Status StateDirectory::ReplaceSpec(const SandboxSpec& spec) {
  return sandbox::ReplaceFile(absl::StrCat(spec.directory(), kSpec),
                              sandbox::SealRecord(spec),
                              sandbox::Durability::kMachine);
}

absl::StatusOr<std::vector<std::string>> StateDirectory::ListSandboxes() const {
  return ListDirectory(absl::StrCat(path_, "/sandboxes"));
}

absl::StatusOr<SandboxSpec> StateDirectory::ReadSpec(
    absl::string_view sandbox) const {
  const std::string path = absl::StrCat(SandboxPath(sandbox), kSpec);
  SandboxSpec spec;
  RETURN_IF_ERROR(sandbox::ReadRecord(path, &spec));
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
  // A supervisor makes the socket last, and nobody removes it.
  if (::access(absl::StrCat(sandbox_path, "/", kControl).c_str(), F_OK) == 0 ||
      errno != ENOENT) {
    return false;
  }
  const auto executions = ListExecutionNames(sandbox_path);
  return executions.ok() && executions->empty();
}

bool StateDirectory::IsUnused(const std::string& sandbox_path) {
  const auto supervisor =
      sandbox::PacketSocket::Connect(sandbox_path, kControl);
  const auto executions = ListExecutionNames(sandbox_path);
  return absl::IsNotFound(supervisor.status()) && executions.ok() &&
         std::all_of(executions->begin(), executions->end(),
                     [](const std::string& name) { return name[0] == '.'; });
}

// A supervisor may be about to listen here. After the rename it cannot find the
// directory; if its control.sock is there already, the directory stays.
absl::Status StateDirectory::RemoveUnborn(const std::string& sandbox_path) {
  RETURN_IF_ERROR(BeginRemoval(sandbox_path));
  const std::string removed = RemovedPath(sandbox_path);
  // If it is not a directory, or is gone, nothing is listed.
  for (const std::string& name :
       ListDirectory(removed).value_or(std::vector<std::string>())) {
    if (name != kControl) {
      RETURN_IF_ERROR(RemoveTree(absl::StrCat(removed, "/", name)));
    }
  }
  return std::remove(removed.c_str()) == 0 || errno == ENOENT
             ? absl::OkStatus()
             : Failed("remove", removed);
}

}  // namespace server

#include "sandbox/supervisor/execution_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/log_names.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/storage/terminal_times.h"

namespace sandbox {
namespace {

constexpr const char* kStart = "start.pb";
constexpr const char* kEnd = "exit.pb";
constexpr const char* kNewEnd = "exit.pb.new";

// Writes one byte, so that the file has a block: writing the record, which
// rarely needs more, then succeeds on a disk that is full by that time. A zero
// is no valid record.
absl::StatusOr<UniqueFd> CreateRecord(int directory, const char* name) {
  UniqueFd file(
      ::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("create ", name));
  }
  const ssize_t written = ::pwrite(file.get(), "", 1, 0);
  if (written != 1) {
    return absl::ErrnoToStatus(written < 0 ? errno : ENOSPC,
                               absl::StrCat("allocate ", name));
  }
  return file;
}

absl::Status WriteRecord(const UniqueFd& file, const std::string& sealed,
                         const char* name) {
  const ssize_t written = ::pwrite(file.get(), sealed.data(), sealed.size(), 0);
  if (written != static_cast<ssize_t>(sealed.size())) {
    return absl::ErrnoToStatus(written < 0 ? errno : ENOSPC,
                               absl::StrCat("write ", name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExecutionFiles> ExecutionFiles::Create(const std::string& parent,
                                                      const std::string& name,
                                                      bool terminal) {
  const std::string path = absl::StrCat(parent, "/", name);
  if (::mkdir(path.c_str(), 0700) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", path));
  }
  ExecutionFiles files;
  files.directory_ = path;
  const auto fill = [&]() -> absl::Status {
    const UniqueFd directory(
        ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSIGN_OR_RETURN(files.start_, CreateRecord(directory.get(), kStart));
    ASSIGN_OR_RETURN(files.end_, CreateRecord(directory.get(), kNewEnd));
    const std::vector<wire::Stream> streams =
        terminal ? std::vector<wire::Stream>{wire::TERMINAL}
                 : std::vector<wire::Stream>{wire::STDOUT, wire::STDERR};
    for (const wire::Stream stream : streams) {
      ASSIGN_OR_RETURN(
          OutputLogWriter log,
          OutputLogWriter::Create(directory.get(), LogName(stream)));
      files.logs_.emplace(stream, std::move(log));
    }
    return absl::OkStatus();
  };
  const absl::Status filled = fill();
  if (!filled.ok()) {
    (void)files.Remove();
    return filled;
  }
  return files;
}

absl::Status ExecutionFiles::Rename(const std::string& parent,
                                    const std::string& name) {
  const std::string path = absl::StrCat(parent, "/", name);
  if (::renameat2(AT_FDCWD, directory_.c_str(), AT_FDCWD, path.c_str(),
                  RENAME_NOREPLACE) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("rename to ", path));
  }
  directory_ = path;
  return absl::OkStatus();
}

OutputLogWriter ExecutionFiles::TakeLog(wire::Stream stream) {
  return std::move(logs_.extract(stream).mapped());
}

std::string ExecutionFiles::LogPath(wire::Stream stream) const {
  return absl::StrCat(directory_, "/", LogName(stream));
}

absl::Status ExecutionFiles::WriteStart(wire::ExecutionRecord record) {
  const UniqueFd file = std::move(start_);
  if (record.has_command()) {
    // `original` holds both, as the client sent them.
    record.mutable_command()->clear_argv();
    record.mutable_command()->clear_environment();
  }
  return WriteRecord(file, SealRecord(record), kStart);
}

absl::Status ExecutionFiles::WriteEnd(const std::string& sealed) {
  RETURN_IF_ERROR(WriteRecord(end_, sealed, kNewEnd));
  end_.Reset();
  return absl::OkStatus();
}

absl::Status ExecutionFiles::Remove() {
  logs_.clear();
  start_.Reset();
  end_.Reset();
  // start.pb first: without it the directory belongs to no execution, even if
  // the rest cannot be removed. exit.pb.new before exit.pb, because it may be
  // renamed to that at any time.
  std::vector<const char*> names = {kStart, kNewEnd, kEnd};
  names.insert(names.end(), std::begin(kLogNames), std::end(kLogNames));
  names.push_back(kTerminalTimes);
  for (const char* name : names) {
    const std::string path = absl::StrCat(directory_, "/", name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return absl::ErrnoToStatus(errno, absl::StrCat("unlink ", path));
    }
  }
  if (::rmdir(directory_.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("rmdir ", directory_));
  }
  directory_.clear();
  return absl::OkStatus();
}

}  // namespace sandbox

#include "sandbox/supervisor/execution_files.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/mapped_word.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/storage/terminal_times.h"

namespace sandbox {
namespace {

absl::Status Unlink(const std::string& file) {
  return ::unlink(file.c_str()) == 0 || errno == ENOENT
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, absl::StrCat("unlink ", file));
}

}  // namespace

absl::StatusOr<ExecutionFiles> ExecutionFiles::Create(const std::string& parent,
                                                      const std::string& name) {
  ExecutionFiles files;
  files.path_ = absl::StrCat(parent, "/", name);
  ASSIGN_OR_RETURN(files.file_, ExecutionFile::Create(files.path_));
  return files;
}

absl::Status ExecutionFiles::Rename(const std::string& parent,
                                    const std::string& name) {
  const std::string path = absl::StrCat(parent, "/", name);
  RETURN_IF_ERROR(file_->Rename(path));
  path_ = path;
  return absl::OkStatus();
}

absl::Status ExecutionFiles::WriteStart(wire::ExecutionRecord record) {
  if (record.has_command()) {
    // `original` holds both, as the client sent them.
    record.mutable_command()->clear_argv();
    record.mutable_command()->clear_environment();
  }
  return file_->WriteStart(SealRecord(record));
}

bool ExecutionFiles::has_output() const {
  for (const LogPlace* place : {&kOutputPlace, &kErrorPlace}) {
    uint64_t end = 0;
    const auto* word = file_->page()->At<std::atomic<uint64_t>>(
        place->header + offsetof(OutputLogHeader::Fields, end));
    // A header that cannot be read may say anything.
    if (!LoadMapped(*word, &end) || end > 0) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<std::shared_ptr<ExecutionFile>> ExecutionFiles::WriteEnd(
    const std::string& sealed) {
  RETURN_IF_ERROR(file_->WriteEnd(sealed));
  return std::exchange(file_, nullptr);
}

absl::Status ExecutionFiles::Remove(const wire::ExecutionRecord& record) {
  file_.reset();
  RETURN_IF_ERROR(Remove(path_, record));
  path_.clear();
  return absl::OkStatus();
}

absl::Status ExecutionFiles::Remove(const std::string& path,
                                    const wire::ExecutionRecord& record) {
  // First the one with the records: without it the others belong to no
  // execution, even if they cannot be removed.
  RETURN_IF_ERROR(Unlink(path));
  for (const wire::StreamState& stream : record.streams()) {
    const LogPlace& place = PlaceOf(stream.stream());
    // The file is made before the first byte after the window is written.
    if (stream.end() >= place.window_size) {
      RETURN_IF_ERROR(Unlink(absl::StrCat(path, place.suffix)));
    }
    if (stream.stream() == wire::TERMINAL) {
      RETURN_IF_ERROR(Unlink(absl::StrCat(path, kTerminalTimes)));
    }
  }
  return absl::OkStatus();
}

}  // namespace sandbox

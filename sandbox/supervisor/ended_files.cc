#include "sandbox/supervisor/ended_files.h"

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {
namespace {

// Brings a state at the end of the execution up to date.
void Update(const OutputLogState& log, wire::StreamState* stream) {
  stream->set_begin(log.begin);
  stream->set_end(log.end);
  stream->set_gap_begin(log.gap_begin);
  stream->set_gap_end(log.gap_end);
  // A disk that failed may have kept the header from saying so.
  stream->set_closed(stream->closed() || log.closed);
  stream->set_expired(log.expired);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListExecutions(
    const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()),
                                                 ::closedir);
  if (open == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("list ", directory));
  }
  std::vector<std::string> ids;
  errno = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    // No id has a dot.
    if (!absl::StrContains(entry->d_name, '.')) {
      ids.emplace_back(entry->d_name);
    }
    errno = 0;
  }
  if (errno != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("list ", directory));
  }
  return ids;
}

absl::StatusOr<wire::ExecutionRecord> ReadEnded(const std::string& directory,
                                                const std::string& id) {
  const std::string path = absl::StrCat(directory, "/", id);
  ASSIGN_OR_RETURN(const ExecutionRecords file, ExecutionRecords::Open(path));
  wire::ExecutionRecord end;
  RETURN_IF_ERROR(file.ReadEnd(&end));
  if (end.id() != id) {
    return absl::DataLossError(absl::StrCat(path, " is of ", end.id()));
  }
  for (wire::StreamState& stream : *end.mutable_streams()) {
    Update(LogStateIn(file.page(), PlaceOf(stream.stream())), &stream);
  }
  return end;
}

}  // namespace sandbox

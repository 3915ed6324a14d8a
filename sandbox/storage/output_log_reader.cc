// The header of a log, and OutputLogReader.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/log_names.h"
#include "sandbox/storage/mapped_word.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {
namespace {

static_assert(sizeof(OutputLogHeader::Fields) == 64, "the file's format");
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Begins the log of an earlier supervisor.
constexpr char kDirectoryMagic[8] = {'c', 'o', 'r', 'r', 'a', 'l', '\0', '\1'};

absl::Status Unreadable() {
  return absl::ErrnoToStatus(EIO, "load(log header)");
}

// Reads those of the `size` bytes at the begin of `piece` that are in memory.
// No value: none is, the file is not open, or the file system cannot read
// without waiting.
absl::StatusOr<std::optional<size_t>> ReadInMemory(const LogPiece& piece,
                                                   char* buffer, size_t size) {
  if (piece.file < 0) {
    return std::optional<size_t>();
  }
  const iovec vector = {buffer, size};
  const ssize_t got =
      ::preadv2(piece.file, &vector, 1, piece.position, RWF_NOWAIT);
  if (got >= 0) {
    return std::optional<size_t>(static_cast<size_t>(got));
  }
  if (errno == EAGAIN || errno == EOPNOTSUPP) {
    return std::optional<size_t>();
  }
  return absl::ErrnoToStatus(errno, "read(log)");
}

absl::StatusOr<std::optional<size_t>> ReadFromDisk(const LogPiece& piece,
                                                   char* buffer, size_t size) {
  const ssize_t got = ::pread(piece.file, buffer, size, piece.position);
  if (got < 0) {
    return absl::ErrnoToStatus(errno, "read(log)");
  }
  return std::optional<size_t>(static_cast<size_t>(got));
}

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int access,
                                  struct stat* status) {
  UniqueFd file(::open(path.c_str(), access | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid() || ::fstat(file.get(), status) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open log ", path));
  }
  return file;
}

// The words of a header.
struct Loaded {
  uint64_t closed;
  uint64_t end;
  uint64_t expired;
  uint64_t gap_end;
  uint64_t gap_begin;
  uint64_t begin;
  uint64_t start;
};

OutputLogState StateOf(const Loaded& loaded) {
  OutputLogState state;
  state.start_time_ns = static_cast<int64_t>(loaded.start);
  state.closed = loaded.closed != 0;
  state.end = loaded.end;
  state.expired = loaded.expired != 0;
  if (state.expired) {
    state.begin = state.end;
    return state;
  }
  // Bytes that were dropped meanwhile may lie beyond the end that was loaded.
  state.begin = std::min(loaded.begin, state.end);
  state.gap_end = std::min(loaded.gap_end, state.end);
  state.gap_begin = std::min(loaded.gap_begin, state.gap_end);
  return state;
}

bool InGap(const OutputLogState& state, uint64_t offset) {
  return state.gap_begin <= offset && offset < state.gap_end;
}

}  // namespace

absl::StatusOr<OutputLogState> OutputLogHeader::Load() const {
  // `closed` is loaded before `end`: once it is set, the end is final.
  Loaded loaded;
  if (!LoadMapped(fields_->closed, &loaded.closed) ||
      !LoadMapped(fields_->end, &loaded.end) ||
      !LoadMapped(fields_->expired, &loaded.expired) ||
      !LoadMapped(fields_->gap_end, &loaded.gap_end) ||
      !LoadMapped(fields_->gap_begin, &loaded.gap_begin) ||
      !LoadMapped(fields_->begin, &loaded.begin) ||
      !LoadMapped(fields_->start, &loaded.start)) {
    return Unreadable();
  }
  return StateOf(loaded);
}

OutputLogState LogStateIn(absl::string_view page, const LogPlace& place) {
  const auto load = [&](size_t field) {
    uint64_t word;
    std::memcpy(&word, &page[place.header + field], sizeof(word));
    return word;
  };
  using Fields = OutputLogHeader::Fields;
  Loaded loaded;
  loaded.closed = load(offsetof(Fields, closed));
  loaded.end = load(offsetof(Fields, end));
  loaded.expired = load(offsetof(Fields, expired));
  loaded.gap_end = load(offsetof(Fields, gap_end));
  loaded.gap_begin = load(offsetof(Fields, gap_begin));
  loaded.begin = load(offsetof(Fields, begin));
  loaded.start = load(offsetof(Fields, start));
  return StateOf(loaded);
}

absl::StatusOr<OpenedLog> OpenedLog::Open(const std::string& execution,
                                          wire::Stream stream, int access) {
  struct stat status = {};
  absl::StatusOr<UniqueFd> file = OpenFile(execution, access, &status);
  // EISDIR is a failed precondition.
  const bool directory = file.ok() ? S_ISDIR(status.st_mode)
                                   : absl::IsFailedPrecondition(file.status());
  if (directory) {
    file = OpenFile(absl::StrCat(execution, "/", LogName(stream)), access,
                    &status);
  }
  RETURN_IF_ERROR(file.status());
  // A crash of the host may leave a file without its first page.
  if (status.st_size < static_cast<off_t>(MappedPage::kSize)) {
    return absl::DataLossError(absl::StrCat(execution, " has no log"));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<MappedPage> page,
                   MappedPage::Map(file->get(), /*writable=*/false));
  uint64_t magic;
  if (!LoadMapped(*page->At<std::atomic<uint64_t>>(0), &magic)) {
    return Unreadable();
  }
  if (std::memcmp(&magic, directory ? kDirectoryMagic : ExecutionHeader::kMagic,
                  sizeof(magic)) != 0) {
    return absl::DataLossError(absl::StrCat(execution, " has no log"));
  }
  const LogPlace& place = directory ? kDirectoryPlace : PlaceOf(stream);
  return OpenedLog{*std::move(file), &place,
                   OutputLogHeader(std::move(page), place.header), execution};
}

absl::StatusOr<UniqueFd> OpenedLog::OpenRest(int access) const {
  const std::string rest = absl::StrCat(path, place->suffix);
  UniqueFd opened(::open(rest.c_str(), access | O_CLOEXEC | O_NOFOLLOW));
  if (!opened.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", rest));
  }
  // An execution whose file is removed may have been followed by another of the
  // same name, whose file this is.
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || status.st_nlink == 0) {
    return absl::NotFoundError(absl::StrCat(path, " was deleted"));
  }
  return opened;
}

absl::StatusOr<OutputLogReader> OutputLogReader::Open(
    const std::string& execution, wire::Stream stream) {
  ASSIGN_OR_RETURN(OpenedLog log, OpenedLog::Open(execution, stream, O_RDONLY));
  ASSIGN_OR_RETURN(const OutputLogState state, log.header.Load());
  const bool has_rest =
      state.end > std::max(state.begin, log.place->window_size);
  OutputLogReader reader(std::move(log));
  // Now, since the execution may be deleted before it is read.
  RETURN_IF_ERROR(reader.Files(has_rest).status());
  return reader;
}

absl::StatusOr<bool> OutputLogReader::HeaderIsInMemory() const {
  char magic[sizeof(ExecutionHeader::kMagic)];
  ASSIGN_OR_RETURN(
      const std::optional<size_t> got,
      ReadInMemory({log_.file.get(), 0, sizeof(magic)}, magic, sizeof(magic)));
  return got.has_value();
}

absl::StatusOr<std::optional<OutputLogState>> OutputLogReader::TryState()
    const {
  ASSIGN_OR_RETURN(const bool in_memory, HeaderIsInMemory());
  if (!in_memory) {
    return std::optional<OutputLogState>();
  }
  return state();
}

absl::StatusOr<size_t> OutputLogReader::Read(uint64_t offset, char* buffer,
                                             size_t size) const {
  ASSIGN_OR_RETURN(const size_t wanted, Available(offset, size));
  ASSIGN_OR_RETURN(const std::optional<size_t> got,
                   ReadPieces(offset, buffer, wanted, /*wait=*/true));
  return Check(offset, wanted, got.value_or(0));
}

absl::StatusOr<std::optional<size_t>> OutputLogReader::TryRead(
    uint64_t offset, char* buffer, size_t size) const {
  ASSIGN_OR_RETURN(const bool in_memory, HeaderIsInMemory());
  if (!in_memory) {
    return std::optional<size_t>();
  }
  ASSIGN_OR_RETURN(const size_t wanted, Available(offset, size));
  ASSIGN_OR_RETURN(const std::optional<size_t> got,
                   ReadPieces(offset, buffer, wanted, /*wait=*/false));
  if (!got.has_value()) {
    return got;
  }
  return Check(offset, wanted, *got);
}

absl::StatusOr<std::optional<size_t>> OutputLogReader::ReadPieces(
    uint64_t offset, char* buffer, size_t size, bool wait) const {
  const bool in_rest = size > 0 && offset + size > log_.place->window_size;
  ASSIGN_OR_RETURN(const LogFiles files, Files(wait && in_rest));
  size_t done = 0;
  while (done < size) {
    const LogPiece piece = PieceAt(files, *log_.place, offset + done);
    const size_t wanted = std::min<uint64_t>(size - done, piece.size);
    ASSIGN_OR_RETURN(const std::optional<size_t> got,
                     wait ? ReadFromDisk(piece, buffer + done, wanted)
                          : ReadInMemory(piece, buffer + done, wanted));
    if (!got.has_value()) {
      return done > 0 ? std::optional<size_t>(done) : got;
    }
    done += *got;
    if (*got < wanted) {
      break;
    }
  }
  return std::optional<size_t>(done);
}

absl::StatusOr<LogFiles> OutputLogReader::Files(bool open_rest) const {
  if (log_.place->suffix == nullptr) {
    return LogFiles{log_.file.get(), log_.file.get()};
  }
  {
    MutexLock lock(&rest_->mutex);
    if (!open_rest || rest_->file.valid()) {
      return LogFiles{log_.file.get(), rest_->file.get()};
    }
  }
  // Without the lock, for which TryRead() would wait as long as for the disk.
  ASSIGN_OR_RETURN(UniqueFd opened, log_.OpenRest(O_RDONLY));
  MutexLock lock(&rest_->mutex);
  if (!rest_->file.valid()) {
    rest_->file = std::move(opened);
  }
  return LogFiles{log_.file.get(), rest_->file.get()};
}

absl::StatusOr<int64_t> OutputLogReader::WriteTime() const {
  ASSIGN_OR_RETURN(const LogFiles files, Files(/*open_rest=*/false));
  int64_t last = 0;
  for (const int file : {files.first, files.rest}) {
    struct stat status = {};
    if (file >= 0 && ::fstat(file, &status) != 0) {
      return absl::ErrnoToStatus(errno, "fstat(log)");
    }
    last = std::max<int64_t>(last, status.st_mtime);
  }
  return last;
}

absl::StatusOr<size_t> OutputLogReader::Available(uint64_t offset,
                                                  size_t size) const {
  uint64_t end;
  if (!LoadMapped(log_.header->end, &end)) {
    return Unreadable();
  }
  return offset >= end ? 0 : std::min<uint64_t>(size, end - offset);
}

absl::StatusOr<size_t> OutputLogReader::Check(uint64_t offset, size_t wanted,
                                              size_t got) const {
  ASSIGN_OR_RETURN(const OutputLogState now, log_.header.Load());
  if (offset < now.begin) {
    return absl::OutOfRangeError(
        absl::StrCat("offset ", offset, " is below what is kept, ", now.begin));
  }
  if (InGap(now, offset)) {
    return absl::OutOfRangeError(absl::StrCat(
        "offset ", offset, " was discarded; data resumes at ", now.gap_end));
  }
  if (got == 0 && wanted > 0) {
    return absl::DataLossError("the log is shorter than its header says");
  }
  const bool before_gap = offset < now.gap_begin && now.gap_begin < now.gap_end;
  return before_gap ? std::min<uint64_t>(got, now.gap_begin - offset) : got;
}

}  // namespace sandbox

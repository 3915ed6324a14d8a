// The header of a log, and OutputLogReader.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/mapped_word.h"
#include "sandbox/storage/output_log.h"

namespace sandbox {
namespace {

static_assert(sizeof(OutputLogHeader::Page) == 64, "the file's format");
static_assert(std::atomic<uint64_t>::is_always_lock_free);

absl::Status Unreadable() {
  return absl::ErrnoToStatus(EIO, "load(log header)");
}

off_t Position(uint64_t offset) {
  return static_cast<off_t>(OutputLogHeader::kSize + offset);
}

// Reads those of the `size` bytes at `position` that are in memory. Returns no
// value if none is, or if the file system cannot read without waiting.
absl::StatusOr<std::optional<size_t>> ReadInMemory(int file, off_t position,
                                                   char* buffer, size_t size) {
  const iovec vector = {buffer, size};
  const ssize_t got = ::preadv2(file, &vector, 1, position, RWF_NOWAIT);
  if (got >= 0) {
    return std::optional<size_t>(static_cast<size_t>(got));
  }
  if (errno == EAGAIN || errno == EOPNOTSUPP) {
    return std::optional<size_t>();
  }
  return absl::ErrnoToStatus(errno, "read(log)");
}

bool InGap(const OutputLogState& state, uint64_t offset) {
  return state.gap_begin <= offset && offset < state.gap_end;
}

}  // namespace

OutputLogHeader::OutputLogHeader(OutputLogHeader&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

OutputLogHeader& OutputLogHeader::operator=(OutputLogHeader&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

OutputLogHeader::~OutputLogHeader() {
  if (page_ != nullptr) {
    ::munmap(page_, kSize);
  }
}

absl::StatusOr<OutputLogHeader> OutputLogHeader::Map(int fd, bool writable) {
  struct stat status;
  if (::fstat(fd, &status) != 0) {
    return absl::ErrnoToStatus(errno, "fstat(log)");
  }
  if (status.st_size < static_cast<off_t>(kSize)) {
    return absl::DataLossError("log without a whole header");
  }
  void* page =
      ::mmap(nullptr, kSize, writable ? PROT_READ | PROT_WRITE : PROT_READ,
             MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, "mmap(log)");
  }
  OutputLogHeader header(static_cast<Page*>(page));
  uint64_t magic;
  if (!LoadMapped(*static_cast<std::atomic<uint64_t>*>(page), &magic)) {
    return Unreadable();
  }
  if (std::memcmp(&magic, kMagic, sizeof(kMagic)) != 0) {
    return absl::DataLossError("not a log");
  }
  return header;
}

absl::StatusOr<OutputLogState> OutputLogHeader::Load() const {
  // `closed` is loaded before `end`: once it is set, the end is final.
  uint64_t closed;
  uint64_t end;
  uint64_t expired;
  uint64_t gap_end;
  uint64_t gap_begin;
  uint64_t begin;
  uint64_t start;
  if (!LoadMapped(page_->closed, &closed) || !LoadMapped(page_->end, &end) ||
      !LoadMapped(page_->expired, &expired) ||
      !LoadMapped(page_->gap_end, &gap_end) ||
      !LoadMapped(page_->gap_begin, &gap_begin) ||
      !LoadMapped(page_->begin, &begin) || !LoadMapped(page_->start, &start)) {
    return Unreadable();
  }
  OutputLogState state;
  state.start_time_ns = static_cast<int64_t>(start);
  state.closed = closed != 0;
  state.end = end;
  state.expired = expired != 0;
  if (state.expired) {
    state.begin = end;
    return state;
  }
  // Bytes that were dropped meanwhile may lie beyond the end that was loaded.
  state.begin = std::min(begin, end);
  state.gap_end = std::min(gap_end, end);
  state.gap_begin = std::min(gap_begin, state.gap_end);
  return state;
}

absl::StatusOr<OutputLogReader> OutputLogReader::Open(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open log ", path));
  }
  ASSIGN_OR_RETURN(OutputLogHeader header,
                   OutputLogHeader::Map(file.get(), /*writable=*/false));
  return OutputLogReader(std::move(file), std::move(header));
}

OutputLogReader::OutputLogReader(UniqueFd file, OutputLogHeader header)
    : file_(std::move(file)), header_(std::move(header)) {}

absl::StatusOr<bool> OutputLogReader::HeaderIsInMemory() const {
  char magic[sizeof(OutputLogHeader::kMagic)];
  ASSIGN_OR_RETURN(const std::optional<size_t> got,
                   ReadInMemory(file_.get(), 0, magic, sizeof(magic)));
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
  if (wanted == 0) {
    return Check(offset, 0, 0);
  }
  const ssize_t got = ::pread(file_.get(), buffer, wanted, Position(offset));
  if (got < 0) {
    return absl::ErrnoToStatus(errno, "read(log)");
  }
  return Check(offset, wanted, static_cast<size_t>(got));
}

absl::StatusOr<std::optional<size_t>> OutputLogReader::TryRead(
    uint64_t offset, char* buffer, size_t size) const {
  ASSIGN_OR_RETURN(const bool in_memory, HeaderIsInMemory());
  if (!in_memory) {
    return std::optional<size_t>();
  }
  ASSIGN_OR_RETURN(const size_t wanted, Available(offset, size));
  if (wanted == 0) {
    return Check(offset, 0, 0);
  }
  ASSIGN_OR_RETURN(const std::optional<size_t> got,
                   ReadInMemory(file_.get(), Position(offset), buffer, wanted));
  if (!got.has_value()) {
    return got;
  }
  return Check(offset, wanted, *got);
}

absl::StatusOr<size_t> OutputLogReader::Available(uint64_t offset,
                                                  size_t size) const {
  uint64_t end;
  if (!LoadMapped(header_->end, &end)) {
    return Unreadable();
  }
  return offset >= end ? 0 : std::min<uint64_t>(size, end - offset);
}

absl::StatusOr<size_t> OutputLogReader::Check(uint64_t offset, size_t wanted,
                                              size_t got) const {
  ASSIGN_OR_RETURN(const OutputLogState now, header_.Load());
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

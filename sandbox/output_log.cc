#include "sandbox/output_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"

namespace sandbox {
namespace {

constexpr char kMagic[8] = {'c', 'o', 'r', 'r', 'a', 'l', '\0', '\1'};
constexpr size_t kHeaderSize = 4096;
// What one call moves at most, so that one busy stream does not starve others.
constexpr size_t kMaxAppend = size_t{1} << 20;
// Holes are punched in steps, since each costs a journal entry: an eighth of
// what is kept, within these.
constexpr uint64_t kMinStep = uint64_t{64} << 10;
constexpr uint64_t kMaxStep = uint64_t{8} << 20;

static_assert(sizeof(OutputLogHeader::Page) == 32);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace

OutputLogHeader::OutputLogHeader(OutputLogHeader&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

OutputLogHeader& OutputLogHeader::operator=(OutputLogHeader&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

OutputLogHeader::~OutputLogHeader() {
  if (page_ != nullptr) {
    ::munmap(page_, kHeaderSize);
  }
}

absl::StatusOr<OutputLogHeader> OutputLogHeader::Map(int fd, bool writable) {
  struct stat status;
  if (::fstat(fd, &status) != 0) {
    return absl::ErrnoToStatus(errno, "fstat(log)");
  }
  if (status.st_size < static_cast<off_t>(kHeaderSize)) {
    return absl::DataLossError("log without a whole header");
  }
  void* page =
      ::mmap(nullptr, kHeaderSize,
             writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, "mmap(log)");
  }
  OutputLogHeader header(static_cast<Page*>(page));
  if (std::memcmp(header->magic, kMagic, sizeof(kMagic)) != 0) {
    return absl::DataLossError("not a log");
  }
  return header;
}

absl::StatusOr<OutputLogWriter> OutputLogWriter::Create(
    int directory, const std::string& name) {
  UniqueFd file(::openat(directory, name.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                         0600));
  if (!file.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("create log ", name));
  }
  // Written, not truncated to size: a page that is allocated cannot fault on
  // a full disk when the mapping is stored to.
  char header[kHeaderSize] = {};
  std::memcpy(header, kMagic, sizeof(kMagic));
  if (::pwrite(file.get(), header, sizeof(header), 0) !=
      static_cast<ssize_t>(sizeof(header))) {
    return absl::ErrnoToStatus(errno, absl::StrCat("write log ", name));
  }
  ASSIGN_OR_RETURN(OutputLogHeader mapped,
                   OutputLogHeader::Map(file.get(), /*writable=*/true));
  return OutputLogWriter(std::move(file), std::move(mapped));
}

OutputLogWriter::OutputLogWriter(UniqueFd file, OutputLogHeader header)
    : file_(std::move(file)), header_(std::move(header)) {}

void OutputLogWriter::SetRetention(uint64_t retain_bytes,
                                   bool block_when_full) {
  retain_bytes_ = retain_bytes;
  block_when_full_ = block_when_full;
}

size_t OutputLogWriter::Room() const {
  if (!block_when_full_) {
    return kMaxAppend;
  }
  const uint64_t held = state().end - acknowledged_;
  return held >= retain_bytes_
             ? 0
             : std::min<uint64_t>(retain_bytes_ - held, kMaxAppend);
}

absl::StatusOr<size_t> OutputLogWriter::AppendFromPipe(int pipe) {
  auto position = static_cast<off_t>(kHeaderSize + state().end);
  const ssize_t moved = ::splice(pipe, nullptr, file_.get(), &position, Room(),
                                 SPLICE_F_NONBLOCK);
  if (moved < 0) {
    if (errno == EAGAIN) {
      return absl::UnavailableError("pipe is empty");
    }
    return absl::ErrnoToStatus(errno, "splice(pipe, log)");
  }
  Advance(static_cast<size_t>(moved));
  return static_cast<size_t>(moved);
}

absl::Status OutputLogWriter::Append(const char* data, size_t size) {
  const uint64_t end = state().end;
  for (size_t done = 0; done < size;) {
    const ssize_t written =
        ::pwrite(file_.get(), data + done, size - done,
                 static_cast<off_t>(kHeaderSize + end + done));
    if (written < 0 && errno != EINTR) {
      return absl::ErrnoToStatus(errno, "write(log)");
    }
    done += written > 0 ? static_cast<size_t>(written) : 0;
  }
  Advance(size);
  return absl::OkStatus();
}

void OutputLogWriter::Acknowledge(uint64_t offset) {
  acknowledged_ = std::max(acknowledged_, std::min(offset, state().end));
  Drop();
}

void OutputLogWriter::Close() {
  header_->closed.store(1, std::memory_order_release);
}

OutputLogState OutputLogWriter::state() const {
  return {header_->begin.load(std::memory_order_relaxed),
          header_->end.load(std::memory_order_relaxed),
          header_->closed.load(std::memory_order_relaxed) != 0};
}

void OutputLogWriter::Advance(size_t size) {
  header_->end.fetch_add(size, std::memory_order_release);
  Drop();
}

void OutputLogWriter::Drop() {
  const OutputLogState now = state();
  uint64_t keep = now.end > retain_bytes_ ? now.end - retain_bytes_ : 0;
  if (block_when_full_) {
    keep = std::max(keep, acknowledged_);
  }
  // Whole steps only: begin is where the file really begins to have data.
  const uint64_t step = std::clamp(retain_bytes_ / 8, kMinStep, kMaxStep);
  keep -= keep % (step - step % kMinStep);
  if (keep <= now.begin) {
    return;
  }
  header_->begin.store(keep, std::memory_order_release);
  // A file system without holes keeps the bytes: disk use, not correctness.
  ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(kHeaderSize + punched_),
              static_cast<off_t>(keep - punched_));
  punched_ = keep;
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

OutputLogState OutputLogReader::state() const {
  // `closed` first: what it promises must hold for the end that is read next.
  OutputLogState state;
  state.closed = header_->closed.load(std::memory_order_acquire) != 0;
  state.end = header_->end.load(std::memory_order_acquire);
  state.begin = header_->begin.load(std::memory_order_acquire);
  return state;
}

absl::StatusOr<size_t> OutputLogReader::Read(uint64_t offset, char* buffer,
                                             size_t size) const {
  const uint64_t end = header_->end.load(std::memory_order_acquire);
  const size_t wanted =
      offset >= end ? 0 : std::min<uint64_t>(size, end - offset);
  ssize_t got = 0;
  if (wanted > 0) {
    got = ::pread(file_.get(), buffer, wanted,
                  static_cast<off_t>(kHeaderSize + offset));
    if (got < 0) {
      return absl::ErrnoToStatus(errno, "read(log)");
    }
  }
  const uint64_t begin = header_->begin.load(std::memory_order_acquire);
  if (offset < begin) {
    return absl::OutOfRangeError(
        absl::StrCat("offset ", offset, " is below what is kept, ", begin));
  }
  return static_cast<size_t>(got);
}

}  // namespace sandbox

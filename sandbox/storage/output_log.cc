#include "sandbox/storage/output_log.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/base/status_macros.h"
#include "sandbox/storage/mapped_word.h"

namespace sandbox {
namespace {

// The most bytes that one call moves, so that a busy stream does not starve
// others.
constexpr size_t kMaxAppend = size_t{1} << 20;
// Holes are punched in steps, since each costs a journal entry.
constexpr uint64_t kMinStep = uint64_t{64} << 10;
constexpr uint64_t kMaxStep = uint64_t{8} << 20;
// The block size of most file systems; smaller holes free nothing.
constexpr uint64_t kBlock = 4096;

uint64_t Step(uint64_t retain_bytes) {
  const uint64_t step = std::clamp(retain_bytes / 8, kMinStep, kMaxStep);
  return step - step % kMinStep;
}

uint64_t RoundUp(uint64_t offset) {
  return (offset + kBlock - 1) / kBlock * kBlock;
}

// Sets an extent size on XFS, which otherwise preallocates as much again as a
// growing file has. Works only before the file has extents.
absl::Status LimitPreallocation(int file) {
  struct statfs system = {};
  if (::fstatfs(file, &system) != 0) {
    return absl::ErrnoToStatus(errno, "statfs(log)");
  }
  if (system.f_type != XFS_SUPER_MAGIC) {
    return absl::OkStatus();
  }
  // Keeps inherited attributes, like the project for quotas.
  fsxattr attributes = {};
  if (::ioctl(file, FS_IOC_FSGETXATTR, &attributes) != 0) {
    return absl::ErrnoToStatus(errno, "ioctl(log, FS_IOC_FSGETXATTR)");
  }
  attributes.fsx_xflags |= FS_XFLAG_EXTSIZE;
  attributes.fsx_extsize = kMinStep;
  if (::ioctl(file, FS_IOC_FSSETXATTR, &attributes) != 0) {
    return absl::ErrnoToStatus(errno, "ioctl(log, FS_IOC_FSSETXATTR)");
  }
  return absl::OkStatus();
}

}  // namespace

OutputLogWriter::OutputLogWriter(std::shared_ptr<ExecutionFile> file,
                                 wire::Stream stream)
    : file_(std::move(file)),
      place_(&PlaceOf(stream)),
      header_(file_->page(), place_->header),
      step_(Step(retain_bytes_)) {}

absl::StatusOr<LogPiece> OutputLogWriter::PieceFor(uint64_t offset) {
  if (offset >= place_->window_size && !rest_.valid()) {
    const std::string path = absl::StrCat(file_->path(), place_->suffix);
    // The deletion of an execution of the same name may have left one.
    UniqueFd rest(::open(path.c_str(),
                         O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                         0600));
    if (!rest.valid()) {
      return absl::ErrnoToStatus(errno, absl::StrCat("create ", path));
    }
    RETURN_IF_ERROR(LimitPreallocation(rest.get()));
    rest_ = std::move(rest);
  }
  return PieceAt(files(), *place_, offset);
}

void OutputLogWriter::NoteStart(int64_t start_time_ns) {
  if (StoreMapped(&header_->start, static_cast<uint64_t>(start_time_ns))) {
    state_.start_time_ns = start_time_ns;
  }
}

void OutputLogWriter::SetRetention(uint64_t retain_bytes, Overflow overflow) {
  retain_bytes_ = retain_bytes;
  overflow_ = overflow;
  step_ = Step(retain_bytes);
  if (overflow == Overflow::kHeadAndTail) {
    SetHead(retain_bytes / 2);
  }
}

void OutputLogWriter::SetHead(uint64_t bytes) {
  head_ = bytes;
  hole_begin_ = RoundUp(bytes);
  hole_end_ = hole_begin_;
}

size_t OutputLogWriter::Room() const {
  uint64_t held = 0;
  switch (overflow_) {
    case Overflow::kDropOldest:
    case Overflow::kHeadAndTail:
      return kMaxAppend;
    case Overflow::kBlock:
      held = state_.end - acknowledged_;
      break;
    case Overflow::kKill:
      held = state_.end;
      break;
  }
  return held >= retain_bytes_
             ? 0
             : std::min<uint64_t>(retain_bytes_ - held, kMaxAppend);
}

absl::StatusOr<size_t> OutputLogWriter::AppendFromPipe(int pipe, size_t limit) {
  if (unpublished_ > 0) {
    return PublishMoved();
  }
  RETURN_IF_ERROR(CheckHoles());
  ASSIGN_OR_RETURN(LogPiece piece, PieceFor(state_.end));
  const size_t most = std::min<uint64_t>({limit, Room(), piece.size});
  const ssize_t moved = ::splice(pipe, nullptr, piece.file, &piece.position,
                                 most, SPLICE_F_NONBLOCK);
  if (moved < 0) {
    if (errno == EAGAIN || errno == EINTR) {
      return absl::UnavailableError("pipe is empty");
    }
    return absl::ErrnoToStatus(errno, "splice(pipe, log)");
  }
  unpublished_ = static_cast<size_t>(moved);
  return PublishMoved();
}

absl::Status OutputLogWriter::Append(const char* data, size_t size) {
  RETURN_IF_ERROR(CheckHoles());
  for (size_t done = 0; done < size;) {
    ASSIGN_OR_RETURN(const LogPiece piece, PieceFor(state_.end + done));
    const ssize_t written =
        ::pwrite(piece.file, data + done,
                 std::min<uint64_t>(size - done, piece.size), piece.position);
    if (written == 0 || (written < 0 && errno != EINTR)) {
      return absl::ErrnoToStatus(written < 0 ? errno : ENOSPC, "write(log)");
    }
    done += written > 0 ? static_cast<size_t>(written) : 0;
  }
  // On failure a retry overwrites the same bytes.
  return Publish(size);
}

void OutputLogWriter::Acknowledge(uint64_t offset) {
  acknowledged_ = std::max(acknowledged_, std::min(offset, state_.end));
  Drop(retain_bytes_, step_);
}

void OutputLogWriter::Trim(uint64_t bytes) {
  uint64_t kept = std::max(std::min(bytes, retain_bytes_), kMinRetained);
  if (overflow_ == Overflow::kHeadAndTail) {
    if (state_.gap_end != 0) {
      kept += head_;
    } else if (disk_bytes() > kept) {
      SetHead(std::min(head_, kept / 2));
    }
  }
  Drop(kept, kBlock);
}

void OutputLogWriter::Close() {
  // If this fails, only the execution's record shows the end of stream.
  state_.closed = StoreMapped(&header_->closed, 1);
}

uint64_t OutputLogWriter::disk_bytes() const {
  return state_.end + unpublished_ - (hole_end_ - hole_begin_);
}

uint64_t OutputLogWriter::droppable_bytes() const {
  switch (overflow_) {
    case Overflow::kDropOldest:
      return disk_bytes();
    case Overflow::kHeadAndTail:
      return disk_bytes() - (state_.gap_end != 0 ? hole_begin_ : 0);
    case Overflow::kBlock: {
      const uint64_t whole = acknowledged_ - acknowledged_ % kBlock;
      return whole > hole_end_ ? whole - hole_end_ : 0;
    }
    case Overflow::kKill:
      return 0;
  }
  return 0;
}

absl::StatusOr<size_t> OutputLogWriter::PublishMoved() {
  RETURN_IF_ERROR(Publish(unpublished_));
  return std::exchange(unpublished_, 0);
}

absl::Status OutputLogWriter::Publish(size_t size) {
  if (size == 0) {
    return absl::OkStatus();
  }
  if (!StoreMapped(&header_->end, state_.end + size)) {
    return absl::ErrnoToStatus(EIO, "store(log header)");
  }
  state_.end += size;
  Drop(retain_bytes_, step_);
  return absl::OkStatus();
}

void OutputLogWriter::Drop(uint64_t retain_bytes, uint64_t step) {
  uint64_t expired = 0;
  if (LoadMapped(header_->expired, &expired) && expired != 0) {
    OnExpired();
    DropBefore(state_.end - state_.end % kMinStep);
    return;
  }
  uint64_t tail = retain_bytes;
  switch (overflow_) {
    case Overflow::kDropOldest:
      break;
    case Overflow::kBlock:
      DropBefore(acknowledged_ - acknowledged_ % step);
      return;
    case Overflow::kHeadAndTail:
      tail -= std::min(head_, retain_bytes);
      tail = std::max(tail, kMinRetained / 2);
      break;
    case Overflow::kKill:
      return;
  }
  const uint64_t dropped = state_.end > tail ? state_.end - tail : 0;
  DropBefore(dropped - dropped % step);
}

void OutputLogWriter::OnExpired() {
  if (state_.expired || !LoadMapped(header_->begin, &state_.begin)) {
    return;
  }
  state_.expired = true;
  // All bytes were discarded. Late output is discarded too, whatever the policy
  // was.
  SetRetention(0, Overflow::kDropOldest);
  hole_begin_ = 0;
  hole_end_ = state_.begin;
}

void OutputLogWriter::DropBefore(uint64_t offset) {
  if (overflow_ == Overflow::kHeadAndTail) {
    if (offset <= std::max(head_, state_.gap_end) ||
        !StoreMapped(&header_->gap_begin, head_) ||
        !StoreMapped(&header_->gap_end, offset)) {
      return;
    }
    state_.gap_begin = head_;
    state_.gap_end = offset;
  } else {
    if (offset <= state_.begin || !StoreMapped(&header_->begin, offset)) {
      return;
    }
    state_.begin = offset;
  }
  // A failure shows in unpunched(), and later in CheckHoles().
  (void)Punch();
}

uint64_t OutputLogWriter::Dropped() const {
  return overflow_ == Overflow::kHeadAndTail ? state_.gap_end : state_.begin;
}

absl::Status OutputLogWriter::Punch() {
  if (!unpunched()) {
    return absl::OkStatus();
  }
  const uint64_t dropped = Dropped();
  RETURN_IF_ERROR(PunchLog(files(), *place_, hole_end_, dropped));
  hole_end_ = dropped;
  return absl::OkStatus();
}

absl::Status OutputLogWriter::CheckHoles() {
  return unpunched() && Dropped() - hole_end_ >= retain_bytes_
             ? Punch()
             : absl::OkStatus();
}

}  // namespace sandbox

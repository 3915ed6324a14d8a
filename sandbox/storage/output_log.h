// One output stream of one execution, on disk: a file of 4096 bytes of header
// and then the stream's bytes, each at 4096 + its offset. What retention drops
// becomes a hole in the file, so that offsets never change and disk use stays
// bounded.
//
// The header is mapped by the one writer (the supervisor) and by any number of
// readers in other processes:
//
//   byte  0  char[8]  magic "corral\0\1"
//         8  u64      begin: offset of the first byte kept
//        16  u64      end: one past the last byte written
//        24  u64      closed: 1 when nothing more will come
//        32  u64      gap_begin: the bytes from here
//        40  u64      gap_end: up to here are not kept either
//        48  u64      expired: 1 when nothing is kept any more; begin means
//                     nothing then
//        56  u64      start: when the command began to run, in nanoseconds
//                     since 1970; 0: it has not, or another of its logs says
//        64  ...      0
//
// little-endian, aligned, written with release order after the data and read
// with acquire order. The writer moves `begin` or `gap_end` before it punches
// the hole, so bytes that were read are good if they are outside of both after
// the read. `gap_begin` never changes once `gap_end` is not 0.
//
// A writer is not thread-safe; a reader may be used by any number of threads.

#ifndef SANDBOX_STORAGE_OUTPUT_LOG_H_
#define SANDBOX_STORAGE_OUTPUT_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct OutputLogState {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool closed = false;
  // Bytes between `begin` and `end` that are not kept. Equal: none.
  uint64_t gap_begin = 0;
  uint64_t gap_end = 0;
  // Everything was dropped after the end; `begin` is `end`.
  bool expired = false;
  int64_t start_time_ns = 0;
};

// What happens when more than the retained bytes is written; see
// corral.v1.OutputPolicy.
enum class Overflow { kDropOldest, kBlock, kHeadAndTail, kKill };

// The header page of a log, mapped.
class OutputLogHeader {
 public:
  static constexpr size_t kSize = 4096;
  static constexpr char kMagic[8] = {'c', 'o', 'r', 'r', 'a', 'l', '\0', '\1'};

  OutputLogHeader() = default;
  OutputLogHeader(OutputLogHeader&& other) noexcept;
  OutputLogHeader& operator=(OutputLogHeader&& other) noexcept;
  ~OutputLogHeader();

  // Maps the first page of `fd`, writable or not.
  static absl::StatusOr<OutputLogHeader> Map(int fd, bool writable);

  struct Page {
    char magic[8];
    std::atomic<uint64_t> begin;
    std::atomic<uint64_t> end;
    std::atomic<uint64_t> closed;
    std::atomic<uint64_t> gap_begin;
    std::atomic<uint64_t> gap_end;
    std::atomic<uint64_t> expired;
    std::atomic<uint64_t> start;
  };
  Page* operator->() const { return page_; }

  // All of it, in an order in which each holds for those read after it. An
  // error when the disk does not give it.
  absl::StatusOr<OutputLogState> Load() const;

 private:
  explicit OutputLogHeader(Page* page) : page_(page) {}
  Page* page_ = nullptr;
};

// Appends. Keeps at least retain_bytes, as the policy says; what is beyond is
// dropped in steps of an eighth of them, 64 KiB to 8 MiB.
class OutputLogWriter {
 public:
  // What is kept at least when space is short.
  static constexpr uint64_t kMinRetained = uint64_t{64} << 10;

  // Creates `name` in the directory; AlreadyExists if it is there.
  static absl::StatusOr<OutputLogWriter> Create(int directory,
                                                const std::string& name);

  // For who finds neither the command nor a record of its end. On a disk that
  // has failed nothing is noted.
  void NoteStart(int64_t start_time_ns);

  // What to keep; until it is told, everything.
  void SetRetention(uint64_t retain_bytes, Overflow overflow);
  Overflow overflow() const { return overflow_; }

  // How much may be appended now. 0 when the log is full: with kBlock until
  // more is acknowledged, with kKill for ever; never with the others.
  size_t Room() const;

  // Moves up to `limit` bytes, at most Room(), neither 0, that are ready in a
  // non-blocking pipe into the log, without copying them through this process.
  // Returns how many; 0 at the end of the pipe. Unavailable: nothing is ready.
  // With another error they are still in the pipe, or in the file, and are told
  // by a later call that succeeds.
  absl::StatusOr<size_t> AppendFromPipe(int pipe, size_t limit = SIZE_MAX);

  // `size` must not exceed Room(). With an error nothing was appended, and it
  // may be tried again.
  absl::Status Append(const char* data, size_t size);

  // The caller has everything before `offset` safe.
  void Acknowledge(uint64_t offset);

  // Drops until no more than `bytes` are left of droppable_bytes(), but no less
  // than kMinRetained; with kBlock all that is acknowledged. A log of
  // kHeadAndTail that has no gap yet keeps half of them as its head.
  void Trim(uint64_t bytes);

  // Some of what was dropped could not be given back to the disk.
  bool unpunched() const { return Dropped() > hole_end_; }
  // Tries that again.
  absl::Status Punch();

  void Close();

  // `expired`: that was noticed. Late output is dropped then, whatever the
  // policy.
  const OutputLogState& state() const { return state_; }

  // What the stream's bytes take on the disk.
  uint64_t disk_bytes() const;
  // How much of that Trim() may drop, give or take kMinRetained.
  uint64_t droppable_bytes() const;

 private:
  OutputLogWriter(UniqueFd file, OutputLogHeader header);
  // Lets readers see the `size` bytes in the file after the end.
  absl::Status Publish(size_t size);
  // The same for what was moved from a pipe; returns how much that was.
  absl::StatusOr<size_t> PublishMoved();
  // Drops what is beyond `retain_bytes`, in whole multiples of `step`.
  void Drop(uint64_t retain_bytes, uint64_t step);
  void OnExpired();
  void DropBefore(uint64_t offset);
  // Only while there is no gap.
  void SetHead(uint64_t bytes);
  // Everything before it is dropped, or after the head.
  uint64_t Dropped() const;
  // That disk use is bounded: an error when holes could not be punched for as
  // long as it took to write retain_bytes.
  absl::Status CheckHoles();

  UniqueFd file_;
  OutputLogHeader header_;
  // What the header says.
  OutputLogState state_;
  // Bytes from a pipe that are in the file after the end, until readers may see
  // them.
  size_t unpublished_ = 0;
  uint64_t retain_bytes_ = UINT64_MAX;
  // With kHeadAndTail the bytes before the gap, if there ever is one.
  uint64_t head_ = 0;
  Overflow overflow_ = Overflow::kDropOldest;
  uint64_t step_;
  // Nothing before this must be kept for a caller. Meaningful with kBlock.
  uint64_t acknowledged_ = 0;
  // [hole_begin_, hole_end_) is a hole already, within what is dropped.
  uint64_t hole_begin_ = 0;
  uint64_t hole_end_ = 0;
};

// state() and Read() may wait for the disk, for as long as a disk that hangs:
// they are for worker threads. TryState() and TryRead() never wait, and return
// no value where they would have to; the caller then repeats the call as
// state() or Read() on a worker. On a file system that cannot read without
// waiting (EOPNOTSUPP, as a tmpfs before Linux 6.6) they never return a value.
class OutputLogReader {
 public:
  // May wait for the disk.
  static absl::StatusOr<OutputLogReader> Open(const std::string& path);

  // Fails if the disk does not deliver the header.
  absl::StatusOr<OutputLogState> state() const { return header_.Load(); }
  absl::StatusOr<std::optional<OutputLogState>> TryState() const;

  // Reads up to `size` bytes at `offset` into `buffer`, and not into the gap.
  // Returns how many; 0 at the end of what is written. OutOfRange: the byte at
  // `offset` is not kept, also if it was dropped during the read. DataLoss: it
  // should be there and is not. TryRead() returns fewer bytes if only these are
  // in memory.
  absl::StatusOr<size_t> Read(uint64_t offset, char* buffer, size_t size) const;
  absl::StatusOr<std::optional<size_t>> TryRead(uint64_t offset, char* buffer,
                                                size_t size) const;

 private:
  OutputLogReader(UniqueFd file, OutputLogHeader header);
  // True if the header can be loaded without waiting.
  absl::StatusOr<bool> HeaderIsInMemory() const;
  // How many of `size` bytes at `offset` have been written.
  absl::StatusOr<size_t> Available(uint64_t offset, size_t size) const;
  // What may be passed on of `got` bytes, of `wanted`, that were read at
  // `offset`.
  absl::StatusOr<size_t> Check(uint64_t offset, size_t wanted,
                               size_t got) const;

  UniqueFd file_;
  OutputLogHeader header_;
};

// Drops everything that a log holds, but not its end. For the log of an
// execution that has ended; any process may do it, and repeat it. NotFound:
// there is no such log.
absl::Status ExpireOutputLog(const std::string& path);

// For a log whose host went down while it was written: cuts what did not reach
// the disk, and closes it. Nothing may have it open.
absl::Status CutOutputLog(const std::string& path);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_OUTPUT_LOG_H_

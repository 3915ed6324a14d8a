// One output stream of one execution, on disk. execution_layout.h says where
// its bytes lie. Bytes that retention drops become a hole in their file, so
// that offsets never change and disk use stays bounded.
//
// The one writer (the supervisor) and any number of readers in other processes
// map the header, which has 64 bytes:
//
//   byte  0  8 bytes of no meaning
//         8  u64      begin: offset of the first byte kept
//        16  u64      end: one past the last byte written
//        24  u64      closed: 1 at the end of stream
//        32  u64      gap_begin: the bytes from here
//        40  u64      gap_end: up to here were discarded too
//        48  u64      expired: 1 when all bytes were discarded; begin is
//                     undefined then
//        56  u64      start: when the command began to run, in nanoseconds
//                     since 1970; 0: not yet, or another of its logs has it
//
// Numbers are little-endian and aligned, written with release order after the
// data and read with acquire order. The writer moves `begin` or `gap_end`
// before it punches the hole, so bytes that were read are valid if after the
// read both still exclude them. `gap_begin` never changes once `gap_end` is not
// 0.
//
// A writer is not thread-safe; any number of threads may use a reader.

#ifndef SANDBOX_STORAGE_OUTPUT_LOG_H_
#define SANDBOX_STORAGE_OUTPUT_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/execution_layout.h"
#include "sandbox/storage/log_pieces.h"
#include "sandbox/storage/mapped_page.h"

namespace sandbox {

struct OutputLogState {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool closed = false;
  // The discarded bytes between `begin` and `end`; equal if there are none.
  uint64_t gap_begin = 0;
  uint64_t gap_end = 0;
  // True if all bytes were discarded after the command had ended; then `begin`
  // is `end`.
  bool expired = false;
  int64_t start_time_ns = 0;
};

// The reaction when a command writes more than the retained bytes; see
// corral.v1.OutputPolicy.
enum class Overflow { kDropOldest, kBlock, kHeadAndTail, kKill };

// The header of a log, in a mapped page.
class OutputLogHeader {
 public:
  OutputLogHeader(std::shared_ptr<MappedPage> page, size_t position)
      : page_(std::move(page)), fields_(page_->At<Fields>(position)) {}

  struct Fields {
    uint64_t unused;
    std::atomic<uint64_t> begin;
    std::atomic<uint64_t> end;
    std::atomic<uint64_t> closed;
    std::atomic<uint64_t> gap_begin;
    std::atomic<uint64_t> gap_end;
    std::atomic<uint64_t> expired;
    std::atomic<uint64_t> start;
  };
  Fields* operator->() const { return fields_; }

  // Loads all fields, in an order that keeps them consistent. Fails if the disk
  // does not deliver the page.
  absl::StatusOr<OutputLogState> Load() const;

 private:
  std::shared_ptr<MappedPage> page_;
  Fields* fields_;
};

// Returns what the header of a log says that lies in `page`, a copy of the
// first page of its file, at `place`.
OutputLogState LogStateIn(absl::string_view page, const LogPlace& place);

// A log, opened by those who are not its writer.
struct OpenedLog {
  // Opens the log of `stream` of the execution whose file, or directory, is
  // `execution`. `access` as for open(2). May wait for the disk. Fails with
  // NotFound if there is none, and with DataLoss if it is no log.
  static absl::StatusOr<OpenedLog> Open(const std::string& execution,
                                        wire::Stream stream, int access);
  // Opens the file with the rest, if the place has one. Fails with NotFound if
  // there is no such file, or the execution was deleted.
  absl::StatusOr<UniqueFd> OpenRest(int access) const;

  // With the header.
  UniqueFd file;
  const LogPlace* place;
  OutputLogHeader header;
  // The path of the execution.
  std::string path;
};

// Appends to a log. Keeps at least retain_bytes, as the policy says, and drops
// bytes beyond that in steps of an eighth of it, 64 KiB to 8 MiB.
class OutputLogWriter {
 public:
  // The bytes that Trim() always keeps.
  static constexpr uint64_t kMinRetained = uint64_t{64} << 10;

  // The log of `stream` in a file that has had none of it yet.
  OutputLogWriter(std::shared_ptr<ExecutionFile> file, wire::Stream stream);

  // Persists the start time, for recovery after the supervisor and its record
  // of the end are lost. Does nothing on a disk that has failed.
  void NoteStart(int64_t start_time_ns);

  // Sets what to keep. Before the first call everything is kept.
  void SetRetention(uint64_t retain_bytes, Overflow overflow);
  Overflow overflow() const { return overflow_; }

  // Returns how much may be appended now. 0 when the log is full: with kBlock
  // until more is acknowledged, with kKill for ever. Never 0 with the other
  // policies.
  size_t Room() const;

  // Moves up to `limit` bytes, at most Room(), from a non-blocking pipe into
  // the log without copying them through this process; neither may be 0.
  // Returns how many; 0 at the end of the pipe. Fails with Unavailable if the
  // pipe is empty. After another error the bytes are still in the pipe or in
  // the file, and a later call that succeeds counts them.
  absl::StatusOr<size_t> AppendFromPipe(int pipe, size_t limit = SIZE_MAX);

  // `size` must not exceed Room(). After an error nothing was appended, and the
  // caller may retry.
  absl::Status Append(const char* data, size_t size);

  // Notes that the caller has stored everything before `offset`.
  void Acknowledge(uint64_t offset);

  // Drops bytes until at most `bytes`, or kMinRetained, of droppable_bytes()
  // are left; with kBlock drops all acknowledged bytes. A log of kHeadAndTail
  // that has no gap yet keeps half of the rest as its head.
  void Trim(uint64_t bytes);

  // True if some dropped bytes could not be given back to the disk.
  bool unpunched() const { return Dropped() > hole_end_; }
  // Retries to give them back.
  absl::Status Punch();

  void Close();

  // `expired` is true once the writer has noticed it. From then on it drops
  // late output, whatever the policy.
  const OutputLogState& state() const { return state_; }

  // Returns how many bytes of the disk the stream takes.
  uint64_t disk_bytes() const;
  // Returns how many of these Trim() may drop, give or take kMinRetained.
  uint64_t droppable_bytes() const;

 private:
  // Returns where the bytes from `offset` on go. Makes the file with the rest
  // when it is needed.
  absl::StatusOr<LogPiece> PieceFor(uint64_t offset);
  LogFiles files() const { return {file_->fd(), rest_.get()}; }
  // Lets readers see the `size` bytes in the file after the end.
  absl::Status Publish(size_t size);
  // Publishes the bytes that were moved from a pipe, and returns how many.
  absl::StatusOr<size_t> PublishMoved();
  // Drops bytes beyond `retain_bytes`, in whole multiples of `step`.
  void Drop(uint64_t retain_bytes, uint64_t step);
  void OnExpired();
  void DropBefore(uint64_t offset);
  // Call only while there is no gap.
  void SetHead(uint64_t bytes);
  // The end of the dropped bytes: those from the begin, or from the head on.
  uint64_t Dropped() const;
  // Bounds disk use: fails if no hole could be punched while retain_bytes were
  // written.
  absl::Status CheckHoles();

  std::shared_ptr<ExecutionFile> file_;
  const LogPlace* place_;
  OutputLogHeader header_;
  // The file with the rest, once it is needed.
  UniqueFd rest_;
  // The content of the header.
  OutputLogState state_;
  // Bytes from a pipe that are in the file after the end, until readers may see
  // them.
  size_t unpublished_ = 0;
  uint64_t retain_bytes_ = UINT64_MAX;
  // With kHeadAndTail, the number of bytes that are kept before the gap.
  uint64_t head_ = 0;
  Overflow overflow_ = Overflow::kDropOldest;
  uint64_t step_;
  // With kBlock, callers have stored everything before this offset.
  uint64_t acknowledged_ = 0;
  // The part [hole_begin_, hole_end_) of the dropped bytes is a hole in the
  // file already.
  uint64_t hole_begin_ = 0;
  uint64_t hole_end_ = 0;
};

// Reads a log while its writer works. state() and Read() may wait for the disk,
// for ever if it hangs: call them on worker threads. TryState() and TryRead()
// never wait, and return no value where they would have to; the caller then
// repeats the call as state() or Read() on a worker. On a file system that
// cannot read without waiting (EOPNOTSUPP, as a tmpfs before Linux 6.6) they
// never return a value.
class OutputLogReader {
 public:
  // Opens the log of `stream` of the execution whose file, or directory, is
  // `execution`. May wait for the disk. Fails with NotFound if there is none.
  static absl::StatusOr<OutputLogReader> Open(const std::string& execution,
                                              wire::Stream stream);

  // Fails if the disk does not deliver the header.
  absl::StatusOr<OutputLogState> state() const { return log_.header.Load(); }
  absl::StatusOr<std::optional<OutputLogState>> TryState() const;

  // Reads up to `size` bytes at `offset` into `buffer`, and not into the gap.
  // Returns how many; 0 at the end of the written bytes. Fails with OutOfRange
  // if the byte at `offset` is not kept, also if it was dropped during the
  // read, with DataLoss if the file ends before bytes that the header promises,
  // and with NotFound if the execution was deleted. TryRead() returns fewer
  // bytes if only these are in memory.
  absl::StatusOr<size_t> Read(uint64_t offset, char* buffer, size_t size) const;
  absl::StatusOr<std::optional<size_t>> TryRead(uint64_t offset, char* buffer,
                                                size_t size) const;

  // Returns when the files were last written, in seconds since 1970. May wait
  // for the disk.
  absl::StatusOr<int64_t> WriteTime() const;

 private:
  // The file with the rest, which readers open when they first need it.
  struct Rest {
    Mutex mutex;
    UniqueFd file ABSL_GUARDED_BY(mutex);
  };

  explicit OutputLogReader(OpenedLog log)
      : log_(std::move(log)), rest_(std::make_unique<Rest>()) {}
  // True if the header can be loaded without waiting.
  absl::StatusOr<bool> HeaderIsInMemory() const;
  // The number of those `size` bytes at `offset` that have been written.
  absl::StatusOr<size_t> Available(uint64_t offset, size_t size) const;
  // Returns the files. The one with the rest is opened if `open_rest` says so
  // and nobody has done it.
  absl::StatusOr<LogFiles> Files(bool open_rest) const;
  // Reads bytes that have been written. No value: it would have to wait.
  absl::StatusOr<std::optional<size_t>> ReadPieces(uint64_t offset,
                                                   char* buffer, size_t size,
                                                   bool wait) const;
  // Returns how many of the `got` bytes that were read at `offset` are valid.
  // Fails as Read() does.
  absl::StatusOr<size_t> Check(uint64_t offset, size_t wanted,
                               size_t got) const;

  OpenedLog log_;
  std::unique_ptr<Rest> rest_;
};

// Discards all bytes of a log, but not its end offset. For the log of an
// execution that has ended; any process may call it, also repeatedly. Fails
// with NotFound if there is no such log.
absl::Status ExpireOutputLog(const std::string& execution, wire::Stream stream);

// Recovers a log whose host went down while it was written: cuts the bytes that
// did not reach the disk, and closes it. No process may have it open.
absl::Status CutOutputLog(const std::string& execution, wire::Stream stream);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_OUTPUT_LOG_H_

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
//        32  ...      0
//
// little-endian, aligned, written with release order after the data and read
// with acquire order. The writer moves `begin` before it punches the hole, so
// bytes that were read are good if `begin` is not beyond their first offset
// after the read.
//
// A writer is not thread-safe; a reader may be used by any number of threads.

#ifndef SANDBOX_OUTPUT_LOG_H_
#define SANDBOX_OUTPUT_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct OutputLogState {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool closed = false;
};

// The header page of a log, mapped.
class OutputLogHeader {
 public:
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
  };
  Page* operator->() const { return page_; }

 private:
  explicit OutputLogHeader(Page* page) : page_(page) {}
  Page* page_ = nullptr;
};

// Appends. Keeps at least the last retain_bytes, and drops older bytes unless
// it is told to keep what was not acknowledged.
class OutputLogWriter {
 public:
  // Creates `name` in the directory; AlreadyExists if it is there.
  static absl::StatusOr<OutputLogWriter> Create(int directory,
                                                const std::string& name);

  // What to keep; until it is told, everything.
  void SetRetention(uint64_t retain_bytes, bool block_when_full);

  // How much may be appended now: 0 when the log is full and blocks.
  size_t Room() const;

  // Moves up to Room() bytes that are ready in a non-blocking pipe into the
  // log, without copying them through this process. Room() must not be 0.
  // Returns how many; 0 at the end of the pipe. Unavailable: nothing is ready.
  absl::StatusOr<size_t> AppendFromPipe(int pipe);

  // `size` must not exceed Room().
  absl::Status Append(const char* data, size_t size);

  // The caller has everything before `offset` safe.
  void Acknowledge(uint64_t offset);

  void Close();

  OutputLogState state() const;

 private:
  OutputLogWriter(UniqueFd file, OutputLogHeader header);
  void Advance(size_t size);
  void Drop();

  UniqueFd file_;
  OutputLogHeader header_;
  uint64_t retain_bytes_ = UINT64_MAX;
  bool block_when_full_ = false;
  // Nothing before this must be kept for a caller. Meaningful if
  // block_when_full_.
  uint64_t acknowledged_ = 0;
  // Bytes before this are holes already; at most begin.
  uint64_t punched_ = 0;
};

class OutputLogReader {
 public:
  static absl::StatusOr<OutputLogReader> Open(const std::string& path);

  OutputLogState state() const;

  // Reads up to `size` bytes at `offset` into `buffer`. Returns how many; 0 at
  // the end of what is written. OutOfRange: `offset` is below what is kept,
  // also if it was dropped during the read.
  absl::StatusOr<size_t> Read(uint64_t offset, char* buffer, size_t size) const;

 private:
  OutputLogReader(UniqueFd file, OutputLogHeader header);

  UniqueFd file_;
  OutputLogHeader header_;
};

}  // namespace sandbox

#endif  // SANDBOX_OUTPUT_LOG_H_

// The times at which a terminal's output was written and the terminal was
// resized: the file <execution>.times of execution_layout.h.
//
// The file is a sequence of records of 24 bytes, little-endian:
//
//   byte  0  u64  offset: the output from here on ...
//         8  u64  ... was written at least this many milliseconds after the
//                 terminal was made
//        16  u32  rows, 20  u32  columns: the terminal's size from here on; 0:
//                 unchanged
//
// Offsets and times never decrease. Output without a record of its own was
// written soon after the output before it. Readers ignore an incomplete record
// at the end.

#ifndef SANDBOX_STORAGE_TERMINAL_TIMES_H_
#define SANDBOX_STORAGE_TERMINAL_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {

struct TerminalTime {
  uint64_t offset = 0;
  uint64_t milliseconds = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
};
static_assert(sizeof(TerminalTime) == 24, "it is written as it is");

// After the name of the execution.
inline constexpr char kTerminalTimes[] = ".times";

// Appends to the file, which it makes for the first record. A terminal without
// times works as well, so a disk that fails ends the records and nothing else.
// Not thread-safe.
class TerminalTimesWriter {
 public:
  // `path` is that of the file. The terminal was made at `now`, in milliseconds
  // by a clock that only goes forward, like all times here.
  TerminalTimesWriter(std::string path, uint64_t now)
      : path_(std::move(path)), begin_(now) {}

  // Records that the log has grown to `end` by `now`.
  void OnOutput(uint64_t end, uint64_t now);
  void OnResize(uint32_t rows, uint32_t columns, uint64_t now);
  // Removes the file. Nothing is written any more.
  void Expire();

  // Output that follows this soon gets no record. The interval doubles after
  // each kBatch records, so that the file stays small however long a command
  // writes.
  static constexpr uint64_t kInterval = 20;
  static constexpr uint64_t kBatch = 4096;

 private:
  void Append(const TerminalTime& time);

  const std::string path_;
  const uint64_t begin_;
  UniqueFd file_;
  bool stopped_ = false;
  uint64_t records_ = 0;
  // The output that is known.
  uint64_t end_ = 0;
  // The time of the last record about output.
  uint64_t last_ = 0;
};

// Returns up to `count` records from the index `first` on of the execution
// whose file, or directory, is `execution`; fewer at the end of the file.
// Fails with NotFound if there is no such file. Blocks on the disk.
absl::StatusOr<std::vector<TerminalTime>> ReadTerminalTimes(
    const std::string& execution, uint64_t first, size_t count);

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_TERMINAL_TIMES_H_

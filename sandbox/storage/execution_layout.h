// Where everything of an execution lies on disk: in one file, which is named
// like the execution and has
//
//   byte     0  ExecutionHeader
//           64  OutputLogHeader of stdout, or of the terminal
//          128  OutputLogHeader of stderr
//          192  the record of the end, if it has at most 1344 bytes
//         1536  the record of the start, if it has at most 1536 bytes
//         3072  the first 1024 bytes of stderr: its window
//         4096  the first 4096 bytes of stdout or of the terminal: its window
//         8192  the record of the end, if it has more
//        12288  the record of the start, if it has more
//
// and in files beside it, which are made when they are needed:
//
//   <execution>.out    stdout or the terminal after its window
//   <execution>.err    stderr after its window
//   <execution>.times  see terminal_times.h
//
// Byte o of a stream is at position o of its .out or .err, which begins with a
// hole. Records are sealed: see record_file.h. A record that is absent or torn
// was never written.
//
// The first page is allocated before the command starts, so that the record of
// the end finds room on a full disk. No id has a dot, so that no execution has
// the name of a file that belongs to another.
//
// Supervisors before this format made a directory <execution> with start.pb,
// exit.pb or exit.pb.new, and for each stream a file of its name: an
// OutputLogHeader, and from 4096 on the stream. They may still run.

#ifndef SANDBOX_STORAGE_EXECUTION_LAYOUT_H_
#define SANDBOX_STORAGE_EXECUTION_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "corral/supervisor/v1/supervisor.pb.h"

namespace sandbox {

namespace wire = ::corral::supervisor::v1;

// Numbers are little-endian. Written by the supervisor, read by the server once
// the host has gone down.
struct ExecutionHeader {
  static constexpr char kMagic[8] = {'c', 'o', 'r', 'r', 'a', 'l', '\0', '\3'};

  char magic[8];
  // 1: of each stream, all bytes before its entry in `synced_ends` were on the
  // disk before this was stored. The seal of a record shows whether that is. An
  // end with output and without this does not count when the host has gone down
  // since.
  std::atomic<uint64_t> synced;
  // By the number of the log.
  std::atomic<uint64_t> synced_ends[2];
  uint64_t reserved[4];
};
static_assert(sizeof(ExecutionHeader) == 64, "the file's format");

// Where a record of at most `size` bytes lies, with its seal, and where a
// longer one does.
struct RecordPlace {
  size_t position;
  size_t size;
  size_t long_position;
  size_t long_size;
};
// The first place has room for all that an end can have, with 32 killed
// processes, a request_id of 128 characters and a trace.
inline constexpr RecordPlace kEndPlace = {192, 1344, 8192, 4096};
inline constexpr RecordPlace kStartPlace = {1536, 1536, 12288, size_t{8} << 20};

// Where a log lies.
struct LogPlace {
  // The index in ExecutionHeader::synced_ends.
  size_t number;
  // The position of its OutputLogHeader.
  size_t header;
  size_t window;
  uint64_t window_size;
  // Names the file with the rest. Null: the rest is in the same file, from
  // `rest` on.
  const char* suffix;
  uint64_t rest;
};
inline constexpr LogPlace kOutputPlace = {0, 64, 4096, 4096, ".out", 0};
inline constexpr LogPlace kErrorPlace = {1, 128, 3072, 1024, ".err", 0};
// In a directory of an earlier supervisor.
inline constexpr LogPlace kDirectoryPlace = {0, 0, 0, 0, nullptr, 4096};

// An execution has a terminal or the other streams.
inline const LogPlace& PlaceOf(wire::Stream stream) {
  return stream == wire::STDERR ? kErrorPlace : kOutputPlace;
}

}  // namespace sandbox

#endif  // SANDBOX_STORAGE_EXECUTION_LAYOUT_H_

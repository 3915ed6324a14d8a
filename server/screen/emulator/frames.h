// The messages between corrald and an emulator process, over a socket pair that
// carries a stream of bytes. Both come from one build, so numbers are in the
// host's byte order.
//
// A request is a Request, followed by `size` bytes of output for kWrite. A
// kGet is answered with a Reply, followed by `answers_size` bytes of answers
// and `screen_size` bytes of a serialized corral.v1.Screen. Other requests have
// no answer.

#ifndef SERVER_SCREEN_EMULATOR_FRAMES_H_
#define SERVER_SCREEN_EMULATOR_FRAMES_H_

#include <cstdint>

namespace screen {

// The descriptor of an emulator's socket.
inline constexpr int kEmulatorSocket = 3;

// The exit status of an emulator for whose filter the host has no memory, see
// filter_error.h in sandbox/base.
inline constexpr int kNoFilterMemoryStatus = 3;

enum class Action : uint32_t {
  // The first action, sent once: rows, columns, offset.
  kBegin = 1,
  // size, and that many bytes of output.
  kWrite = 2,
  kClear = 3,
  // scrollback_lines, styles, offset.
  kGet = 4,
  // offset: the number of bytes that are missing before the next output.
  kSkip = 5,
};

struct Request {
  Action action;
  uint32_t size;
  uint32_t rows;
  uint32_t columns;
  uint32_t scrollback_lines;
  uint32_t styles;
  // The offset of the first byte of output (kBegin), or of the first question
  // whose answer is wanted (kGet); or a number of bytes (kSkip).
  uint64_t offset;
};

struct Reply {
  uint32_t answers_size;
  uint32_t screen_size;
};

// The largest kWrite.
inline constexpr uint32_t kMaxWrite = 64 << 10;

// Larger terminals have no screen: an emulator has a fixed amount of memory.
inline constexpr uint32_t kMaxRows = 2048;
inline constexpr uint32_t kMaxColumns = 4096;
inline constexpr uint32_t kMaxScreenCells = 256 << 10;
// The most bytes of a reply: no emulator sends more.
inline constexpr uint32_t kMaxReply = 64 << 20;

}  // namespace screen

#endif  // SERVER_SCREEN_EMULATOR_FRAMES_H_

// Writes zeros from memory: byte_source BYTES GATE
//
// After the first 4 KiB it waits until nobody holds an exclusive lock on the
// file GATE, so that many of them can go on at the same moment.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kFirstBytes = 4 << 10;
constexpr int64_t kBlockBytes = 64 << 10;
const char block[kBlockBytes] = {};

bool Write(int64_t bytes) {
  while (bytes > 0) {
    const ssize_t written =
        write(STDOUT_FILENO, block, std::min(bytes, kBlockBytes));
    if (written < 0) {
      return false;
    }
    bytes -= written;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  const int64_t bytes = std::strtoll(argv[1], nullptr, 10);
  const int gate = open(argv[2], O_RDONLY | O_CLOEXEC);
  if (gate < 0 || !Write(std::min(bytes, kFirstBytes)) ||
      flock(gate, LOCK_SH) != 0) {
    return 1;
  }
  return Write(bytes - std::min(bytes, kFirstBytes)) ? 0 : 1;
}

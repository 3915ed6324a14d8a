// A command of known output and known end.
//
//     payload LEDGER write SEED SIZE SEED SIZE CHUNK PAUSE END
//     payload LEDGER echo END
//
// Appends one line to the file LEDGER each time that it is started. "write"
// writes SIZE bytes of the pattern SEED to standard output and to standard
// error, alternately and in pieces of at most CHUNK bytes, with PAUSE
// microseconds between them. "echo" writes its input to its output. END is the
// exit code, or -N to end by signal N.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/chaos/pattern.h"

namespace {

constexpr int kBroken = 99;

void WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0 && errno != EINTR) {
      ::_exit(kBroken);
    }
    data += std::max<ssize_t>(written, 0);
    size -= std::max<ssize_t>(written, 0);
  }
}

void NoteStart(const char* ledger) {
  const int fd =
      ::open(ledger, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    ::_exit(kBroken);
  }
  WriteAll(fd, "started\n", 8);
  ::close(fd);
}

struct Output {
  int fd;
  uint64_t seed;
  uint64_t size;
  uint64_t written = 0;
};

bool WritePiece(Output& output, std::vector<char>& buffer, uint64_t size) {
  size = std::min(size, output.size - output.written);
  tests::FillPattern(output.seed, output.written, buffer.data(), size);
  WriteAll(output.fd, buffer.data(), size);
  output.written += size;
  return output.written < output.size;
}

void Write(Output out, Output error, uint64_t chunk, useconds_t pause) {
  std::vector<char> buffer(chunk);
  uint64_t step = chunk;
  bool more = true;
  while (more) {
    step = step * 25214903917 % 2147483647;
    const uint64_t size = 1 + step % chunk;
    const bool more_out = WritePiece(out, buffer, size);
    const bool more_error = WritePiece(error, buffer, size);
    more = more_out || more_error;
    if (more && pause > 0) {
      ::usleep(pause);
    }
  }
}

void Echo() {
  std::vector<char> buffer(65536);
  ssize_t size;
  while ((size = ::read(STDIN_FILENO, buffer.data(), buffer.size())) != 0) {
    if (size < 0 && errno != EINTR) {
      ::_exit(kBroken);
    }
    WriteAll(STDOUT_FILENO, buffer.data(), std::max<ssize_t>(size, 0));
  }
}

[[noreturn]] void End(int how) {
  if (how < 0) {
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(-how, SIG_DFL);
    ::kill(::getpid(), -how);
    ::pause();
  }
  ::_exit(how);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    return kBroken;
  }
  NoteStart(argv[1]);
  if (std::strcmp(argv[2], "echo") == 0) {
    Echo();
    End(std::atoi(argv[3]));
  }
  if (argc != 10) {
    return kBroken;
  }
  const auto number = [argv](int i) {
    return std::strtoull(argv[i], nullptr, 10);
  };
  Write({STDOUT_FILENO, number(3), number(4)},
        {STDERR_FILENO, number(5), number(6)}, number(7), number(8));
  End(std::atoi(argv[9]));
}

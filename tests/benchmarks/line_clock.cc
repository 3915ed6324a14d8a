// Writes the time, line by line: line_clock LINES MILLISECONDS
//
// Each line is the number of nanoseconds since 1970 just before it was written.
// The pause comes first. LINES may be 0: until its end by a signal.

#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  const int64_t lines = std::strtoll(argv[1], nullptr, 10);
  const int64_t milliseconds = std::strtoll(argv[2], nullptr, 10);
  const timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  for (int64_t i = 0; lines == 0 || i < lines; ++i) {
    nanosleep(&pause, nullptr);
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    char line[32];
    const int size = std::snprintf(
        line, sizeof line, "%lld\n",
        static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
    if (write(STDOUT_FILENO, line, size) != size) {
      return 1;
    }
  }
  return 0;
}

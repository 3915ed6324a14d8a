// Shows what a thread of this process waits for.

#ifndef TESTS_WAITING_THREAD_H_
#define TESTS_WAITING_THREAD_H_

#include <sys/syscall.h>
#include <sys/types.h>

#include <fstream>
#include <string>

namespace tests {

// True if the thread sleeps in the system call `number` (SYS_*).
inline bool WaitsIn(pid_t thread, int number) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string present;
  file >> present;
  return present == std::to_string(number);
}

// True if it waits for a lock, or for a condition.
inline bool WaitsForALock(pid_t thread) { return WaitsIn(thread, SYS_futex); }

}  // namespace tests

#endif  // TESTS_WAITING_THREAD_H_

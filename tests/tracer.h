// Makes system calls of a running process fail, with strace's fault injection
// (https://man7.org/linux/man-pages/man1/strace.1.html, "Tampering").

#ifndef TESTS_TRACER_H_
#define TESTS_TRACER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/process.h"

namespace tests {

struct Fault {
  // One system call or several: "write,pwrite64".
  std::string calls;
  // For example "error=EIO", "signal=KILL" or "delay_enter=MICROSECONDS".
  std::string effect;
  // The number of the first call of a thread that is struck, counted from 1.
  int when = 1;
  // True to strike all later calls, too.
  bool lasting = false;

  std::string ToString() const;
};

class Tracer {
 public:
  // Returns true if this host lets a process trace another one.
  static bool IsPermitted();

  // Attaches to a process and all its threads; processes and threads that they
  // start are traced too. `record` is a file for what happens to them.
  Tracer(pid_t pid, const Fault& fault, const std::string& record);
  // Detaches.
  ~Tracer() { Detach(); }

  // The words that, put before a program's own, run it traced from its first
  // call on. The program keeps the process id that it would have without them.
  static std::vector<std::string> Prefix(const Fault& fault,
                                         const std::string& record);

  void Detach();

  // Returns true if a call failed or was delayed by the fault. Valid when the
  // process has ended or the tracer was detached.
  static bool HasStruck(const std::string& record);
  // Returns true if a process was killed, by the fault or by another process.
  // Valid at the same time.
  static bool HasKilled(const std::string& record);

 private:
  std::unique_ptr<Process> strace_;
};

}  // namespace tests

#endif  // TESTS_TRACER_H_

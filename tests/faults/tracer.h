// Makes system calls of a running process fail, by strace's fault injection
// (https://man7.org/linux/man-pages/man1/strace.1.html, "Tampering").

#ifndef TESTS_FAULTS_TRACER_H_
#define TESTS_FAULTS_TRACER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/process.h"

namespace tests {

struct Fault {
  // One system call, or several: "write,pwrite64".
  std::string calls;
  // "error=EIO", "signal=KILL", ...
  std::string effect;
  // The first call of a thread that is struck, counted from 1.
  int when = 1;
  // All later ones too.
  bool lasting = false;

  std::string ToString() const;
};

class Tracer {
 public:
  // Whether this host lets a process trace another.
  static bool IsPermitted();

  // Attaches to a process and all its threads; what it starts later is traced
  // too. `record`: a file to write what happens to.
  Tracer(pid_t pid, const Fault& fault, const std::string& record);
  // Detaches.
  ~Tracer() { Detach(); }

  // The words before a program's own that make it run traced from its first
  // call on. It keeps the process id that it would have without.
  static std::vector<std::string> Prefix(const Fault& fault,
                                         const std::string& record);

  void Detach();

  // Whether a call was struck, once the process has ended or the tracer was
  // detached.
  static bool HasStruck(const std::string& record);

 private:
  std::unique_ptr<Process> strace_;
};

}  // namespace tests

#endif  // TESTS_FAULTS_TRACER_H_

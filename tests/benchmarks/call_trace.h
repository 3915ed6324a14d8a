// Counts the system calls of a process with strace, so that the figures do not
// depend on what else the machine does.
//
// Not thread-safe.

#ifndef TESTS_BENCHMARKS_CALL_TRACE_H_
#define TESTS_BENCHMARKS_CALL_TRACE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tests {

// A system call and when it began.
struct SystemCall {
  // The thread's id.
  pid_t thread;
  absl::Time begin;
  std::string name;
};

class CallTrace {
 public:
  // Traces a process, its threads and its children from now on. `file` is
  // written.
  static absl::StatusOr<CallTrace> Attach(pid_t pid, const std::string& file);
  ~CallTrace();  // detaches

  CallTrace(CallTrace&& other) noexcept;
  CallTrace& operator=(CallTrace&&) = delete;

  // Detaches and returns the calls in the order in which they began.
  absl::StatusOr<std::vector<SystemCall>> Stop();

 private:
  CallTrace(pid_t strace, std::string file);

  void Detach();

  // 0 after the end.
  pid_t strace_;
  std::string file_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_CALL_TRACE_H_

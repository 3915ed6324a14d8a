#include "tests/failing_calls.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include <thread>

#include "absl/status/status.h"

namespace tests {

bool FailCalls(const std::vector<int>& numbers, int error) {
  std::vector<sock_filter> program;
  program.push_back(
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const int number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                               static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(
        BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog filter = {static_cast<unsigned short>(program.size()),
                       program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool WithFailingCalls(const std::vector<int>& numbers, int error,
                      const std::function<void()>& function) {
  // Makes the table of the errors' names, which all threads share. TSan does
  // not see how Debian's Abseil guards it.
  (void)absl::ErrnoToStatus(error, "");
  bool installed = false;
  std::thread thread([&] {
    installed = FailCalls(numbers, error);
    if (installed) {
      function();
    }
  });
  thread.join();
  return installed;
}

}  // namespace tests

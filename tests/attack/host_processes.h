// How the host sees the processes of a sandbox.

#ifndef TESTS_ATTACK_HOST_PROCESSES_H_
#define TESTS_ATTACK_HOST_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tests {

struct HostProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  uid_t user = 0;
  char state = '?';
};

std::optional<HostProcess> FindProcess(pid_t pid);

// Finds the process whose command line contains `text`. The caller makes the
// text unique.
std::optional<HostProcess> FindProcess(const std::string& text);

// The processes of all users of the sandbox that `user` belongs to, without
// processes that have ended and are not reaped yet.
std::vector<HostProcess> ProcessesOfSandbox(uid_t user);

// Waits until the processes have ended.
void WaitForEnd(const std::vector<HostProcess>& processes);

}  // namespace tests

#endif  // TESTS_ATTACK_HOST_PROCESSES_H_

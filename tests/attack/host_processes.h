// What the host sees of a sandbox's processes.

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

// The one whose command line holds `text`; the caller makes it unique.
std::optional<HostProcess> FindProcess(const std::string& text);

// Those of all users in the sandbox that `user` belongs to, less those that
// have ended and that whoever inherited them has yet to reap.
std::vector<HostProcess> ProcessesOfSandbox(uid_t user);

// Until they have ended.
void WaitForEnd(const std::vector<HostProcess>& processes);

}  // namespace tests

#endif  // TESTS_ATTACK_HOST_PROCESSES_H_

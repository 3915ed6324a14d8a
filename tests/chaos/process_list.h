// The processes of a host, as /proc shows them.

#ifndef TESTS_CHAOS_PROCESS_LIST_H_
#define TESTS_CHAOS_PROCESS_LIST_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tests {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  // The real one.
  uid_t user = 0;
  // At most 15 bytes.
  std::string name;

  // True for the programs of any Corral of this host, and for what runs as a
  // user of a sandbox.
  bool IsCorrals() const;
};

// Returns nothing if there is no such process. One that has ended counts until
// it is reaped.
std::optional<ProcessEntry> FindProcess(pid_t pid);

std::vector<ProcessEntry> ListProcesses();

}  // namespace tests

#endif  // TESTS_CHAOS_PROCESS_LIST_H_

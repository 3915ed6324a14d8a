// Finds out by trying which isolation features this host can enforce.

#ifndef SANDBOX_KERNEL_ISOLATION_H_
#define SANDBOX_KERNEL_ISOLATION_H_

#include <string>
#include <vector>

namespace sandbox {

struct IsolationFeature {
  std::string name;
  bool enforced = false;
  // True if no sandbox can be made without it.
  bool required = false;
  // States how it is enforced, or why it is not.
  std::string detail;
  // The part that this host does not cover. Empty: nothing is left out.
  std::string gap;
};

// Takes some milliseconds and forks: call it before threads are started.
std::vector<IsolationFeature> ProbeIsolation();

// Reports whether commands that fill the disk of a workspace leave room for the
// records of others; see record_space.h.
IsolationFeature ProbeRecordSpace(const std::string& state_directory);

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_ISOLATION_H_

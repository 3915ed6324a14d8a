// What this host can enforce, found out by trying.

#ifndef SANDBOX_KERNEL_ISOLATION_H_
#define SANDBOX_KERNEL_ISOLATION_H_

#include <string>
#include <vector>

namespace sandbox {

struct IsolationFeature {
  std::string name;
  bool enforced = false;
  // Without it no sandbox is made.
  bool required = false;
  // How, or why not.
  std::string detail;
};

// Takes some milliseconds and forks: call it before threads are started.
std::vector<IsolationFeature> ProbeIsolation();

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_ISOLATION_H_

// A filter for system calls that libseccomp compiles. Ends the program with a
// message if anything fails: this is part of a build tool.

#ifndef SANDBOX_SECCOMP_FILTER_H_
#define SANDBOX_SECCOMP_FILTER_H_

#include <linux/filter.h>
#include <seccomp.h>

#include <cstdint>
#include <vector>

#include "sandbox/seccomp/arguments.h"

namespace sandbox::seccomp {

class Filter {
 public:
  // `otherwise` is the action for calls without a rule. Calls of other
  // architectures, x32 included, look absent.
  explicit Filter(uint32_t otherwise);
  ~Filter();
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void Add(uint32_t action, int number,
           const std::vector<scmp_arg_cmp>& arguments = {});
  void Add(const Refusal& refusal);
  void Add(const Permission& permission);
  void Add(uint32_t action, const Question& question);

  std::vector<sock_filter> Export() const;

 private:
  template <typename Conditions>
  void AddIf(uint32_t action, const char* call, const Conditions& conditions);

  scmp_filter_ctx context_;
};

// Returns the number of a call on x86-64. The call must be known.
int Number(const char* name);

// Returns instructions that let the number -1 pass, which is no call, and
// continue with the next instruction otherwise. A tracer puts it in place of a
// call that it cancels, as strace does to make a call fail.
std::vector<sock_filter> NoCallInstructions();

// Returns instructions that decide about socket(2) and continue with the next
// instruction for allowed sockets and for other calls. Written without
// libseccomp, whose rules have no order.
std::vector<sock_filter> SocketInstructions();

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_FILTER_H_

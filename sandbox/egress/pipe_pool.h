// Pipes through which the kernel moves bytes between sockets.

#ifndef SANDBOX_EGRESS_PIPE_POOL_H_
#define SANDBOX_EGRESS_PIPE_POOL_H_

#include <vector>

#include "sandbox/base/unique_fd.h"

namespace egress {

struct Pipe {
  sandbox::UniqueFd reader;
  sandbox::UniqueFd writer;

  bool valid() const { return reader.valid(); }
};

// Keeps a few pipes that are in no use. A flow takes one only while it holds
// bytes, so thousands of quiet connections need none. Not thread-safe.
class PipePool {
 public:
  // An empty pipe that does not block; invalid: the process has no descriptor
  // left.
  Pipe Take();
  // The pipe must be empty.
  void Return(Pipe pipe);

 private:
  std::vector<Pipe> pipes_;
};

}  // namespace egress

#endif  // SANDBOX_EGRESS_PIPE_POOL_H_

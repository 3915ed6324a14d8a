#ifndef BRIDGE_ACP_AGENT_OUTPUT_QUEUE_H_
#define BRIDGE_ACP_AGENT_OUTPUT_QUEUE_H_

#include <cstddef>
#include <deque>
#include <string>

#include "absl/status/status.h"

namespace bridge {

// Bytes on their way to a file descriptor. Not thread-safe.
class OutputQueue {
 public:
  void Push(std::string bytes);

  // Writes until the descriptor takes no more, or a share of it has been
  // written so that others get their turn. Never blocks, although the
  // descriptor need not be in non-blocking mode: that mode would change it for
  // every process that shares it.
  absl::Status WriteTo(int fd);

  void Clear();

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

 private:
  std::deque<std::string> pieces_;
  // How much of the first piece has been written.
  size_t written_ = 0;
  size_t size_ = 0;
};

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_OUTPUT_QUEUE_H_

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

  // Writes until the descriptor takes no more, and at most 256 KiB, so that
  // other descriptors get their turn. Never blocks. The descriptor need not be
  // in non-blocking mode, which would affect every process that shares it.
  absl::Status WriteTo(int fd);

  void Clear();

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

 private:
  std::deque<std::string> pieces_;
  size_t written_ = 0;  // bytes of the first piece
  size_t size_ = 0;     // bytes that are not written yet
};

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_OUTPUT_QUEUE_H_

// Where the answers to a client's messages go.

#ifndef BRIDGE_MCP_PROTOCOL_REPLY_CHANNEL_H_
#define BRIDGE_MCP_PROTOCOL_REPLY_CHANNEL_H_

#include <string>

namespace bridge {

// Held for as long as an answer may follow. Thread-safe.
class ReplyChannel {
 public:
  virtual ~ReplyChannel() = default;

  // `line` ends with its newline.
  virtual void Send(const std::string& line) = 0;
  // The client does not want the answer any more. A call that waits for a
  // program then ends.
  virtual bool IsAbandoned() = 0;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_REPLY_CHANNEL_H_

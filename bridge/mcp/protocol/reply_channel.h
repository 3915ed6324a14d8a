// Sends the answers to a client's messages.

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
  // True if the client no longer wants the answer. A call that waits for a
  // program then ends.
  virtual bool IsAbandoned() = 0;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PROTOCOL_REPLY_CHANNEL_H_

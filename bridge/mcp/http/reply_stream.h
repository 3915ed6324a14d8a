// The answers to one request on their way to an HTTP response.

#ifndef BRIDGE_MCP_HTTP_REPLY_STREAM_H_
#define BRIDGE_MCP_HTTP_REPLY_STREAM_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bridge/mcp/protocol/reply_channel.h"

namespace bridge {

// Thread-safe. A session sends through the channel; the response reads.
class ReplyStream {
 public:
  enum class End { kOpen, kOver };
  struct Next {
    // No value if nothing came in time, or if nothing comes any more.
    std::optional<std::string> line;
    End end = End::kOpen;
  };

  // `is_gone` returns true once the client has closed its connection.
  explicit ReplyStream(std::function<bool()> is_gone)
      : is_gone_(std::move(is_gone)) {}

  // Makes a channel that sends to `stream`, which is over when nobody owns the
  // channel any more. If `abandon` is true, a call ends early when its client
  // is gone.
  static std::shared_ptr<ReplyChannel> MakeChannel(
      const std::shared_ptr<ReplyStream>& stream, bool abandon);

  // Waits until something was sent, the stream is over or the client is gone,
  // but not longer than `patience`.
  Next Read(std::chrono::milliseconds patience);
  // Call it when the reader has gone. It has the same effect as a client that
  // has closed its connection.
  void Close();

 private:
  class Channel;

  const std::function<bool()> is_gone_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  bool over_ = false;
  bool gone_ = false;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_HTTP_REPLY_STREAM_H_

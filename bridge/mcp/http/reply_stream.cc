#include "bridge/mcp/http/reply_stream.h"

#include <algorithm>
#include <utility>

namespace bridge {
namespace {

using Clock = std::chrono::steady_clock;

// The interval at which it is checked whether the client is gone.
constexpr std::chrono::milliseconds kLookInterval(250);

}  // namespace

class ReplyStream::Channel : public ReplyChannel {
 public:
  Channel(std::shared_ptr<ReplyStream> stream, bool abandon)
      : stream_(std::move(stream)), abandon_(abandon) {}
  ~Channel() override {
    const std::lock_guard<std::mutex> lock(stream_->mutex_);
    stream_->over_ = true;
    stream_->changed_.notify_all();
  }

  void Send(const std::string& line) override {
    const std::lock_guard<std::mutex> lock(stream_->mutex_);
    if (!stream_->gone_) {
      stream_->lines_.push_back(line);
      stream_->changed_.notify_all();
    }
  }
  bool IsAbandoned() override {
    const std::lock_guard<std::mutex> lock(stream_->mutex_);
    return abandon_ && stream_->gone_;
  }

 private:
  const std::shared_ptr<ReplyStream> stream_;
  const bool abandon_;
};

std::shared_ptr<ReplyChannel> ReplyStream::MakeChannel(
    const std::shared_ptr<ReplyStream>& stream, bool abandon) {
  return std::make_shared<Channel>(stream, abandon);
}

void ReplyStream::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  gone_ = true;
  lines_.clear();
}

ReplyStream::Next ReplyStream::Read(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  std::unique_lock<std::mutex> lock(mutex_);
  while (lines_.empty() && !over_ && !gone_ && Clock::now() < deadline) {
    changed_.wait_until(lock, std::min(deadline, Clock::now() + kLookInterval));
    gone_ = is_gone_();
  }
  Next next;
  if (!lines_.empty()) {
    next.line = std::move(lines_.front());
    lines_.pop_front();
  } else if (over_ || gone_) {
    next.end = End::kOver;
  }
  return next;
}

}  // namespace bridge

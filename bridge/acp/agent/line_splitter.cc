#include "bridge/acp/agent/line_splitter.h"

#include <algorithm>
#include <utility>

namespace bridge {
namespace {

// A buffer larger than this is freed when it is empty.
constexpr size_t kKeptCapacity = 1 << 20;

}  // namespace

std::optional<LineSplitter::Line> LineSplitter::Next() {
  if (dropping_ && !DropRest()) {
    return std::nullopt;
  }
  const size_t newline = buffer_.find('\n', searched_);
  const size_t end = std::min(newline, buffer_.size());
  if (end - begin_ > limit_) {
    dropping_ = true;
    begin_ = searched_ = end;
    return Line{"", /*too_long=*/true};
  }
  if (newline == std::string::npos) {
    buffer_.erase(0, std::exchange(begin_, 0));
    searched_ = buffer_.size();
    if (buffer_.empty() && buffer_.capacity() > kKeptCapacity) {
      buffer_ = std::string();
    }
    return std::nullopt;
  }
  Line line{buffer_.substr(begin_, newline + 1 - begin_)};
  begin_ = searched_ = newline + 1;
  return line;
}

bool LineSplitter::DropRest() {
  const size_t newline = buffer_.find('\n', begin_);
  if (newline == std::string::npos) {
    buffer_ = std::string();
    begin_ = searched_ = 0;
    return false;
  }
  begin_ = searched_ = newline + 1;
  dropping_ = false;
  return true;
}

std::optional<LineSplitter::Line> LineSplitter::Finish() {
  if (dropping_ || buffer_.empty()) {
    return std::nullopt;
  }
  return Line{std::exchange(buffer_, "")};
}

}  // namespace bridge

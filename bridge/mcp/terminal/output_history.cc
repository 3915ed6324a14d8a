#include "bridge/mcp/terminal/output_history.h"

#include <algorithm>

namespace bridge {
namespace {

// The time between two looks at a condition that time changes.
constexpr std::chrono::milliseconds kInterval(50);

}  // namespace

absl::string_view OutputHistory::State::Since(uint64_t offset) const {
  const uint64_t skipped = std::max(offset, begin) - begin;
  return absl::string_view(output).substr(
      std::min<uint64_t>(skipped, output.size()));
}

OutputHistory::State OutputHistory::state() const {
  return {begin_,    begin_ + output_.size(), output_, marks_, last_output_,
          exit_code_};
}

void OutputHistory::Add(uint64_t offset, absl::string_view output) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (offset != begin_ + output_.size()) {
    // Output was dropped before it could be read.
    output_.clear();
    begin_ = offset;
    parser_ = ShellMarks();
  }
  for (const ShellMark& mark : parser_.Find(offset, output)) {
    marks_.push_back(mark);
  }
  if (marks_.size() > kMaxMarks) {
    marks_.erase(marks_.begin(), marks_.end() - kMaxMarks);
  }
  output_.append(output.data(), output.size());
  if (output_.size() > 2 * kMaxBytes) {
    begin_ += output_.size() - kMaxBytes;
    output_.erase(0, output_.size() - kMaxBytes);
  }
  last_output_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void OutputHistory::SetEnd(int exit_code) {
  const std::lock_guard<std::mutex> lock(mutex_);
  exit_code_ = exit_code;
  changed_.notify_all();
}

uint64_t OutputHistory::end() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return begin_ + output_.size();
}

uint64_t OutputHistory::typed_at() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return typed_at_;
}

void OutputHistory::OnTyped() {
  const std::lock_guard<std::mutex> lock(mutex_);
  typed_at_ = begin_ + output_.size();
}

bool OutputHistory::Await(TimePoint deadline,
                          const std::function<bool(const State&)>& condition) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!condition(state())) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      return false;
    }
    changed_.wait_until(lock, std::min(deadline, now + kInterval));
  }
  return true;
}

void OutputHistory::Look(const std::function<void(const State&)>& read) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  read(state());
}

}  // namespace bridge

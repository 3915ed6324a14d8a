// Timers whose clock stands still until a test advances it.
//
// Used by one thread only. Functions run in Advance().

#ifndef TESTS_FAKES_FAKE_TIMERS_H_
#define TESTS_FAKES_FAKE_TIMERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/time/time.h"
#include "sandbox/base/timers.h"

namespace tests {

class FakeTimers final : public sandbox::Timers {
 public:
  TimerId After(absl::Duration delay, Function function) override {
    // Saturates, as the loop's does: a delay may be infinite.
    const TimerId id(absl::ToInt64Nanoseconds(absl::Nanoseconds(now_) + delay),
                     next_++);
    functions_.emplace(id, std::move(function));
    return id;
  }
  void Cancel(TimerId timer) override { functions_.erase(timer); }
  bool IsPending(TimerId timer) const override {
    return functions_.count(timer) != 0;
  }

  // Runs what is due by then, in order, also what these functions set.
  void Advance(absl::Duration duration) {
    const int64_t end = now_ + absl::ToInt64Nanoseconds(duration);
    while (!functions_.empty() && functions_.begin()->first.first <= end) {
      now_ = functions_.begin()->first.first;
      Function function = std::move(functions_.begin()->second);
      functions_.erase(functions_.begin());
      function();
    }
    now_ = end;
  }

  // How many timers are pending.
  size_t size() const { return functions_.size(); }

 private:
  int64_t now_ = 0;
  uint64_t next_ = 0;
  std::map<TimerId, Function> functions_;
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_TIMERS_H_

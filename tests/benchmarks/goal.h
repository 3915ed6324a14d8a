// The limit that a figure must keep.

#ifndef TESTS_BENCHMARKS_GOAL_H_
#define TESTS_BENCHMARKS_GOAL_H_

#include <string>

#include "tests/benchmarks/samples.h"

namespace tests {

class Goal {
 public:
  // A goal for figures that are printed only.
  static Goal None() { return {Measure::kNone, Bound::kAtMost, 0, 0.5}; }
  // A goal for the median of the figure divided by the median of its reference.
  static Goal RatioAtMost(double limit) {
    return {Measure::kRatio, Bound::kAtMost, limit, 0.5};
  }
  static Goal RatioAtLeast(double limit) {
    return {Measure::kRatio, Bound::kAtLeast, limit, 0.5};
  }
  // A goal for a percentile of the figure less the median of its reference.
  static Goal AddsAtMost(double limit, double percentile = 0.5) {
    return {Measure::kDifference, Bound::kAtMost, limit, percentile};
  }
  // A goal for a percentile, or the median, of the figure itself.
  static Goal AtMost(double limit, double percentile = 0.5) {
    return {Measure::kValue, Bound::kAtMost, limit, percentile};
  }
  static Goal AtLeast(double limit) {
    return {Measure::kValue, Bound::kAtLeast, limit, 0.5};
  }

  bool exists() const { return measure_ != Measure::kNone; }

  // True if the goal limits what the figure adds to its reference.
  bool is_difference() const { return measure_ == Measure::kDifference; }

  // The value compared with the limit. `reference` may be empty if the goal
  // does not need it.
  double Value(const Samples& samples, const Samples& reference) const;
  bool IsMet(const Samples& samples, const Samples& reference) const;

  // "at most 1.60 x", "p99 at most +1500 us".
  std::string Describe(const std::string& unit) const;

 private:
  enum class Measure { kNone, kRatio, kDifference, kValue };
  enum class Bound { kAtMost, kAtLeast };

  Goal(Measure measure, Bound bound, double limit, double percentile)
      : measure_(measure),
        bound_(bound),
        limit_(limit),
        percentile_(percentile) {}

  Measure measure_;
  Bound bound_;
  double limit_;
  double percentile_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_GOAL_H_

#include "tests/benchmarks/goal.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/benchmarks/samples.h"

namespace tests {

double Goal::Value(const Samples& samples, const Samples& reference) const {
  const double value = samples.Percentile(percentile_);
  switch (measure_) {
    case Measure::kRatio:
      return value / reference.Median();
    case Measure::kDifference:
      return value - reference.Median();
    case Measure::kNone:
    case Measure::kValue:
      return value;
  }
  return value;
}

bool Goal::IsMet(const Samples& samples, const Samples& reference) const {
  const double value = Value(samples, reference);
  return bound_ == Bound::kAtMost ? value <= limit_ : value >= limit_;
}

std::string Goal::Describe(const std::string& unit) const {
  const std::string bound =
      absl::StrCat(percentile_ == 0.99 ? "p99 " : "",
                   bound_ == Bound::kAtMost ? "at most " : "at least ");
  const std::string suffix = unit.empty() ? "" : absl::StrCat(" ", unit);
  switch (measure_) {
    case Measure::kNone:
      return "no goal";
    case Measure::kRatio:
      return absl::StrFormat("%s%.2f x", bound, limit_);
    case Measure::kDifference:
      return absl::StrFormat("%s+%g%s", bound, limit_, suffix);
    case Measure::kValue:
      return absl::StrFormat("%s%g%s", bound, limit_, suffix);
  }
  return "";
}

}  // namespace tests

#include "tests/benchmarks/samples.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace tests {

double Samples::Percentile(double fraction) const {
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const double last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::lround(fraction * last))];
}

void PrintHeader() {
  std::cout << absl::StrFormat("%-42s %5s %9s %9s %9s %6s\n", "", "unit", "p10",
                               "p50", "p90", "n");
}

void PrintRow(absl::string_view name, absl::string_view unit,
              const Samples& samples, absl::string_view note) {
  std::cout << absl::StrFormat("%-42s %5s %9.1f %9.1f %9.1f %6d  %s", name,
                               unit, samples.Percentile(0.1), samples.Median(),
                               samples.Percentile(0.9), samples.size(), note)
            << std::endl;
}

std::string AtMost(double ratio, double goal) {
  return absl::StrFormat("ratio %.2f, goal at most %.2f: %s", ratio, goal,
                         ratio <= goal ? "met" : "NOT met");
}

std::string AtLeast(double ratio, double goal) {
  return absl::StrFormat("ratio %.2f, goal at least %.2f: %s", ratio, goal,
                         ratio >= goal ? "met" : "NOT met");
}

}  // namespace tests

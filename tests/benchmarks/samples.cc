#include "tests/benchmarks/samples.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tests {

double Samples::Percentile(double fraction) const {
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const double last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::lround(fraction * last))];
}

}  // namespace tests

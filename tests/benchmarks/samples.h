// The samples of one figure.

#ifndef TESTS_BENCHMARKS_SAMPLES_H_
#define TESTS_BENCHMARKS_SAMPLES_H_

#include <cstddef>
#include <vector>

namespace tests {

class Samples {
 public:
  Samples() = default;
  // A figure that is measured once.
  explicit Samples(double value) : values_{value} {}

  void Add(double value) { values_.push_back(value); }

  // `fraction` is in [0, 1]. At least one sample must exist.
  double Percentile(double fraction) const;
  double Median() const { return Percentile(0.5); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }

 private:
  std::vector<double> values_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_SAMPLES_H_

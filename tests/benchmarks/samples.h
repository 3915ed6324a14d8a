// The samples of one figure, and the table row that shows them.

#ifndef TESTS_BENCHMARKS_SAMPLES_H_
#define TESTS_BENCHMARKS_SAMPLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tests {

class Samples {
 public:
  void Add(double value) { values_.push_back(value); }

  // `fraction` is in [0, 1]. At least one sample must exist.
  double Percentile(double fraction) const;
  double Median() const { return Percentile(0.5); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<double> values_;
};

// Prints the titles of the columns that PrintRow() fills.
void PrintHeader();

// "name  unit  p10 p50 p90  note". The note is for a ratio or a goal.
void PrintRow(absl::string_view name, absl::string_view unit,
              const Samples& samples, absl::string_view note);

// "ratio 1.43, goal at most 2.00: met".
std::string AtMost(double ratio, double goal);
std::string AtLeast(double ratio, double goal);

}  // namespace tests

#endif  // TESTS_BENCHMARKS_SAMPLES_H_

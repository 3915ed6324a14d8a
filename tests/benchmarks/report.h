// The table of all figures: printed row by row, and kept as JSON for machines.
//
// Not thread-safe.

#ifndef TESTS_BENCHMARKS_REPORT_H_
#define TESTS_BENCHMARKS_REPORT_H_

#include <string>
#include <vector>

#include "tests/benchmarks/goal.h"
#include "tests/benchmarks/samples.h"

namespace tests {

struct Row {
  std::string figure;
  std::string unit;
  Samples samples;
  // The thing measured beside the figure, in the same loop and unit.
  // Empty: nothing.
  std::string reference;
  Samples reference_samples;
  Goal goal = Goal::None();
  // A remark for people.
  std::string note;
};

class Report {
 public:
  // Prints the titles of the columns.
  Report();

  // Prints the row. A figure without samples counts as not measured.
  void Add(Row row);
  // Prints that a figure is missing, and why.
  void NotMeasured(const std::string& figure, const std::string& reason);

  // Prints how many goals are met.
  void PrintSum() const;

  // The members are "machine", "rows" and "not_measured".
  std::string Json() const;

 private:
  struct Missing {
    std::string figure;
    std::string reason;
  };

  std::vector<Row> rows_;
  std::vector<Missing> missing_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_REPORT_H_

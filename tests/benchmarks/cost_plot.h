// A plot as SVG: lines over two logarithmic axes.
//
// Not thread-safe.

#ifndef TESTS_BENCHMARKS_COST_PLOT_H_
#define TESTS_BENCHMARKS_COST_PLOT_H_

#include <string>
#include <utility>
#include <vector>

namespace tests {

class CostPlot {
 public:
  // Adds a point to the line of that name. `x` is a number of sandboxes or
  // clients, `y` a time in milliseconds; both are above 0. The points of a line
  // come in the order of x.
  void Add(const std::string& line, double x, double y);

  bool empty() const { return lines_.empty(); }

  std::string Svg() const;

 private:
  struct Line {
    std::string name;
    std::vector<std::pair<double, double>> points;
  };

  // In the order in which they were begun.
  std::vector<Line> lines_;
};

}  // namespace tests

#endif  // TESTS_BENCHMARKS_COST_PLOT_H_

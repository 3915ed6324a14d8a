#include "tests/benchmarks/cost_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tests {
namespace {

constexpr double kLeft = 70;
constexpr double kTop = 40;
constexpr double kWidth = 480;
constexpr double kHeight = 300;
constexpr double kLegend = 22;
constexpr std::array<const char*, 6> kColors = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

// The decades that hold all values.
struct Axis {
  int first = 100;
  int last = -100;

  void Include(double value) {
    first = std::min(first, static_cast<int>(std::floor(std::log10(value))));
    last = std::max(last, static_cast<int>(std::ceil(std::log10(value))));
  }
  // In [0, 1].
  double Place(double value) const {
    return (std::log10(value) - first) / std::max(1, last - first);
  }
};

double X(const Axis& axis, double value) {
  return kLeft + kWidth * axis.Place(value);
}

double Y(const Axis& axis, double value) {
  return kTop + kHeight * (1 - axis.Place(value));
}

void Text(std::string& svg, double x, double y, const char* anchor,
          const std::string& text) {
  absl::StrAppendFormat(
      &svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
      anchor, text);
}

void Rule(std::string& svg, double x1, double y1, double x2, double y2) {
  absl::StrAppendFormat(&svg,
                        "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#ddd\"/>\n",
                        x1, y1, x2, y2);
}

void Grid(std::string& svg, const Axis& x, const Axis& y) {
  for (int decade = x.first; decade <= x.last; ++decade) {
    const double value = std::pow(10, decade);
    Rule(svg, X(x, value), kTop, X(x, value), kTop + kHeight);
    Text(svg, X(x, value), kTop + kHeight + 18, "middle",
         absl::StrFormat("%.0f", value));
  }
  for (int decade = y.first; decade <= y.last; ++decade) {
    const double value = std::pow(10, decade);
    Rule(svg, kLeft, Y(y, value), kLeft + kWidth, Y(y, value));
    Text(svg, kLeft - 8, Y(y, value) + 4, "end",
         absl::StrFormat("%g ms", value));
  }
  Text(svg, kLeft + kWidth / 2, kTop + kHeight + 38, "middle",
       "sandboxes or clients");
}

}  // namespace

void CostPlot::Add(const std::string& line, double x, double y) {
  auto found =
      std::find_if(lines_.begin(), lines_.end(),
                   [&](const Line& other) { return other.name == line; });
  if (found == lines_.end()) {
    found = lines_.insert(lines_.end(), Line{line, {}});
  }
  found->points.emplace_back(x, y);
}

std::string CostPlot::Svg() const {
  Axis x;
  Axis y;
  for (const Line& line : lines_) {
    for (const auto& [at, value] : line.points) {
      x.Include(at);
      y.Include(value);
    }
  }
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
      "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kLeft + kWidth + 30,
      kTop + kHeight + 60 + kLegend * static_cast<double>(lines_.size()));
  Text(svg, kLeft, kTop - 16, "start",
       "Cost of one, while there are many (medians)");
  Grid(svg, x, y);
  double legend = kTop + kHeight + 64;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const char* color = kColors[i % kColors.size()];
    std::string path;
    for (const auto& [at, value] : lines_[i].points) {
      absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L",
                            X(x, at), Y(y, value));
      absl::StrAppendFormat(&svg,
                            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" "
                            "fill=\"%s\"/>\n",
                            X(x, at), Y(y, value), color);
    }
    absl::StrAppendFormat(
        &svg, "<path d=\"%sM%.1f %.1fh24\" fill=\"none\" stroke=\"%s\"/>\n",
        path, kLeft, legend - 4, color);
    Text(svg, kLeft + 32, legend, "start", lines_[i].name);
    legend += kLegend;
  }
  return svg + "</svg>\n";
}

}  // namespace tests

#include "tests/benchmarks/report.h"

#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

constexpr char kColumns[] = "%-56s %7s %9s %9s %9s %9s %6s  %8s  %s";

std::string Number(double value) {
  return absl::StrFormat("%.*f", value < 10 ? 3 : 1, value);
}

void Print(const std::string& name, const std::string& unit,
           const Samples& samples, const std::string& ratio,
           const std::string& text) {
  std::cout << absl::StrFormat(
                   kColumns, name, unit, Number(samples.Percentile(0.1)),
                   Number(samples.Median()), Number(samples.Percentile(0.9)),
                   Number(samples.Percentile(0.99)),
                   absl::StrCat(samples.size()), ratio, text)
            << std::endl;
}

// "1.46", or "+852.3" where the goal is about that.
std::string Compare(const Row& row) {
  return row.goal.is_difference()
             ? absl::StrFormat(
                   "%+.1f", row.goal.Value(row.samples, row.reference_samples))
             : absl::StrFormat("%.2f", row.samples.Median() /
                                           row.reference_samples.Median());
}

bool IsMet(const Row& row) {
  return row.goal.IsMet(row.samples, row.reference_samples);
}

std::string Verdict(const Row& row) {
  std::string text = row.goal.Describe(row.unit);
  if (row.goal.exists()) {
    absl::StrAppend(&text, IsMet(row) ? ": met" : ": NOT met");
  }
  if (!row.note.empty()) {
    absl::StrAppend(&text, "; ", row.note);
  }
  return text;
}

}  // namespace

Report::Report() {
  std::cout << absl::StrFormat(kColumns, "", "unit", "p10", "p50", "p90", "p99",
                               "n", "ratio", "goal")
            << std::endl;
}

void Report::Add(Row row) {
  if (row.samples.empty()) {
    NotMeasured(row.figure, "no sample was taken");
    return;
  }
  std::string ratio;
  if (!row.reference_samples.empty()) {
    // Rows in sequence may share a reference.
    if (rows_.empty() || rows_.back().reference != row.reference) {
      Print(absl::StrCat("  beside: ", row.reference), row.unit,
            row.reference_samples, "", "reference");
    }
    ratio = Compare(row);
  }
  Print(row.figure, row.unit, row.samples, ratio, Verdict(row));
  rows_.push_back(std::move(row));
}

void Report::NotMeasured(const std::string& figure, const std::string& reason) {
  std::cout << absl::StrFormat("%-56s not measured: %s", figure, reason)
            << std::endl;
  missing_.push_back({figure, reason});
}

void Report::PrintSum() const {
  int goals = 0;
  int met = 0;
  for (const Row& row : rows_) {
    goals += row.goal.exists() ? 1 : 0;
    met +=
        row.goal.exists() && row.goal.IsMet(row.samples, row.reference_samples)
            ? 1
            : 0;
  }
  std::cout << absl::StrFormat(
                   "\n%d of %d goals met, %d NOT met; %d figures not measured",
                   met, goals, goals - met, missing_.size())
            << std::endl;
}

}  // namespace tests

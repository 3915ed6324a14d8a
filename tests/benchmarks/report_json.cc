// Report::Json()

#include <sys/utsname.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/benchmarks/report.h"
#include "tests/benchmarks/samples.h"

namespace tests {
namespace {

std::string Quote(absl::string_view text) {
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      quoted += '\\';
    }
    // RFC 8259 allows no control character in a string.
    if (static_cast<unsigned char>(character) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", character);
    } else {
      quoted += character;
    }
  }
  return quoted + '"';
}

std::string Spread(const Samples& samples) {
  return absl::StrFormat(
      "\"count\": %d, \"p10\": %g, \"p50\": %g, \"p90\": %g, \"p99\": %g",
      samples.size(), samples.Percentile(0.1), samples.Median(),
      samples.Percentile(0.9), samples.Percentile(0.99));
}

std::string RowJson(const Row& row) {
  std::string text =
      absl::StrCat("{\"figure\": ", Quote(row.figure),
                   ", \"unit\": ", Quote(row.unit), ", ", Spread(row.samples));
  if (!row.reference_samples.empty()) {
    absl::StrAppend(&text, ", \"reference\": {\"name\": ", Quote(row.reference),
                    ", ", Spread(row.reference_samples), "}");
    absl::StrAppendFormat(
        &text, ", \"ratio\": %g",
        row.samples.Median() / row.reference_samples.Median());
  }
  if (row.goal.exists()) {
    absl::StrAppendFormat(&text, ", \"compared\": %g",
                          row.goal.Value(row.samples, row.reference_samples));
    absl::StrAppend(
        &text, ", \"goal\": ", Quote(row.goal.Describe(row.unit)),
        ", \"met\": ",
        row.goal.IsMet(row.samples, row.reference_samples) ? "true" : "false");
  }
  if (!row.note.empty()) {
    absl::StrAppend(&text, ", \"note\": ", Quote(row.note));
  }
  return text + "}";
}

}  // namespace

std::string Report::Json() const {
  utsname host = {};
  uname(&host);
  std::vector<std::string> rows;
  rows.reserve(rows_.size());
  for (const Row& row : rows_) {
    rows.push_back(RowJson(row));
  }
  std::vector<std::string> missing;
  missing.reserve(missing_.size());
  for (const Missing& figure : missing_) {
    missing.push_back(absl::StrCat("{\"figure\": ", Quote(figure.figure),
                                   ", \"reason\": ", Quote(figure.reason),
                                   "}"));
  }
  return absl::StrCat(
      "{\n\"machine\": {\"cpus\": ", std::thread::hardware_concurrency(),
      ", \"linux\": ", Quote(host.release), ", \"date\": ",
      Quote(absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone())),
      "},\n\"rows\": [\n", absl::StrJoin(rows, ",\n"),
      "\n],\n\"not_measured\": [\n", absl::StrJoin(missing, ",\n"), "\n]\n}\n");
}

}  // namespace tests

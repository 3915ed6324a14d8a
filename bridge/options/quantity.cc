#include "bridge/options/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bridge {
namespace {

constexpr std::array<absl::string_view, 6> kByteUnits = {"",  "K", "M",
                                                         "G", "T", "P"};
// Above this, a double cannot represent every whole number.
constexpr double kLargest = 9007199254740992.0;  // 2^53

// "1.5" or "2": digits, at most one point. (SimpleAtod takes "inf" and "1e3".)
absl::StatusOr<double> ParseDecimal(absl::string_view text) {
  const auto is_decimal = [](char c) {
    return absl::ascii_isdigit(c) || c == '.';
  };
  double value = 0;
  if (text.empty() || !absl::ascii_isdigit(text[0]) ||
      !std::all_of(text.begin(), text.end(), is_decimal) ||
      !absl::SimpleAtod(text, &value)) {
    return absl::InvalidArgumentError("not a number");
  }
  return value;
}

absl::string_view SplitNumber(absl::string_view text) {
  size_t size = 0;
  while (size < text.size() &&
         (absl::ascii_isdigit(text[size]) || text[size] == '.')) {
    ++size;
  }
  return text.substr(0, size);
}

}  // namespace

absl::StatusOr<uint64_t> ParseBytes(absl::string_view text) {
  const absl::Status error = absl::InvalidArgumentError(
      "allowed is a size in bytes, with K, M, G, T or P for powers of 1024: "
      "100, 512M, 1.5G");
  const absl::string_view digits = SplitNumber(text);
  std::string unit = absl::AsciiStrToUpper(text.substr(digits.size()));
  for (const absl::string_view ending : {"IB", "B"}) {
    if (absl::EndsWith(unit, ending)) {
      unit.resize(unit.size() - ending.size());
      break;
    }
  }
  const auto found = std::find(kByteUnits.begin(), kByteUnits.end(), unit);
  const absl::StatusOr<double> number = ParseDecimal(digits);
  if (!number.ok() || found == kByteUnits.end()) {
    return error;
  }
  const double bytes =
      std::ldexp(*number, static_cast<int>(10 * (found - kByteUnits.begin())));
  if (bytes > kLargest * 1024 || bytes != std::floor(bytes)) {
    return error;
  }
  return static_cast<uint64_t>(bytes);
}

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  const absl::Status error = absl::InvalidArgumentError(
      "allowed is a time with ms, s, m, h or d: 250ms, 30s, 1h30m");
  absl::Duration sum;
  if (text.empty()) {
    return error;
  }
  while (!text.empty()) {
    const absl::string_view digits = SplitNumber(text);
    const absl::StatusOr<double> number = ParseDecimal(digits);
    text.remove_prefix(digits.size());
    const absl::string_view unit = text.substr(
        0, std::find_if(text.begin(), text.end(), absl::ascii_isdigit) -
               text.begin());
    text.remove_prefix(unit.size());
    if (!number.ok() || *number > kLargest) {
      return error;
    }
    if (unit == "ms") {
      sum += absl::Milliseconds(*number);
    } else if (unit == "s" || unit.empty()) {
      sum += absl::Seconds(*number);
    } else if (unit == "m") {
      sum += absl::Minutes(*number);
    } else if (unit == "h") {
      sum += absl::Hours(*number);
    } else if (unit == "d") {
      sum += absl::Hours(24 * *number);
    } else {
      return error;
    }
  }
  return sum;
}

absl::StatusOr<uint64_t> ParseCpuMillis(absl::string_view text) {
  const absl::StatusOr<double> cpus = ParseDecimal(text);
  if (!cpus.ok() || *cpus > kLargest / 1000) {
    return absl::InvalidArgumentError(
        "allowed is a number of CPUs: 2, 1.5, 0.25");
  }
  return static_cast<uint64_t>(std::llround(*cpus * 1000));
}

absl::StatusOr<uint64_t> ParseCount(absl::string_view text) {
  uint64_t count = 0;
  if (text.empty() ||
      !std::all_of(text.begin(), text.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &count)) {
    return absl::InvalidArgumentError("allowed is a whole number");
  }
  return count;
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) {
    return absl::StrCat(bytes, " bytes");
  }
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kByteUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.4g %siB", value, kByteUnits[unit]);
}

std::string FormatAge(absl::Duration age) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(age));
  const int64_t minutes = seconds / 60;
  const int64_t hours = minutes / 60;
  const int64_t days = hours / 24;
  if (days > 0) {
    return absl::StrCat(days, "d", hours % 24, "h");
  }
  if (hours > 0) {
    return absl::StrCat(hours, "h", minutes % 60, "m");
  }
  if (minutes > 0) {
    return absl::StrCat(minutes, "m", seconds % 60, "s");
  }
  return absl::StrCat(seconds, "s");
}

}  // namespace bridge

#include "bridge/cli/attach/gap_notice.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace bridge {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);

}  // namespace

void GapNotice::Add(const corral::v1::Gap& gap) {
  Missing& missing = missing_[gap.stream()];
  if (missing.gaps == 0) {
    missing.begin = gap.begin_offset();
  }
  if (missing.gaps == 0 || missing.end != gap.begin_offset()) {
    ++missing.gaps;
  }
  missing.end = gap.end_offset();
  missing.bytes += gap.end_offset() - gap.begin_offset();
}

std::string GapNotice::Take(absl::Time now) {
  if (missing_.empty() || now - last_ < kInterval) {
    return "";
  }
  last_ = now;
  return TakeAll();
}

std::string GapNotice::TakeAll() {
  std::string lines;
  for (const auto& [stream, missing] : missing_) {
    absl::StrAppend(&lines, Line(stream, missing));
  }
  missing_.clear();
  return lines;
}

std::string GapNotice::Line(corral::v1::Stream stream, const Missing& missing) {
  const std::string what =
      missing.gaps == 1
          ? absl::StrCat("bytes ", missing.begin, " to ", missing.end)
          : absl::StrCat(missing.bytes, " of the bytes ", missing.begin, " to ",
                         missing.end);
  // The terminal is raw while a command with a terminal is attached.
  return absl::StrCat(
      "corral: ", what, " of ",
      absl::AsciiStrToLower(corral::v1::Stream_Name(stream)),
      missing.gaps == 1 ? "" : absl::StrCat(", in ", missing.gaps, " places,"),
      " are no longer kept", stream == corral::v1::TERMINAL ? "\r\n" : "\n");
}

}  // namespace bridge

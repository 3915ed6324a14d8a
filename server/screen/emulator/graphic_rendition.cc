#include "server/screen/emulator/graphic_rendition.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace screen {
namespace {

using Parameters = std::vector<std::string>;

constexpr int kForeground = 38;
constexpr int kUnderlineColor = 58;
constexpr int kDefaultUnderlineColor = 59;

// Absent and too large values are 0.
int ValueOf(absl::string_view parameter) {
  int value = 0;
  return absl::SimpleAtoi(parameter, &value) ? value : 0;
}

// A colour in one parameter, 38:2:R:G:B or 38:2:SPACE:R:G:B, in the form that
// libvterm knows: 38;2;R;G;B.
std::string WithSemicolons(const Parameters& parts) {
  Parameters kept(parts.begin(), parts.begin() + 2);
  const bool has_space = ValueOf(parts[1]) == 2 && parts.size() >= 6;
  for (size_t i = has_space ? 3 : 2; i < parts.size() && kept.size() < 5; ++i) {
    kept.push_back(absl::StrCat(ValueOf(parts[i])));
  }
  return absl::StrJoin(kept, ";");
}

// The number of parameters of the colour that begins at `at`.
size_t ColorLength(const Parameters& all, size_t at) {
  const int kind = at + 1 < all.size() ? ValueOf(all[at + 1]) : 0;
  const size_t length = kind == 2 ? 5 : kind == 5 ? 3 : 1;
  return std::min(length, all.size() - at);
}

// Returns false if libvterm has to apply the attribute, too.
bool ApplyExtra(int value, ExtraStyle* extra) {
  switch (value) {
    case 0:
      *extra = ExtraStyle();
      return false;
    case 2:
      extra->dim = true;
      return true;
    case 8:
      extra->hidden = true;
      return true;
    case 22:
      extra->dim = false;
      return false;
    case 28:
      extra->hidden = false;
      return true;
    case 53:
      extra->overline = true;
      return true;
    case 55:
      extra->overline = false;
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string ApplyGraphicRendition(absl::string_view parameters,
                                  ExtraStyle* extra) {
  const Parameters all = absl::StrSplit(parameters, ';');
  Parameters kept;
  for (size_t at = 0; at < all.size();) {
    const Parameters parts = absl::StrSplit(all[at], ':');
    const int value = ValueOf(parts[0]);
    const bool is_color = value == kForeground || value == kForeground + 10 ||
                          value == kUnderlineColor;
    size_t length = 1;
    if (is_color && parts.size() == 1) {
      length = ColorLength(all, at);
    }
    if (value == kUnderlineColor || value == kDefaultUnderlineColor) {
      // Dropped: a screen has no colours of underlines.
    } else if (is_color && parts.size() > 2) {
      kept.push_back(WithSemicolons(parts));
    } else if (is_color || !ApplyExtra(value, extra)) {
      std::copy_n(std::next(all.begin(), static_cast<std::ptrdiff_t>(at)),
                  length, std::back_inserter(kept));
    }
    at += length;
  }
  return kept.empty() ? ""
                      : absl::StrCat("\x1b[", absl::StrJoin(kept, ";"), "m");
}

}  // namespace screen

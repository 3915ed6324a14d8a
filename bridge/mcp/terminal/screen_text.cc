#include "bridge/mcp/terminal/screen_text.h"

#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace bridge {
namespace {

using corral::v1::Color;
using corral::v1::Line;
using corral::v1::Style;

constexpr char kReset[] = "\x1b[0m";
constexpr uint32_t kBasicColors = 8;
constexpr uint32_t kNamedColors = 16;

// Counts spaces beyond ASCII as blank, too, like JavaScript's trim().
bool IsBlank(absl::string_view text) {
  while (!text.empty()) {
    if (absl::ascii_isspace(text.front())) {
      text.remove_prefix(1);
    } else if (text.substr(0, 2) == "\xc2\xa0") {
      text.remove_prefix(2);
    } else if (text.substr(0, 3) == "\xe3\x80\x80") {
      text.remove_prefix(3);
    } else {
      return false;
    }
  }
  return true;
}

void DropBlankEnd(std::vector<std::string>* lines) {
  while (!lines->empty() && IsBlank(lines->back())) {
    lines->pop_back();
  }
}

// `base`: 30 for a foreground, 40 for a background.
void AppendColor(const Color& color, uint32_t base, std::string* codes) {
  if (color.kind_case() == Color::kRgb) {
    absl::StrAppend(codes, ";", base + 8, ";2;", color.rgb() >> 16 & 0xff, ";",
                    color.rgb() >> 8 & 0xff, ";", color.rgb() & 0xff);
  } else if (color.index() < kBasicColors) {
    absl::StrAppend(codes, ";", base + color.index());
  } else if (color.index() < kNamedColors) {
    absl::StrAppend(codes, ";", base + 60 + color.index() - kBasicColors);
  } else {
    absl::StrAppend(codes, ";", base + 8, ";5;", color.index());
  }
}

const char* UnderlineCode(Style::Underline underline) {
  switch (underline) {
    case Style::SINGLE:
      return ";4";
    case Style::DOUBLE:
      return ";21";
    case Style::CURLY:
      return ";4:3";
    default:
      return "";
  }
}

// The sequence that sets exactly this style.
std::string Sequence(const Style& style) {
  std::string codes = "0";
  const std::pair<bool, const char*> attributes[] = {
      {style.bold(), ";1"},   {style.dim(), ";2"},      {style.italic(), ";3"},
      {style.blink(), ";5"},  {style.inverse(), ";7"},  {style.hidden(), ";8"},
      {style.strike(), ";9"}, {style.overline(), ";53"}};
  for (const auto& [is_set, code] : attributes) {
    codes += is_set ? code : "";
  }
  codes += UnderlineCode(style.underline());
  if (style.has_foreground()) {
    AppendColor(style.foreground(), 30, &codes);
  }
  if (style.has_background()) {
    AppendColor(style.background(), 40, &codes);
  }
  return absl::StrCat("\x1b[", codes, "m");
}

std::string AnsiLine(const Line& line, uint32_t columns) {
  std::string text;
  std::string current = kReset;
  uint32_t used = 0;
  for (const corral::v1::Run& run : line.runs()) {
    const std::string wanted = Sequence(run.style());
    if (wanted != current) {
      text += wanted;
      current = wanted;
    }
    text += run.text();
    used += run.columns();
  }
  if (used < columns) {
    absl::StrAppend(&text, current == kReset ? "" : kReset,
                    std::string(columns - used, ' '));
  }
  return text + kReset;
}

}  // namespace

std::string VisibleText(const corral::v1::Screen& screen) {
  return absl::StrJoin(screen.lines(), "\n",
                       [](std::string* out, const Line& line) {
                         absl::StrAppend(out, line.text());
                       });
}

std::string WholeText(const corral::v1::Screen& screen) {
  std::vector<std::string> lines;
  for (const auto* part : {&screen.scrollback(), &screen.lines()}) {
    for (const Line& line : *part) {
      lines.push_back(line.text());
    }
  }
  DropBlankEnd(&lines);
  return absl::StrJoin(lines, "\n");
}

std::string AnsiText(const corral::v1::Screen& screen) {
  int end = screen.lines_size();
  while (end > 0 && IsBlank(screen.lines(end - 1).text()) &&
         screen.lines(end - 1).runs().empty()) {
    --end;
  }
  std::vector<std::string> lines;
  lines.reserve(static_cast<size_t>(end));
  for (int row = 0; row < end; ++row) {
    lines.push_back(AnsiLine(screen.lines(row), screen.size().columns()));
  }
  return absl::StrJoin(lines, "\n");
}

std::string StyledLine(const Line& line) { return AnsiLine(line, 0); }

}  // namespace bridge

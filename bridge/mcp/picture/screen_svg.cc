#include "bridge/mcp/picture/screen_svg.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "bridge/mcp/picture/ink.h"

namespace bridge {
namespace {

using corral::v1::Cursor;
using corral::v1::Style;

// A cell, in the units of the picture.
constexpr int kWidth = 9;
constexpr int kHeight = 18;
constexpr int kBaseline = 14;
constexpr int kFontSize = 15;
constexpr int kBarWidth = 2;

std::string Color(uint32_t rgb) { return absl::StrFormat("#%06x", rgb); }

// XML has no control characters, and not U+FFFE and U+FFFF (EF BF BE, EF BF
// BF).
std::string Escape(absl::string_view text) {
  std::string escaped;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const absl::string_view three = text.substr(at, 3);
    if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") {
      escaped += "\xef\xbf\xbd";
      at += 2;
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else {
      escaped += static_cast<uint8_t>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

std::string Rectangle(int x, int y, int width, int height, uint32_t color,
                      absl::string_view more = "") {
  return absl::StrFormat(
      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"%s/>\n", x,
      y, width, height, Color(color), more);
}

std::string Attributes(const Style& style) {
  std::string attributes;
  if (style.bold()) {
    attributes += " font-weight=\"bold\"";
  }
  if (style.italic()) {
    attributes += " font-style=\"italic\"";
  }
  std::string lines;
  if (style.underline() != Style::NO_UNDERLINE) {
    lines += " underline";
  }
  if (style.strike()) {
    lines += " line-through";
  }
  if (style.overline()) {
    lines += " overline";
  }
  if (!lines.empty()) {
    absl::StrAppend(&attributes, " text-decoration=\"", lines.substr(1), "\"");
  }
  return attributes;
}

// A run without ink needs no text: spaces between runs come from their places.
bool IsBlank(const corral::v1::Run& run) {
  return run.text().find_first_not_of(' ') == std::string::npos &&
         Attributes(run.style()).find("text-decoration") == std::string::npos;
}

std::string Text(const corral::v1::Run& run, int x, int y, uint32_t color) {
  return absl::StrFormat(
      "<text x=\"%d\" y=\"%d\" textLength=\"%d\" fill=\"%s\"%s>%s</text>\n", x,
      y + kBaseline, static_cast<int>(run.columns()) * kWidth, Color(color),
      Attributes(run.style()), Escape(run.text()));
}

std::string Line(const corral::v1::Line& line, int y, bool inverse) {
  std::string backgrounds;
  std::string texts;
  int x = 0;
  for (const corral::v1::Run& run : line.runs()) {
    const Ink ink = ToInk(run.style(), inverse);
    const int width = static_cast<int>(run.columns()) * kWidth;
    if (ink.background != ToInk(Style(), inverse).background) {
      backgrounds += Rectangle(x, y, width, kHeight, ink.background);
    }
    if (!IsBlank(run)) {
      texts += Text(run, x, y, ink.foreground);
    }
    x += width;
  }
  return backgrounds + texts;
}

std::string CursorShape(const corral::v1::Screen& screen, uint32_t color) {
  const Cursor& cursor = screen.cursor();
  if (!cursor.visible() || screen.size().columns() == 0) {
    return "";
  }
  const int x =
      static_cast<int>(std::min(cursor.column(), screen.size().columns() - 1)) *
      kWidth;
  const int y = static_cast<int>(cursor.row()) * kHeight;
  switch (cursor.shape()) {
    case Cursor::UNDERLINE:
      return Rectangle(x, y + kHeight - kBarWidth, kWidth, kBarWidth, color);
    case Cursor::BAR:
      return Rectangle(x, y, kBarWidth, kHeight, color);
    default:
      // The character below shows through.
      return Rectangle(x, y, kWidth, kHeight, color, " opacity=\"0.5\"");
  }
}

}  // namespace

std::string ToSvg(const corral::v1::Screen& screen) {
  const bool inverse = screen.modes().inverse();
  const Ink paper = ToInk(Style(), inverse);
  const int width = static_cast<int>(screen.size().columns()) * kWidth;
  const int height = static_cast<int>(screen.size().rows()) * kHeight;
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "viewBox=\"0 0 %d %d\" font-family=\"monospace\" font-size=\"%d\" "
      "xml:space=\"preserve\" style=\"white-space:pre\">\n",
      width, height, width, height, kFontSize);
  svg += Rectangle(0, 0, width, height, paper.background);
  for (int row = 0; row < screen.lines_size(); ++row) {
    svg += Line(screen.lines(row), row * kHeight, inverse);
  }
  return absl::StrCat(svg, CursorShape(screen, paper.foreground), "</svg>\n");
}

}  // namespace bridge

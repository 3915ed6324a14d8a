#include "bridge/mcp/picture/screen_picture.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bridge/mcp/picture/ink.h"

namespace bridge {
namespace {

using corral::v1::Cursor;
using corral::v1::Style;

constexpr int kUnderlineRow = 14;
constexpr int kStrikeRow = 8;
constexpr int kBarWidth = 2;

// Returns the bits of the code point that the first byte of a character in
// UTF-8 holds.
uint32_t LeadBits(uint8_t byte) {
  if (byte < 0x80) {
    return byte;
  }
  return byte < 0xe0 ? byte & 0x1f : byte < 0xf0 ? byte & 0x0f : byte & 0x07;
}

std::vector<uint32_t> Decode(const std::string& text) {
  std::vector<uint32_t> characters;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if ((byte & 0xc0) == 0x80 && !characters.empty()) {
      characters.back() = characters.back() << 6 | (byte & 0x3f);
    } else {
      characters.push_back(LeadBits(byte));
    }
  }
  return characters;
}

// Returns true for characters that are drawn over the one before them.
bool IsCombining(uint32_t c) {
  return (c >= 0x300 && c < 0x370) || (c >= 0x1ab0 && c < 0x1b00) ||
         (c >= 0x1dc0 && c < 0x1e00) || (c >= 0x200b && c < 0x2010) ||
         (c >= 0x20d0 && c < 0x2100) || (c >= 0xfe00 && c < 0xfe10) ||
         (c >= 0xfe20 && c < 0xfe30) || (c >= 0xe0100 && c < 0xe01f0);
}

class Pen {
 public:
  Pen(Raster* raster, const Glyphs& glyphs)
      : raster_(raster), glyphs_(glyphs) {}

  void Fill(int x, int y, int width, int height, uint32_t color) {
    for (int row = std::max(y, 0); row < std::min(y + height, raster_->height);
         ++row) {
      for (int column = std::max(x, 0);
           column < std::min(x + width, raster_->width); ++column) {
        raster_->at(column, row) = color;
      }
    }
  }

  void Draw(uint32_t character, int x, int y, const Style& style,
            uint32_t color) {
    const Glyph& glyph = glyphs_.Find(character);
    const int width = glyph.wide ? 2 * kGlyphWidth : kGlyphWidth;
    for (int row = 0; row < kGlyphHeight; ++row) {
      uint32_t bits = glyph.rows[row];
      if (style.bold()) {
        bits |= bits >> 1;
      }
      // Italic letters lean to the right by two pixels over their height.
      const int lean = style.italic() ? (kGlyphHeight - row) / 8 : 0;
      for (int column = 0; column < width; ++column) {
        if ((bits >> (15 - column) & 1) != 0) {
          Fill(x + column + lean, y + row, 1, 1, color);
        }
      }
    }
  }

  void DrawLines(int x, int y, int width, const Style& style, uint32_t color) {
    if (style.underline() != Style::NO_UNDERLINE) {
      Fill(x, y + kUnderlineRow, width, 1, color);
    }
    if (style.strike()) {
      Fill(x, y + kStrikeRow, width, 1, color);
    }
    if (style.overline()) {
      Fill(x, y, width, 1, color);
    }
  }

 private:
  Raster* const raster_;
  const Glyphs& glyphs_;
};

void DrawLine(const corral::v1::Line& line, int y, bool inverse_screen,
              Pen* pen) {
  int x = 0;
  for (const corral::v1::Run& run : line.runs()) {
    const Ink ink = ToInk(run.style(), inverse_screen);
    const int width = static_cast<int>(run.columns()) * kGlyphWidth;
    const int step = run.wide() ? 2 * kGlyphWidth : kGlyphWidth;
    pen->Fill(x, y, width, kGlyphHeight, ink.background);
    int at = x;
    for (const uint32_t character : Decode(run.text())) {
      const bool combines = IsCombining(character) && at > x;
      pen->Draw(character, combines ? at - step : at, y, run.style(),
                ink.foreground);
      at += combines ? 0 : step;
    }
    pen->DrawLines(x, y, width, run.style(), ink.foreground);
    x += width;
  }
}

// Inverts the pixels that the cursor covers.
void DrawCursor(const corral::v1::Screen& screen, Raster* raster) {
  const Cursor& cursor = screen.cursor();
  if (!cursor.visible() || screen.size().columns() == 0) {
    return;
  }
  const int column =
      static_cast<int>(std::min(cursor.column(), screen.size().columns() - 1));
  const int x = column * kGlyphWidth;
  const int y = static_cast<int>(cursor.row()) * kGlyphHeight;
  const bool underline = cursor.shape() == Cursor::UNDERLINE;
  const int width = cursor.shape() == Cursor::BAR ? kBarWidth : kGlyphWidth;
  for (int row = underline ? y + kUnderlineRow : y;
       row < std::min(y + kGlyphHeight, raster->height); ++row) {
    for (int at = x; at < std::min(x + width, raster->width); ++at) {
      raster->at(at, row) ^= 0xffffff;
    }
  }
}

}  // namespace

Raster DrawScreen(const corral::v1::Screen& screen, const Glyphs& glyphs) {
  const bool inverse = screen.modes().inverse();
  Raster raster(static_cast<int>(screen.size().columns()) * kGlyphWidth,
                static_cast<int>(screen.size().rows()) * kGlyphHeight,
                inverse ? kDefaultForeground : kDefaultBackground);
  Pen pen(&raster, glyphs);
  for (int row = 0; row < screen.lines_size(); ++row) {
    DrawLine(screen.lines(row), row * kGlyphHeight, inverse, &pen);
  }
  DrawCursor(screen, &raster);
  return raster;
}

}  // namespace bridge

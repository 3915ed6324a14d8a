#include "bridge/mcp/picture/screen_picture.h"

#include <algorithm>
#include <string>
#include <vector>

namespace bridge {
namespace {

using corral::v1::Color;
using corral::v1::Cursor;
using corral::v1::Style;

constexpr uint32_t kForeground = 0xd0d0d0;
constexpr uint32_t kBackground = 0x101010;
// The first 16 entries of the palette, as xterm has them.
constexpr uint32_t kNamed[] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00,
                               0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
                               0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
                               0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
constexpr uint32_t kCubeBegin = 16;
constexpr uint32_t kGrayBegin = 232;
constexpr int kUnderlineRow = 14;
constexpr int kStrikeRow = 8;
constexpr int kBarWidth = 2;

uint32_t PaletteColor(uint32_t index) {
  if (index < kCubeBegin) {
    return kNamed[index];
  }
  if (index >= kGrayBegin) {
    return (8 + 10 * (std::min(index, 255u) - kGrayBegin)) * 0x010101;
  }
  const auto level = [](uint32_t step) {
    return step == 0 ? 0 : 55 + 40 * step;
  };
  const uint32_t cube = index - kCubeBegin;
  return level(cube / 36) << 16 | level(cube / 6 % 6) << 8 | level(cube % 6);
}

uint32_t ToRgb(const Color& color) {
  return color.kind_case() == Color::kRgb ? color.rgb() & 0xffffff
                                          : PaletteColor(color.index());
}

uint32_t Mix(uint32_t a, uint32_t b) {
  return ((a & 0xfefefe) >> 1) + ((b & 0xfefefe) >> 1);
}

struct Ink {
  uint32_t foreground;
  uint32_t background;
};

Ink ToInk(const Style& style, bool inverse_screen) {
  Ink ink = {style.has_foreground() ? ToRgb(style.foreground()) : kForeground,
             style.has_background() ? ToRgb(style.background()) : kBackground};
  if (style.inverse() != inverse_screen) {
    std::swap(ink.foreground, ink.background);
  }
  if (style.dim()) {
    ink.foreground = Mix(ink.foreground, ink.background);
  }
  if (style.hidden()) {
    ink.foreground = ink.background;
  }
  return ink;
}

std::vector<uint32_t> Decode(const std::string& text) {
  std::vector<uint32_t> characters;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if ((byte & 0xc0) == 0x80 && !characters.empty()) {
      characters.back() = characters.back() << 6 | (byte & 0x3f);
    } else {
      characters.push_back(byte < 0x80   ? byte
                           : byte < 0xe0 ? byte & 0x1f
                           : byte < 0xf0 ? byte & 0x0f
                                         : byte & 0x07);
    }
  }
  return characters;
}

// Drawn over the character before it.
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
                inverse ? kForeground : kBackground);
  Pen pen(&raster, glyphs);
  for (int row = 0; row < screen.lines_size(); ++row) {
    DrawLine(screen.lines(row), row * kGlyphHeight, inverse, &pen);
  }
  DrawCursor(screen, &raster);
  return raster;
}

}  // namespace bridge

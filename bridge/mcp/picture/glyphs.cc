#include "bridge/mcp/picture/glyphs.h"

#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"

namespace bridge {
namespace {

constexpr char kUnifont[] = "/usr/share/unifont/unifont.hex";
// Digits of a glyph of one column, and of two.
constexpr size_t kNarrow = size_t{2} * kGlyphHeight;
constexpr size_t kWide = size_t{4} * kGlyphHeight;
constexpr uint16_t kBoxEdge = 0x7e00;
constexpr uint16_t kBoxSides = 0x4200;
constexpr int kBoxTop = 3;
constexpr int kBoxBottom = 13;

}  // namespace

Glyphs::Glyphs(const std::string& path) {
  for (int row = kBoxTop; row <= kBoxBottom; ++row) {
    box_.rows[row] = row == kBoxTop || row == kBoxBottom ? kBoxEdge : kBoxSides;
  }
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Add(line);
  }
}

void Glyphs::Add(absl::string_view line) {
  const size_t colon = line.find(':');
  uint32_t character = 0;
  if (colon == line.npos ||
      !absl::SimpleHexAtoi(line.substr(0, colon), &character)) {
    return;
  }
  const absl::string_view digits = line.substr(colon + 1);
  if (digits.size() != kNarrow && digits.size() != kWide) {
    return;
  }
  const std::string bytes = absl::HexStringToBytes(digits);
  Glyph glyph;
  glyph.wide = digits.size() == kWide;
  for (int row = 0; row < kGlyphHeight; ++row) {
    const int at = glyph.wide ? 2 * row : row;
    const auto left = static_cast<uint8_t>(bytes[at]);
    const auto right =
        glyph.wide ? static_cast<uint8_t>(bytes[at + 1]) : uint8_t{0};
    glyph.rows[row] = static_cast<uint16_t>(left << 8 | right);
  }
  glyphs_[character] = glyph;
}

const Glyph& Glyphs::Find(uint32_t character) const {
  const auto found = glyphs_.find(character);
  return found == glyphs_.end() ? box_ : found->second;
}

const Glyphs& Glyphs::Unifont() {
  static const auto* const glyphs = new Glyphs(kUnifont);
  return *glyphs;
}

}  // namespace bridge

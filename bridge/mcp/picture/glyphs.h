// The shapes of characters, from GNU Unifont.

#ifndef BRIDGE_MCP_PICTURE_GLYPHS_H_
#define BRIDGE_MCP_PICTURE_GLYPHS_H_

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "absl/strings/string_view.h"

namespace bridge {

inline constexpr int kGlyphHeight = 16;
inline constexpr int kGlyphWidth = 8;  // of a character of one column

struct Glyph {
  // The rows from the top. The leftmost pixel is bit 15.
  std::array<uint16_t, kGlyphHeight> rows = {};
  bool wide = false;
};

// Thread-safe, because it never changes.
class Glyphs {
 public:
  // Reads a font in the format of unifont.hex. A font that cannot be read is
  // empty.
  explicit Glyphs(const std::string& path);

  // The shape of a character. A character that the font does not have is a box.
  const Glyph& Find(uint32_t character) const;
  size_t size() const { return glyphs_.size(); }

  // The font of Debian's package unifont, read when it is first needed.
  static const Glyphs& Unifont();

 private:
  void Add(absl::string_view line);

  std::unordered_map<uint32_t, Glyph> glyphs_;
  Glyph box_;
};

}  // namespace bridge

#endif  // BRIDGE_MCP_PICTURE_GLYPHS_H_

// Writes pictures in the format PNG.

#ifndef BRIDGE_MCP_PICTURE_PNG_FILE_H_
#define BRIDGE_MCP_PICTURE_PNG_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace bridge {

// Pixels in rows from the top, each 0xRRGGBB.
struct Raster {
  Raster(int columns, int lines, uint32_t color)
      : width(columns),
        height(lines),
        pixels(static_cast<size_t>(columns) * lines, color) {}

  uint32_t& at(int x, int y) {
    return pixels[static_cast<size_t>(y) * width + x];
  }

  int width;
  int height;
  std::vector<uint32_t> pixels;
};

// Returns the bytes of a PNG file. The same raster gives the same bytes.
std::string ToPng(const Raster& raster);

}  // namespace bridge

#endif  // BRIDGE_MCP_PICTURE_PNG_FILE_H_

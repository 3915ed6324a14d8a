#include "bridge/mcp/picture/png_file.h"

#include <zlib.h>

namespace bridge {
namespace {

constexpr char kSignature[] = "\x89PNG\r\n\x1a\n";
constexpr char kDepth = 8;  // bits of a channel
constexpr char kTrueColor = 2;

std::string Number(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift & 0xff);
  }
  return bytes;
}

std::string Chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong checksum =
      ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
  return Number(data.size()) + body + Number(checksum);
}

std::string Compress(const std::string& data) {
  uLongf size = ::compressBound(data.size());
  std::string compressed(size, '\0');
  // Fails only without memory.
  ::compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
              reinterpret_cast<const Bytef*>(data.data()), data.size(),
              Z_DEFAULT_COMPRESSION);
  compressed.resize(size);
  return compressed;
}

}  // namespace

std::string ToPng(const Raster& raster) {
  std::string rows;
  rows.reserve(raster.pixels.size() * 3 + raster.height);
  for (int y = 0; y < raster.height; ++y) {
    rows += '\0';  // no filter
    for (int x = 0; x < raster.width; ++x) {
      const uint32_t pixel =
          raster.pixels[static_cast<size_t>(y) * raster.width + x];
      rows += static_cast<char>(pixel >> 16 & 0xff);
      rows += static_cast<char>(pixel >> 8 & 0xff);
      rows += static_cast<char>(pixel & 0xff);
    }
  }
  std::string header = Number(raster.width) + Number(raster.height);
  header += {kDepth, kTrueColor, '\0', '\0', '\0'};
  return std::string(kSignature, 8) + Chunk("IHDR", header) +
         Chunk("IDAT", Compress(rows)) + Chunk("IEND", "");
}

}  // namespace bridge

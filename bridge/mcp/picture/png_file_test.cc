#include "bridge/mcp/picture/png_file.h"

#include <zlib.h>

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

uint32_t NumberAt(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  }
  return number;
}

// The data of the chunk at `*at`, which must be of this type. Goes behind it.
std::string Chunk(const std::string& png, size_t* at, const std::string& type) {
  const uint32_t size = NumberAt(png, *at);
  EXPECT_EQ(png.substr(*at + 4, 4), type);
  const std::string body = png.substr(*at + 4, size + 4);
  EXPECT_EQ(
      NumberAt(png, *at + 8 + size),
      ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), body.size()));
  *at += 12 + size;
  return body.substr(4);
}

TEST(PngFileTest, HoldsEachPixelInItsPlace) {
  Raster raster(2, 3, 0);
  raster.pixels = {0x010203, 0x040506, 0x070809, 0x0a0b0c, 0x0d0e0f, 0xfffefd};
  const std::string png = ToPng(raster);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  size_t at = 8;
  // Width, height, eight bits of red, green and blue, and no interlacing.
  EXPECT_EQ(Chunk(png, &at, "IHDR"),
            std::string("\0\0\0\2\0\0\0\3\x08\2\0\0\0", 13));
  const std::string data = Chunk(png, &at, "IDAT");
  EXPECT_EQ(Chunk(png, &at, "IEND"), "");
  EXPECT_EQ(at, png.size());
  std::string rows(100, '\0');
  uLongf size = rows.size();
  ASSERT_EQ(
      ::uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                   reinterpret_cast<const Bytef*>(data.data()), data.size()),
      Z_OK);
  rows.resize(size);
  EXPECT_EQ(rows, std::string("\0\1\2\3\4\5\6"
                              "\0\7\x08\x09\x0a\x0b\x0c"
                              "\0\x0d\x0e\x0f\xff\xfe\xfd",
                              21));
}

}  // namespace
}  // namespace bridge

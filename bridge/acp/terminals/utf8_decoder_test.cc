#include "bridge/acp/terminals/utf8_decoder.h"

#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

constexpr char kText[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";

std::string Whole(absl::string_view bytes) {
  Utf8Decoder decoder;
  std::string text = decoder.Decode(bytes);
  return text + decoder.Finish();
}

std::string ByteByByte(absl::string_view bytes) {
  Utf8Decoder decoder;
  std::string text;
  for (const char& byte : bytes) {
    text += decoder.Decode(absl::string_view(&byte, 1));
  }
  return text + decoder.Finish();
}

TEST(Utf8DecoderTest, KeepsValidTextHoweverItIsCut) {
  EXPECT_EQ(Whole(kText), kText);
  EXPECT_EQ(ByteByByte(kText), kText);
  const std::string with_nul("a\0b", 3);
  EXPECT_EQ(Whole(with_nul), with_nul);
}

TEST(Utf8DecoderTest, KnowsTheFirstAndTheLastCharacterOfEachLength) {
  for (const absl::string_view character :
       {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xEC\xBF\xBF", "\xED\x9F\xBF",
        "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF3\xBF\xBF\xBF",
        "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(Whole(character), character);
  }
  const std::string replacement = "\xEF\xBF\xBD";
  for (const absl::string_view none :
       {"\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    std::string expected;
    for (size_t i = 0; i < none.size(); ++i) {
      expected += replacement;
    }
    EXPECT_EQ(Whole(none), expected);
  }
}

TEST(Utf8DecoderTest, HoldsBackACharacterThatIsCut) {
  Utf8Decoder decoder;
  EXPECT_EQ(decoder.Decode("a\xE2\x82"), "a");
  EXPECT_EQ(decoder.Decode("\xAC"), "\xE2\x82\xAC");
  EXPECT_EQ(decoder.Finish(), "");
}

TEST(Utf8DecoderTest, ReplacesEachMaximalInvalidPart) {
  const struct {
    absl::string_view bytes;
    absl::string_view text;
  } cases[] = {
      {"\xFF", "\xEF\xBF\xBD"},
      {"\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xE2\x82", "\xEF\xBF\xBD"},    // cut by the end
      {"\xE2\x82z", "\xEF\xBF\xBDz"},  // cut by another character
      {"\xE2\xC3\xA9", "\xEF\xBF\xBD\xC3\xA9"},
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},                  // overlong
      {"\xE0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},                  // overlong
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},  // surrogate
      {"\xF4\x90", "\xEF\xBF\xBD\xEF\xBF\xBD"},  // above U+10FFFF
      {"\xF5", "\xEF\xBF\xBD"},
      {"\xF0\x9F\x98z", "\xEF\xBF\xBDz"},
  };
  for (const auto& example : cases) {
    EXPECT_EQ(Whole(example.bytes), example.text);
    EXPECT_EQ(ByteByByte(example.bytes), example.text);
  }
}

}  // namespace
}  // namespace bridge

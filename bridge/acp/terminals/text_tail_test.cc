#include "bridge/acp/terminals/text_tail.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

constexpr absl::string_view kText = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";

bool StartsACharacter(absl::string_view text) {
  return text.empty() ||
         (static_cast<unsigned char>(text.front()) & 0xC0) != 0x80;
}

// Returns true if `cut` is a tail of the text that begins with a whole
// character and has as many characters as fit.
bool IsGoodCut(absl::string_view cut, size_t limit) {
  return absl::EndsWith(kText, cut) && StartsACharacter(cut) &&
         cut.size() <= limit && cut.size() + 4 > limit;
}

TEST(TextTailTest, CutsBetweenCharactersAtEveryLimit) {
  for (size_t limit = 0; limit <= kText.size(); ++limit) {
    TextTail tail(limit);
    tail.Append(kText);
    EXPECT_TRUE(IsGoodCut(tail.text(), limit)) << limit;
    EXPECT_EQ(tail.truncated(), limit < kText.size());
  }
}

TEST(TextTailTest, KeepsNothingWithALimitOfZero) {
  TextTail tail(0);
  EXPECT_FALSE(tail.truncated());
  tail.Append("x");
  EXPECT_EQ(tail.text(), "");
  EXPECT_TRUE(tail.truncated());
}

TEST(TextTailTest, KeepsNothingOfACharacterAboveTheLimit) {
  TextTail tail(3);
  tail.Append("\xF0\x9F\x98\x80");
  EXPECT_EQ(tail.text(), "");
  tail.Append("ab");
  EXPECT_EQ(tail.text(), "ab");
  EXPECT_TRUE(tail.truncated());
}

TEST(TextTailTest, StaysTruncated) {
  TextTail tail(8);
  tail.MarkTruncated();
  tail.Append("x");
  EXPECT_TRUE(tail.truncated());
}

TEST(TextTailTest, HoldsNotMuchMoreThanItsLimit) {
  constexpr size_t kLimit = 100'000;
  const std::string piece(1000, 'x');
  TextTail tail(kLimit);
  for (int i = 0; i < 1000; ++i) {
    tail.Append(piece);
    ASSERT_LE(tail.held_bytes(), 2 * kLimit + (64 << 10) + piece.size());
  }
}

TEST(TextTailTest, IsTheTailOfAllThatWasAppended) {
  constexpr size_t kLimit = 1000;
  TextTail tail(kLimit);
  std::string all;
  for (int i = 0; i < 20'000; ++i) {
    const std::string piece = std::to_string(i) + "\n";
    all += piece;
    tail.Append(piece);
    ASSERT_EQ(tail.text(),
              all.substr(all.size() - std::min(all.size(), kLimit)));
    ASSERT_LE(tail.held_bytes(), 2 * kLimit + (64 << 10) + piece.size());
  }
}

}  // namespace
}  // namespace bridge

#include "bridge/cli/commands/log_tail.h"

#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

// The last `lines` of `text`, counted in pieces of `size` bytes.
std::string Tail(const std::string& text, uint64_t lines, size_t size) {
  LineCounter counter(lines);
  for (size_t end = text.size(); end > 0;) {
    const size_t begin = end > size ? end - size : 0;
    if (counter.Take(text.substr(begin, end - begin))) {
      return text.substr(begin + counter.begin());
    }
    end = begin;
  }
  return text;
}

TEST(LineCounterTest, FindsTheLastLinesWhateverThePieces) {
  for (const size_t size : {1, 2, 3, 100}) {
    EXPECT_EQ(Tail("a\nbb\nccc\n", 0, size), "");
    EXPECT_EQ(Tail("a\nbb\nccc\n", 1, size), "ccc\n");
    EXPECT_EQ(Tail("a\nbb\nccc\n", 2, size), "bb\nccc\n");
    EXPECT_EQ(Tail("a\nbb\nccc\n", 3, size), "a\nbb\nccc\n");
    EXPECT_EQ(Tail("a\nbb\nccc\n", 9, size), "a\nbb\nccc\n");
  }
}

TEST(LineCounterTest, CountsALineWithoutANewline) {
  EXPECT_EQ(Tail("a\nbb", 1, 2), "bb");
  EXPECT_EQ(Tail("a\nbb", 2, 2), "a\nbb");
  EXPECT_EQ(Tail("a\nbb", 0, 2), "");
}

TEST(LineCounterTest, CountsEmptyLines) {
  EXPECT_EQ(Tail("a\n\n\n", 1, 2), "\n");
  EXPECT_EQ(Tail("a\n\n\n", 2, 2), "\n\n");
  EXPECT_EQ(Tail("\n", 1, 2), "\n");
  EXPECT_EQ(Tail("", 1, 2), "");
}

}  // namespace
}  // namespace bridge

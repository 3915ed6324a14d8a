#include "bridge/acp/agent/line_splitter.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Drain(LineSplitter& splitter) {
  std::vector<std::string> lines;
  while (std::optional<LineSplitter::Line> line = splitter.Next()) {
    lines.push_back(line->too_long ? "TOO LONG" : line->text);
  }
  return lines;
}

std::vector<std::string> Split(absl::string_view bytes, size_t piece) {
  LineSplitter splitter(10);
  std::vector<std::string> lines;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    splitter.Append(bytes.substr(at, piece));
    for (std::string& line : Drain(splitter)) {
      lines.push_back(std::move(line));
    }
  }
  if (const auto last = splitter.Finish(); last.has_value()) {
    lines.push_back(last->text);
  }
  return lines;
}

TEST(LineSplitterTest, KeepsEveryByteOfPiecesOfAnySize) {
  const std::string bytes("{}\r\n\n \nab\0c\n\xff\nlast", 18);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_THAT(Split(bytes, piece),
                ElementsAre("{}\r\n", "\n", " \n", std::string("ab\0c\n", 5),
                            "\xff\n", "last"));
  }
}

TEST(LineSplitterTest, AcceptsALineAsLongAsTheLimit) {
  for (size_t piece = 1; piece < 30; ++piece) {
    EXPECT_THAT(Split("0123456789\n0123456789", piece),
                ElementsAre("0123456789\n", "0123456789"));
  }
}

TEST(LineSplitterTest, ReportsALongLineOnceAndReadsOn) {
  for (size_t piece = 1; piece < 60; ++piece) {
    EXPECT_THAT(
        Split("a\n0123456789x\nb\n0123456789012345678901234\nc\n", piece),
        ElementsAre("a\n", "TOO LONG", "b\n", "TOO LONG", "c\n"));
  }
}

TEST(LineSplitterTest, ReportsALongLineBeforeItEnds) {
  LineSplitter splitter(10);
  splitter.Append("0123456789x");
  EXPECT_THAT(Drain(splitter), ElementsAre("TOO LONG"));
  splitter.Append("0123456789x");
  EXPECT_THAT(Drain(splitter), IsEmpty());
  EXPECT_FALSE(splitter.Finish().has_value());
}

TEST(LineSplitterTest, ReturnsNoLastLineAfterANewline) {
  EXPECT_THAT(Split("a\n", 2), ElementsAre("a\n"));
  EXPECT_THAT(Split("", 1), IsEmpty());
}

}  // namespace
}  // namespace bridge

#include "bridge/asciicast/cast_lines.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(CastLines, AreThoseOfAsciicast) {
  EXPECT_EQ(CastLines::Header(80, 24, 1795219963),
            R"({"version":2,"width":80,"height":24,"timestamp":1795219963,)"
            R"("env":{"TERM":"xterm-256color"}})"
            "\n");
  CastLines lines;
  EXPECT_EQ(lines.Output(1.5, "a\x1b[m\n"), "[1.5,\"o\",\"a\\u001b[m\\n\"]\n");
  EXPECT_EQ(lines.Resize(2, 60, 12), "[2,\"r\",\"60x12\"]\n");
}

TEST(CastLines, KeepCharactersWhole) {
  CastLines lines;
  EXPECT_EQ(lines.Output(1, "\xe6"), "");
  EXPECT_EQ(lines.Output(2, "\xbc"), "");
  EXPECT_EQ(lines.Output(3, "\xa2!"), "[3,\"o\",\"\xe6\xbc\xa2!\"]\n");
  EXPECT_EQ(lines.Output(4, "\xff!"), "[4,\"o\",\"\xef\xbf\xbd!\"]\n");
}

}  // namespace
}  // namespace bridge

#include "bridge/cli/report/escaped_text.h"

#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(EscapeBytesTest, KeepsText) {
  EXPECT_EQ(EscapeBytes(""), "");
  EXPECT_EQ(EscapeBytes("/home/me"), "/home/me");
  EXPECT_EQ(EscapeBytes("\u00e4 \u20ac \U0001F600"),
            "\u00e4 \u20ac \U0001F600");
  EXPECT_EQ(EscapeBytes("a\nb"), "a\nb");
  EXPECT_EQ(EscapeBytes("\xc2\x80\xf0\x90\x80\x80"),
            "\xc2\x80\xf0\x90\x80\x80");
}

TEST(EscapeBytesTest, EscapesBackslashesAndBytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeBytes("\\"), "\\\\");
  EXPECT_EQ(EscapeBytes("\\x41"), "\\\\x41");
  EXPECT_EQ(EscapeBytes("a\xff"
                        "b"),
            "a\\xffb");
  EXPECT_EQ(EscapeBytes("\x80"), "\\x80");
}

TEST(EscapeBytesTest, EscapesWhatOnlyLooksLikeUtf8) {
  EXPECT_EQ(EscapeBytes("\xc3"), "\\xc3");  // cut off
  EXPECT_EQ(EscapeBytes("\xe2\x82"
                        "a"),
            "\\xe2\\x82a");
  EXPECT_EQ(EscapeBytes("\xc0\x80"), "\\xc0\\x80");  // overlong
  EXPECT_EQ(EscapeBytes("\xc1\xbf"), "\\xc1\\xbf");
  EXPECT_EQ(EscapeBytes("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(EscapeBytes("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
  EXPECT_EQ(EscapeBytes("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(EscapeBytes("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(EscapeBytes("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(EscapeBytes("\xed\x9f\xbf\xf4\x8f\xbf\xbf\xe0\xa0\x80"),
            "\xed\x9f\xbf\xf4\x8f\xbf\xbf\xe0\xa0\x80");
}

TEST(PrintableTest, KeepsTextAndEscapesBackslashes) {
  EXPECT_EQ(Printable("make -j2 \u00e4\u20ac\U0001F600"),
            "make -j2 \u00e4\u20ac\U0001F600");
  EXPECT_EQ(Printable("\\x1b"), "\\\\x1b");
}

TEST(PrintableTest, EscapesWhatATerminalObeys) {
  EXPECT_EQ(Printable("\x1b[2J\x7f\n\r\t"), "\\x1b[2J\\x7f\\n\\r\\t");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // CSI of C1
  EXPECT_EQ(Printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(Printable(std::string(1, '\0')), "\\x00");
}

TEST(PrintableTest, EscapesWhatDeceivesTheReader) {
  EXPECT_EQ(Printable("\u202egnp"), "\\xe2\\x80\\xaegnp");
  EXPECT_EQ(Printable("\u200b"), "\\xe2\\x80\\x8b");
  EXPECT_EQ(Printable("\u00ad\u206f"), "\\xc2\\xad\\xe2\\x81\\xaf");
  EXPECT_EQ(Printable("\u00a0\u00ac\u200a\u2010\u2070"),
            "\u00a0\u00ac\u200a\u2010\u2070");
  EXPECT_EQ(Printable("\U000E0041"), "\\xf3\\xa0\\x81\\x81");
}

TEST(PrintableTest, EscapesEachRangeFromItsFirstToItsLastCharacter) {
  for (const char* hidden :
       {"\x01", "\x1f", "\x7f", "\u0080", "\u009f", "\u00ad", "\u061c",
        "\u180e", "\u200b", "\u200f", "\u2028", "\u202e", "\u2060", "\u206f",
        "\ufeff", "\ufff9", "\ufffb", "\U000E0000", "\U000E0FFF"}) {
    EXPECT_EQ(Printable(hidden).substr(0, 2), "\\x") << hidden;
  }
  for (const char* shown :
       {" ",      "~",          "\u00a0",    "\u00ac", "\u00ae", "\u061b",
        "\u061d", "\u180d",     "\u180f",    "\u200a", "\u2010", "\u2027",
        "\u202f", "\u205f",     "\u2070",    "\ufefe", "\uff00", "\ufff8",
        "\ufffc", "\U000DFFFF", "\U000E1000"}) {
    EXPECT_EQ(Printable(shown), shown);
  }
}

TEST(CharactersTest, AreCountedAndCutAsWholes) {
  EXPECT_EQ(CountCharacters("a\u00e4\u20ac"), 3);
  EXPECT_EQ(FirstCharacters("a\u00e4\u20ac", 2), "a\u00e4");
  EXPECT_EQ(FirstCharacters("a\u00e4", 9), "a\u00e4");
  EXPECT_EQ(FirstCharacters("\u00e4", 0), "");
}

}  // namespace
}  // namespace bridge

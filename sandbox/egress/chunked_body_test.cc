#include "sandbox/egress/chunked_body.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace egress {
namespace {

// Returns the bytes that belong to the body, and after them "|" if it is
// complete, "!" if it is malformed, and "..." if it goes on.
std::string Body(absl::string_view bytes, size_t step) {
  ChunkedBody body;
  std::string all;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const absl::string_view part = bytes.substr(at, step);
    const size_t taken = body.Read(part);
    absl::StrAppend(&all, part.substr(0, taken));
    if (taken < part.size()) {
      break;
    }
  }
  return absl::StrCat(all, body.complete()    ? "|"
                           : body.malformed() ? "!"
                                              : "...");
}

// The same, once with all bytes together and once byte by byte.
std::string Body(absl::string_view bytes) {
  const std::string together = Body(bytes, bytes.size() + 1);
  EXPECT_EQ(Body(bytes, 1), together);
  return together;
}

bool IsComplete(const std::string& bytes) {
  return Body(absl::StrCat(bytes, "more")) == absl::StrCat(bytes, "|");
}

bool IsMalformed(const std::string& bytes) { return Body(bytes).back() == '!'; }

TEST(ChunkedBodyTest, EndsAfterTheLastChunk) {
  EXPECT_TRUE(IsComplete("0\r\n\r\n"));
  EXPECT_TRUE(IsComplete("000\r\n\r\n"));
  EXPECT_TRUE(IsComplete("5\r\nhello\r\n0\r\n\r\n"));
  EXPECT_TRUE(IsComplete("5\r\n\r\n0\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(IsComplete("1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"));
}

TEST(ChunkedBodyTest, ReadsHexadecimalSizesOfAnyCase) {
  for (const char* size : {"1f", "1F", "001f"}) {
    EXPECT_TRUE(IsComplete(
        absl::StrCat(size, "\r\n", std::string(31, 'x'), "\r\n0\r\n\r\n")))
        << size;
  }
  for (const char* size : {"a", "A"}) {
    EXPECT_TRUE(IsComplete(absl::StrCat(size, "\r\n0123456789\r\n0\r\n\r\n")));
  }
  EXPECT_TRUE(IsComplete("9\r\n012345678\r\n0\r\n\r\n"));
  for (const char* size : {"g", "G", "@", "`", "/", ":", "-1", "+1", "0x1"}) {
    EXPECT_TRUE(IsMalformed(absl::StrCat(size, "\r\n"))) << size;
  }
}

TEST(ChunkedBodyTest, ReadsSizesOfFifteenDigits) {
  EXPECT_EQ(Body("fffffffffffffff\r\nabc"), "fffffffffffffff\r\nabc...");
  EXPECT_TRUE(IsMalformed("0000000000000000\r\n"));
  EXPECT_TRUE(IsMalformed("1\r\na\r\n1000000000000000\r\n"));
  EXPECT_TRUE(
      IsComplete("000000000000001\r\na\r\n000000000000001\r\nb\r\n0\r\n\r\n"));
}

TEST(ChunkedBodyTest, ReadsExtensions) {
  EXPECT_TRUE(IsComplete("1;a=b\r\nx\r\n0;c\r\n\r\n"));
  EXPECT_TRUE(IsComplete("1 \t;a=\"b c\"\r\nx\r\n0\r\n\r\n"));
  EXPECT_TRUE(IsMalformed("1 \r\n"));
  EXPECT_TRUE(IsMalformed("1 2\r\n"));
  EXPECT_TRUE(IsMalformed(" 1\r\n"));
  EXPECT_TRUE(IsMalformed(";a\r\n"));
  EXPECT_TRUE(IsMalformed("1;a\nx"));
  EXPECT_TRUE(IsMalformed(std::string("1;a\0", 4)));
  EXPECT_TRUE(IsMalformed("1;a\x7f"));
}

TEST(ChunkedBodyTest, ReadsTrailers) {
  EXPECT_TRUE(IsComplete("0\r\nA: b\r\nC:\r\n\r\n"));
  EXPECT_TRUE(IsMalformed("0\r\nA: b\nC: d\r\n"));
  EXPECT_TRUE(IsMalformed("0\r\n folded\r\n"));
  EXPECT_TRUE(IsMalformed("0\r\n:\r\n"));
  EXPECT_TRUE(IsMalformed("0\r\nA b: c\r\n"));
  EXPECT_TRUE(IsMalformed("0\r\nA\r\n"));
  EXPECT_TRUE(IsMalformed("0\r\nA: b\rc"));
  EXPECT_TRUE(IsMalformed(std::string("0\r\nA: \0", 7)));
}

TEST(ChunkedBodyTest, RefusesLinesWithoutCrLf) {
  EXPECT_TRUE(IsMalformed("1\nx"));
  EXPECT_TRUE(IsMalformed("1\rx"));
  EXPECT_TRUE(IsMalformed("1\r\nxy"));
  EXPECT_TRUE(IsMalformed("1\r\nx\n"));
  EXPECT_TRUE(IsMalformed("1\r\nx\r0"));
  EXPECT_TRUE(IsMalformed("0\r\n\n"));
  EXPECT_TRUE(IsMalformed("0\r\n\rx"));
  EXPECT_TRUE(IsMalformed("\r\n"));
}

TEST(ChunkedBodyTest, BoundsExtensionsAndTrailers) {
  const std::string most(ChunkedBody::kMaxExtra, 'x');
  EXPECT_TRUE(IsComplete(absl::StrCat("1;", most, "\r\na\r\n1;", most,
                                      "\r\nb\r\n0;", most, "\r\n\r\n")));
  EXPECT_TRUE(IsMalformed(absl::StrCat("1;", most, "x")));
  const std::string spaces(ChunkedBody::kMaxExtra, ' ');
  EXPECT_EQ(Body("1" + spaces), "1" + spaces + "...");
  EXPECT_TRUE(IsMalformed("1 " + spaces));
  // The name and its value; colons and ends of lines are not counted.
  const std::string value = most.substr(4);
  EXPECT_TRUE(IsComplete(absl::StrCat("0\r\nab:", value, "\r\nc:d\r\n\r\n")));
  EXPECT_TRUE(IsMalformed(absl::StrCat("0\r\nab:", value, "\r\nc:de")));
  EXPECT_TRUE(IsMalformed(absl::StrCat("0\r\n", most, "x")));
}

TEST(ChunkedBodyTest, TakesNothingAfterItsEnd) {
  ChunkedBody body;
  EXPECT_EQ(body.Read("0\r\n\r\nGET"), 5U);
  EXPECT_EQ(body.Read("GET"), 0U);
  EXPECT_TRUE(body.complete());
  ChunkedBody wrong;
  EXPECT_EQ(wrong.Read("x0\r\n"), 1U);
  EXPECT_EQ(wrong.Read("0\r\n"), 0U);
  EXPECT_TRUE(wrong.malformed());
}

}  // namespace
}  // namespace egress

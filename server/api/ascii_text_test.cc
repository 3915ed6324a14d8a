#include "server/api/ascii_text.h"

#include <string>

#include "gtest/gtest.h"

namespace server {
namespace {

TEST(AsciiTextTest, KeepsPrintableText) {
  EXPECT_EQ(AsciiText("is \"a b\"; allowed: ~"), "is \"a b\"; allowed: ~");
}

TEST(AsciiTextTest, EscapesAllOtherBytes) {
  EXPECT_EQ(AsciiText(std::string("/\xff\0\n\x1b\x7f", 6)),
            "/\\xff\\x00\\x0a\\x1b\\x7f");
}

}  // namespace
}  // namespace server

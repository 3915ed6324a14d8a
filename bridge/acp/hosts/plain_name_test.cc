#include "bridge/acp/hosts/plain_name.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(PlainNameTest, HasOneSpelling) {
  EXPECT_EQ(PlainName("Api.EXAMPLE."), "api.example");
  EXPECT_EQ(PlainName("xn--bcher-kva_2.example"), "xn--bcher-kva_2.example");
  EXPECT_EQ(PlainName(std::string(253, 'a') + "."), std::string(253, 'a'));
}

TEST(PlainNameTest, IsNothingThatAPersonShouldNotBeAskedAbout) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(254, 'a'),
        std::string("*.example"), std::string("a b"), std::string("a\x1b[2J"),
        std::string("a\0b", 3),
        std::string("b\xc3\xbc"
                    "cher.example"),
        std::string("a/b"), std::string("a:80")}) {
    EXPECT_EQ(PlainName(name), std::nullopt) << name;
  }
}

TEST(PlainNameTest, ATitleKeepsTheEndOfALongName) {
  const std::string longest(64, 'a');
  EXPECT_EQ(TitleOfName(longest), longest);
  EXPECT_EQ(TitleOfName(absl::StrCat(longest, ".b")),
            absl::StrCat("...", std::string(59, 'a'), ".b"));
}

}  // namespace
}  // namespace bridge

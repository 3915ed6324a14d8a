#include "sandbox/egress/host_name.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace egress {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;
using ::tests::StatusIs;

TEST(HostNameTest, IsComparedInLowerCaseAndWithoutTheLastDot) {
  EXPECT_THAT(NormalizeHostName("Packages.EXAMPLE.com."),
              Optional(std::string("packages.example.com")));
  EXPECT_THAT(NormalizeHostName("localhost"),
              Optional(std::string("localhost")));
}

TEST(HostNameTest, RefusesWhatIsNoName) {
  const std::string long_label(64, 'a');
  const std::string long_name = std::string(250, 'a') + ".com";
  for (const std::string& name :
       {std::string(), std::string("."), std::string("a..b"),
        std::string("a b"), std::string("a/b"), std::string("a\0b", 3),
        std::string("a.com.."), std::string("\xc3\xa9.com"),
        std::string("[::1]"), long_label, long_name}) {
    EXPECT_EQ(NormalizeHostName(name), std::nullopt) << name;
  }
}

TEST(HostNameTest, RefusesWhatProgramsReadAsAnAddress) {
  for (const char* name : {"127.0.0.1", "127.1", "2130706433", "0x7f000001",
                           "1.2.3.0x4", "10.0.0.1."}) {
    EXPECT_EQ(NormalizeHostName(name), std::nullopt) << name;
  }
}

TEST(NamePatternTest, MatchesOneNameExactly) {
  const auto pattern = NamePattern::Parse("Example.com");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->Matches("example.com"));
  EXPECT_FALSE(pattern->Matches("www.example.com"));
  EXPECT_FALSE(pattern->Matches("notexample.com"));
  EXPECT_FALSE(pattern->Matches("example.com.evil.org"));
}

TEST(NamePatternTest, WildcardMatchesAllNamesBelowButNotTheNameItself) {
  const auto pattern = NamePattern::Parse("*.example.com");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->Matches("www.example.com"));
  EXPECT_TRUE(pattern->Matches("a.b.example.com"));
  EXPECT_FALSE(pattern->Matches("example.com"));
  EXPECT_FALSE(pattern->Matches("notexample.com"));
}

TEST(NamePatternTest, CoversThePatternsWithinIt) {
  const auto covers = [](const char* wide, const char* narrow) {
    return NamePattern::Parse(wide)->Covers(*NamePattern::Parse(narrow));
  };
  EXPECT_TRUE(covers("a.com", "A.com"));
  EXPECT_TRUE(covers("*.com", "a.com"));
  EXPECT_TRUE(covers("*.a.com", "*.a.com"));
  EXPECT_TRUE(covers("*.a.com", "*.b.a.com"));
  EXPECT_FALSE(covers("a.com", "*.a.com"));
  EXPECT_FALSE(covers("*.a.com", "a.com"));
  EXPECT_FALSE(covers("*.a.com", "*.com"));
  EXPECT_FALSE(covers("*.a.com", "*.ba.com"));
}

TEST(NamePatternTest, RefusesWildcardsElsewhereAndAddresses) {
  for (const char* text :
       {"*", "*.", "a.*.com", "*example.com", "*.*.com", "10.0.0.1", "*.1"}) {
    EXPECT_THAT(NamePattern::Parse(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("allowed is a host name")))
        << text;
  }
}

TEST(HostNameTest, TakesLabelsAndNamesUpToTheirBounds) {
  const std::string label(63, 'a');
  EXPECT_THAT(NormalizeHostName(label), Optional(label));
  const std::string name =
      label + "." + label + "." + label + "." + std::string(61, 'a');
  ASSERT_EQ(name.size(), 253U);
  EXPECT_THAT(NormalizeHostName(name), Optional(name));
  EXPECT_THAT(NormalizeHostName(name + "."), Optional(name));
  EXPECT_EQ(NormalizeHostName(name + "a"), std::nullopt);
}

TEST(HostNameTest, TakesNamesThatOnlyBeginLikeAnAddress) {
  for (const std::string name :
       {"1.2.3.4.example", "0x.example", "a-b_c.d", "1a", "a0x1"}) {
    EXPECT_THAT(NormalizeHostName(name), Optional(name));
  }
}

TEST(NamePatternTest, CutsALongTextInItsError) {
  EXPECT_THAT(
      NamePattern::Parse(std::string(1000, '.')).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::StartsWith("'" + std::string(506, '.') + "'")));
}

}  // namespace
}  // namespace egress

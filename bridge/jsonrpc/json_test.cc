#include "bridge/jsonrpc/json.h"

#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(JsonTest, RefusesWhatIsNotOneValue) {
  for (const char* text :
       {"", "{", "{} {}", "nul", "\"\xff\"", "[1,]", "'a'"}) {
    EXPECT_FALSE(ParseJson(text).has_value()) << text;
    EXPECT_FALSE(IsJson(text)) << text;
  }
}

TEST(JsonTest, TakesTheLastOfMembersWithOneName) {
  EXPECT_EQ((*ParseJson(R"({"a":1,"a":2})"))["a"], 2);
}

TEST(JsonTest, ReadsDeepNesting) {
  const std::string deep =
      std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_TRUE(IsJson(deep));
  EXPECT_TRUE(ParseJson(deep).has_value());
}

TEST(JsonTest, ReplacesInvalidUtf8WhenItWrites) {
  EXPECT_EQ(Serialize(Json("a\xff\n")), "\"a\xEF\xBF\xBD\\n\"");
}

}  // namespace
}  // namespace bridge

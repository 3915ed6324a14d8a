#include "bridge/jsonrpc/json.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace bridge {
namespace {

std::string Nested(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonTest, RefusesTextThatIsNotOneValue) {
  for (const char* text :
       {"", "{", "{} {}", "nul", "\"\xff\"", "[1,]", "'a'"}) {
    EXPECT_FALSE(ParseJson(text).has_value()) << text;
    EXPECT_FALSE(IsJson(text)) << text;
  }
}

TEST(JsonTest, KeepsTheLastOfTwoMembersOfOneName) {
  EXPECT_EQ((*ParseJson(R"({"a":1,"a":2})"))["a"], 2);
}

TEST(JsonTest, ChecksDeepNestingWithoutRecursion) {
  EXPECT_TRUE(IsJson(Nested(1'000'000)));
  EXPECT_FALSE(IsJson(Nested(1'000'000) + "]"));
}

TEST(JsonTest, ParsesUpToTheDepthThatCanBeSerialized) {
  const std::optional<Json> deepest = ParseJson(Nested(kMaxJsonDepth));
  ASSERT_TRUE(deepest.has_value());
  EXPECT_EQ(Serialize(*deepest), Nested(kMaxJsonDepth));
  EXPECT_FALSE(ParseJson(Nested(kMaxJsonDepth + 1)).has_value());
  EXPECT_FALSE(ParseJson(Nested(1'000'000)).has_value());
}

TEST(NestingDepthTest, CountsBracketsOutsideOfStrings) {
  EXPECT_EQ(NestingDepth("1"), 0u);
  EXPECT_EQ(NestingDepth("{}"), 1u);
  EXPECT_EQ(NestingDepth(R"({"a":[1,{"b":2}],"c":[3]})"), 3u);
  EXPECT_EQ(NestingDepth(R"(["[[","\"[[","\\",[]])"), 2u);
  EXPECT_EQ(NestingDepth("]]]["), 1u);
  EXPECT_EQ(NestingDepth("[\"[["), 1u);
}

TEST(JsonTest, IndentsAsJavaScriptDoesAndKeepsTheOrderOfMembers) {
  const std::optional<OrderedJson> value =
      ParseOrderedJson(R"({"b":1,"a":{"d":[],"c":"x\u001b"}})");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(SerializeIndented(*value),
            "{\n  \"b\": 1,\n  \"a\": {\n    \"d\": [],\n"
            "    \"c\": \"x\\u001b\"\n  }\n}");
}

TEST(JsonTest, WritesNumbersAsJavaScriptDoes) {
  EXPECT_EQ(SerializeOrdered(JavaScriptNumber(3600)), "3600");
  EXPECT_EQ(SerializeOrdered(JavaScriptNumber(0.5)), "0.5");
  EXPECT_EQ(SerializeOrdered(JavaScriptNumber(-9007199254740991)),
            "-9007199254740991");
  EXPECT_EQ(SerializeOrdered(JavaScriptNumber(9007199254740992)),
            "9.007199254740992e+15");
  EXPECT_EQ(SerializeOrdered(JavaScriptNumber(0.003 + 3.007)),
            "3.0100000000000002");
}

TEST(JsonTest, ReplacesInvalidUtf8WhenSerializing) {
  EXPECT_EQ(Serialize(Json("a\xff\n")), "\"a\xEF\xBF\xBD\\n\"");
}

TEST(JsonTest, AcceptsNumbersThatAreTooLarge) {
  EXPECT_TRUE(IsJson(R"({"n":1e400,"s":"1e400"})"));
  EXPECT_FALSE(IsJson(R"({"n":1e400)"));
  const std::optional<Json> value = ParseJson("[1e400,-1e400]");
  ASSERT_TRUE(value.has_value());
  EXPECT_GT((*value)[0].get<double>(), 1e308);
  EXPECT_LT((*value)[1].get<double>(), -1e308);
}

}  // namespace
}  // namespace bridge

#include "bridge/jsonrpc/members.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Scan(absl::string_view text) {
  std::vector<std::string> found;
  const std::optional<std::vector<Member>> members = ScanObject(text);
  if (!members.has_value()) {
    return {"none"};
  }
  for (const Member& member : *members) {
    found.push_back(absl::StrCat(member.name, "=", member.value));
  }
  return found;
}

TEST(ScanObjectTest, FindsEachValueAsWritten) {
  EXPECT_THAT(Scan("  { \"a\" : 1.50e3 ,\"b\":\"x\\\"}\",\t\"c\":[1, {\"]\":2}]"
                   ",\"d\": { } ,\"e\":null}\r\n"),
              ElementsAre("a=1.50e3", "b=\"x\\\"}\"", "c=[1, {\"]\":2}]",
                          "d={ }", "e=null"));
}

TEST(ScanObjectTest, AcceptsAnEmptyObjectAndAByteOrderMark) {
  EXPECT_THAT(Scan("{}"), ElementsAre());
  EXPECT_THAT(Scan("\xEF\xBB\xBF{ }"), ElementsAre());
}

TEST(ScanObjectTest, EndsANumberAtAnyWhiteSpace) {
  EXPECT_THAT(Scan("{\"a\":1\t,\"b\":2\r,\"c\":3\n,\"d\":4 }"),
              ElementsAre("a=1", "b=2", "c=3", "d=4"));
}

TEST(ScanObjectTest, DecodesNames) {
  EXPECT_THAT(Scan(R"({"\u0069d":0})"), ElementsAre("id=0"));
}

TEST(ScanObjectTest, RefusesTextThatIsNotAnObject) {
  for (const char* text :
       {"", " ", "[1]", "1", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1",
        "{\"a\":1,}", "{\"a\" 1}", "{\"a\":\"x}", "{\"a\":[1}", "{a:1}",
        "{\"a\":1} x", "{\"a\":1 \"b\":2}", "{\"a\\\":1}", "{\"a\\x\":1}"}) {
    EXPECT_THAT(Scan(text), ElementsAre("none")) << text;
  }
}

TEST(ScanObjectTest, SkipsValuesOfAnyDepth) {
  const std::string deep = std::string(1'000'000, '[');
  EXPECT_THAT(Scan("{\"a\":" + deep + "}"), ElementsAre("none"));
  const std::string closed = deep + std::string(1'000'000, ']');
  EXPECT_EQ(ScanObject("{\"a\":" + closed + "}")->size(), 1u);
}

TEST(FindMemberTest, ReturnsTheLastOfTwoMembersOfOneName) {
  const auto members = ScanObject(R"({"a":1,"b":2,"a":3})");
  EXPECT_EQ(FindMember(*members, "a"), "3");
  EXPECT_EQ(FindMember(*members, "c"), std::nullopt);
}

TEST(ScanArrayTest, ReturnsTheElementsAsWritten) {
  EXPECT_THAT(*ScanArray(R"( [1.50, "a,]" ,{"b":[2]},[] ] )"),
              ElementsAre("1.50", "\"a,]\"", "{\"b\":[2]}", "[]"));
  EXPECT_THAT(*ScanArray("[]"), ElementsAre());
  for (const char* text : {"", "{}", "[1", "[1,]", "[1] 2"}) {
    EXPECT_FALSE(ScanArray(text).has_value()) << text;
  }
}

TEST(ReplacePartTest, KeepsEveryOtherByte) {
  const std::string text = R"({"a": 1.0, "b": [2]})";
  const auto members = ScanObject(text);
  EXPECT_EQ(ReplacePart(text, *FindMember(*members, "a"), "\"x\""),
            R"({"a": "x", "b": [2]})");
}

}  // namespace
}  // namespace bridge

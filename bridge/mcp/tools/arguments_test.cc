#include "bridge/mcp/tools/arguments.h"

#include <string>

#include "bridge/jsonrpc/json.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(Arguments, ReturnsValuesAndDefaults) {
  const OrderedJson values = {{"text", "x"}, {"flag", true}, {"number", 2.5}};
  const Arguments arguments(values);
  EXPECT_EQ(arguments.RequiredString("text").value(), "x");
  EXPECT_EQ(arguments.String("none", "default").value(), "default");
  EXPECT_TRUE(arguments.Bool("flag", false).value());
  EXPECT_EQ(arguments.Number("number", 0).value(), 2.5);
  EXPECT_EQ(arguments.Integer("none", 7, 1, 9).value(), 7);
  EXPECT_EQ(arguments.Choice("none", {"a", "b"}).value(), "a");
}

TEST(Arguments, NamesTheArgumentThatIsWrong) {
  const OrderedJson values = {{"text", 5}, {"number", 1.5}, {"choice", "c"}};
  const Arguments arguments(values);
  EXPECT_EQ(arguments.RequiredString("text").status().message(),
            "Invalid argument \"text\": expected string, received number");
  EXPECT_EQ(arguments.RequiredString("none").status().message(),
            "Invalid argument \"none\": expected string, received nothing");
  EXPECT_EQ(arguments.String("text", "x").status().message(),
            "Invalid argument \"text\": expected string, received number");
  EXPECT_EQ(arguments.Bool("text", true).status().message(),
            "Invalid argument \"text\": expected boolean, received number");
  EXPECT_EQ(arguments.Number("choice", 1).status().message(),
            "Invalid argument \"choice\": expected number, received string");
  EXPECT_EQ(arguments.Integer("number", 1, 1, 9).status().message(),
            "Invalid argument \"number\": expected integer from 1 to 9, "
            "received 1.5");
  EXPECT_EQ(arguments.Choice("choice", {"a", "b"}).status().message(),
            "Invalid argument \"choice\": expected 'a' or 'b', received 'c'");
}

TEST(Arguments, TakesWholeNumbersOfTheRangeOnly) {
  const OrderedJson values = {{"below", 0},  {"least", 1},  {"most", 9},
                              {"above", 10}, {"part", 8.5}, {"text", "5"}};
  const Arguments arguments(values);
  EXPECT_EQ(arguments.Integer("least", 5, 1, 9).value(), 1);
  EXPECT_EQ(arguments.Integer("most", 5, 1, 9).value(), 9);
  for (const char* const name : {"below", "above", "part", "text"}) {
    EXPECT_FALSE(arguments.Integer(name, 5, 1, 9).ok()) << name;
  }
}

TEST(Arguments, ReadsSomeOfTheAllowedWords) {
  const OrderedJson values = {{"some", OrderedJson::array({"b", "a"})},
                              {"wrong", OrderedJson::array({"c"})},
                              {"text", "a"}};
  const Arguments arguments(values);
  const std::vector<std::string> allowed = {"a", "b"};
  EXPECT_EQ(arguments.Choices("some", allowed)->value(),
            std::vector<std::string>({"b", "a"}));
  EXPECT_FALSE(arguments.Choices("none", allowed)->has_value());
  EXPECT_EQ(arguments.Choices("wrong", allowed).status().message(),
            "Invalid argument \"wrong\": expected array of 'a', 'b', received "
            "\"c\"");
  EXPECT_FALSE(arguments.Choices("text", allowed).ok());
}

TEST(Arguments, HasNoneIfTheCallHasNone) {
  const OrderedJson nothing;
  EXPECT_FALSE(Arguments(nothing).RequiredString("text").ok());
  EXPECT_FALSE(Arguments(nothing).Bool("flag", false).value());
}

}  // namespace
}  // namespace bridge

#include "bridge/acp/display/terminal_content.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kContent[] =
    R"([{"type":"content","n":1e400}, {"type":"terminal","terminalId":"a"},)"
    R"({"terminalId":"b","type":"terminal","_meta":null}])";

TEST(TerminalContentTest, FindsTheTerminals) {
  EXPECT_THAT(TerminalsIn(kContent), ElementsAre("a", "b"));
  for (const char* none : {"", "null", "{}", "[1]", R"([{"type":"terminal"}])",
                           R"([{"type":"content","terminalId":"x"}])"}) {
    EXPECT_THAT(TerminalsIn(none), IsEmpty()) << none;
  }
}

TEST(TerminalContentTest, ReplacesTerminalsAndKeepsTheRestAsWritten) {
  EXPECT_EQ(ReplaceTerminals(kContent,
                             [](const std::string& id) {
                               return id == "a" ? std::string()
                                                : TerminalItem("c\"");
                             }),
            R"([{"type":"content","n":1e400},)"
            R"({"type":"terminal","terminalId":"c\""}])");
}

TEST(TerminalContentTest, AddsAnItem) {
  EXPECT_EQ(WithItem("[1, 2]", "3"), "[1,2,3]");
  EXPECT_EQ(WithItem("", "3"), "[3]");
}

TEST(TerminalContentTest, LetsNoOutputEndItsBlock) {
  EXPECT_THAT(ConsoleItem("a"), HasSubstr(R"("```console\na\n```")"));
  EXPECT_THAT(ConsoleItem("````\n"),
              HasSubstr(R"("`````console\n````\n`````")"));
  EXPECT_THAT(ConsoleItem("```"), HasSubstr(R"("````console\n```\n````")"));
  // Not all of them together.
  EXPECT_THAT(ConsoleItem("``a``"), HasSubstr(R"("```console\n``a``\n```")"));
}

}  // namespace
}  // namespace bridge

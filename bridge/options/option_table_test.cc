#include "bridge/options/option_table.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OptionTableTest : public ::testing::Test {
 protected:
  OptionTableTest() : table_("corral cmd", "[OPTIONS]", "Does it.") {
    table_.TakePositionals(0, 4);
    table_.Flag('f', "flag", "A flag.", flag_);
    table_.Flag('g', "other", "Another.", other_);
    table_.Text('t', "text", "TEXT", "A text.", text_);
    table_.Value(0, "odd", "ODD", "A number.", [](absl::string_view value) {
      return value == "1" ? absl::OkStatus()
                          : absl::InvalidArgumentError("allowed is 1");
    });
  }

  std::string Error(const std::vector<std::string>& words) {
    const auto arguments = table_.Parse(words);
    EXPECT_TRUE(absl::IsInvalidArgument(arguments.status()));
    return static_cast<std::string>(arguments.status().message());
  }

  // Parses the words and returns the value of --text.
  std::string Text(const std::vector<std::string>& words) {
    text_ = "unset";
    EXPECT_TRUE(table_.Parse(words).ok());
    return text_;
  }

  OptionTable table_;
  bool flag_ = false;
  bool other_ = false;
  std::string text_;
};

TEST_F(OptionTableTest, TakesAllSpellingsOfAValue) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{
           {"--text", "x"}, {"--text=x"}, {"-t", "x"}, {"-tx"}}) {
    EXPECT_EQ(Text(words), "x");
  }
  EXPECT_EQ(Text({"--text="}), "");
  EXPECT_EQ(Text({"--text=a=b"}), "a=b");
}

TEST_F(OptionTableTest, TakesJoinedFlags) {
  EXPECT_EQ(Text({"-fgtx"}), "x");
  EXPECT_TRUE(flag_);
  EXPECT_TRUE(other_);
}

TEST_F(OptionTableTest, TakesAValueThatLooksLikeAnOption) {
  EXPECT_EQ(Text({"--text", "--flag"}), "--flag");
  EXPECT_FALSE(flag_);
}

TEST_F(OptionTableTest, RefusesAWrongNumberOfPositionals) {
  table_.TakePositionals(1, 2);
  EXPECT_EQ(Error({}), "usage: corral cmd [OPTIONS]");
  EXPECT_EQ(Error({"a", "b", "c"}), "usage: corral cmd [OPTIONS]");
  EXPECT_TRUE(table_.Parse({"--help"}).ok());
}

TEST_F(OptionTableTest, TakesOptionsBetweenPositionals) {
  EXPECT_THAT(table_.Parse({"a", "-f", "b", "--", "-g", "-"})->positionals,
              ElementsAre("a", "b", "-g", "-"));
  EXPECT_TRUE(flag_);
  EXPECT_FALSE(other_);
}

TEST_F(OptionTableTest, TakesASingleHyphenAsAPositional) {
  EXPECT_THAT(table_.Parse({"a", "-", "-f"})->positionals,
              ElementsAre("a", "-"));
  EXPECT_TRUE(flag_);
}

TEST_F(OptionTableTest, LeavesTheWordsOfACommandAlone) {
  table_.TakeCommandAfter(1);
  const auto arguments = table_.Parse({"a", "-f", "b", "-g", "--", "c"});
  EXPECT_THAT(arguments->positionals, ElementsAre("a"));
  EXPECT_THAT(arguments->command, ElementsAre("b", "-g", "--", "c"));
  EXPECT_TRUE(flag_ && !other_);
}

TEST_F(OptionTableTest, TakesACommandAfterTwoHyphens) {
  table_.TakeCommandAfter(1);
  EXPECT_THAT(table_.Parse({"a", "--", "-g"})->command, ElementsAre("-g"));
  EXPECT_THAT(table_.Parse({"a"})->command, IsEmpty());
  EXPECT_FALSE(other_);
}

TEST_F(OptionTableTest, NamesAnUnknownOption) {
  EXPECT_THAT(Error({"--nope"}),
              AllOf(HasSubstr("--nope"), HasSubstr("corral cmd --help")));
  EXPECT_THAT(Error({"-fx"}), HasSubstr("-x"));
}

TEST_F(OptionTableTest, NamesAWrongValue) {
  EXPECT_THAT(Error({"--flag=1"}), HasSubstr("--flag takes no value"));
  EXPECT_THAT(Error({"--text"}), HasSubstr("--text takes a value: TEXT"));
  EXPECT_EQ(Error({"--odd", "2"}), "--odd \"2\": allowed is 1");
}

TEST_F(OptionTableTest, AlignsTheHelpOfALongOption) {
  table_.Text(0, "an-option-with-a-long-name", "VALUE", "Its help.", text_);
  EXPECT_THAT(table_.Help(),
              HasSubstr(absl::StrCat("--an-option-with-a-long-name VALUE\n",
                                     std::string(28, ' '), "Its help.\n")));
}

TEST_F(OptionTableTest, PutsTheHelpOfEachOptionBesideIt) {
  OptionTable table("corral cmd", "[OPTIONS]", "Does it.");
  table.Flag('f', "flag", "One line,\nand another.", flag_);
  // The first of these just fits, with two spaces behind it.
  table.Text(0, "just-fits", "XXXXXXXX", "Help.", text_);
  table.Text(0, "just-fits", "XXXXXXXXX", "Help.", text_);
  const std::string column(28, ' ');
  EXPECT_EQ(
      table.Help(),
      absl::StrCat("Usage: corral cmd [OPTIONS]\n\nDoes it.\n\nOptions:\n",
                   "  -f, --flag", std::string(16, ' '), "One line,\n", column,
                   "and another.\n", "      --just-fits XXXXXXXX  Help.\n",
                   "      --just-fits XXXXXXXXX\n", column, "Help.\n",
                   "  -h, --help", std::string(16, ' '), "Show this text.\n"));
  EXPECT_TRUE(table.Parse({"-h"})->help);
}

TEST_F(OptionTableTest, WritesHelp) {
  EXPECT_TRUE(table_.Parse({"-f", "--help", "--nope"})->help);
  EXPECT_THAT(table_.Help(),
              AllOf(HasSubstr("Usage: corral cmd [OPTIONS]"),
                    HasSubstr("-t, --text TEXT"), HasSubstr("A number.")));
}

}  // namespace
}  // namespace bridge

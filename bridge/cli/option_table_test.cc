#include "bridge/cli/option_table.h"

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
  OptionTableTest() : table_("cmd", "[OPTIONS]", "Does it.") {
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
    EXPECT_TRUE(IsUsageError(arguments.status()));
    return std::string(arguments.status().message());
  }

  OptionTable table_;
  bool flag_ = false;
  bool other_ = false;
  std::string text_;
};

TEST_F(OptionTableTest, TakesAllSpellings) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{
           {"--text", "x"}, {"--text=x"}, {"-t", "x"}, {"-tx"}, {"-ftx"}}) {
    text_.clear();
    ASSERT_TRUE(table_.Parse(words).ok());
    EXPECT_EQ(text_, "x");
  }
  EXPECT_TRUE(flag_);
  ASSERT_TRUE(table_.Parse({"-fg"}).ok());
  EXPECT_TRUE(other_);
  ASSERT_TRUE(table_.Parse({"--text="}).ok());
  EXPECT_EQ(text_, "");
  ASSERT_TRUE(table_.Parse({"--text", "--flag"}).ok());
  EXPECT_EQ(text_, "--flag");
}

TEST_F(OptionTableTest, TakesOptionsBetweenPositionals) {
  EXPECT_THAT(table_.Parse({"a", "-f", "b", "--", "-g", "-"})->positionals,
              ElementsAre("a", "b", "-g", "-"));
  EXPECT_TRUE(flag_);
  EXPECT_FALSE(other_);
}

TEST_F(OptionTableTest, LeavesTheWordsOfACommandAlone) {
  table_.TakeCommandAfter(1);
  auto arguments = table_.Parse({"a", "-f", "b", "-g", "--", "c"});
  EXPECT_THAT(arguments->positionals, ElementsAre("a"));
  EXPECT_THAT(arguments->command, ElementsAre("b", "-g", "--", "c"));
  arguments = table_.Parse({"a", "--", "-g"});
  EXPECT_THAT(arguments->command, ElementsAre("-g"));
  EXPECT_TRUE(flag_);
  EXPECT_FALSE(other_);
  EXPECT_THAT(table_.Parse({"a"})->command, IsEmpty());
}

TEST_F(OptionTableTest, NamesWhatIsWrong) {
  EXPECT_THAT(Error({"--nope"}),
              AllOf(HasSubstr("--nope"), HasSubstr("corral cmd --help")));
  EXPECT_THAT(Error({"-fx"}), HasSubstr("-x"));
  EXPECT_THAT(Error({"--flag=1"}), HasSubstr("--flag takes no value"));
  EXPECT_THAT(Error({"--text"}), HasSubstr("--text takes a value: TEXT"));
  EXPECT_EQ(Error({"--odd", "2"}), "--odd \"2\": allowed is 1");
}

TEST_F(OptionTableTest, WritesHelp) {
  EXPECT_TRUE(table_.Parse({"-f", "--help", "--nope"})->help);
  EXPECT_THAT(table_.Help(),
              AllOf(HasSubstr("Usage: corral cmd [OPTIONS]"),
                    HasSubstr("-t, --text TEXT"), HasSubstr("A number.")));
}

}  // namespace
}  // namespace bridge

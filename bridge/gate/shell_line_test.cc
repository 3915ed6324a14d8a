#include "bridge/gate/shell_line.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(ShellLineTest, FindsTheLine) {
  EXPECT_EQ(ShellLine({"/bin/sh", "-c", "ls"}), "ls");
  EXPECT_EQ(ShellLine({"bash", "-lc", "ls | wc", "name"}), "ls | wc");
  EXPECT_EQ(ShellLine({"bash", "-l", "-c", "ls"}), "ls");
  EXPECT_EQ(ShellLine({"sh", "-c"}), std::nullopt);
  EXPECT_EQ(ShellLine({"sh", "script"}), std::nullopt);
  EXPECT_EQ(ShellLine({"python", "-c", "ls"}), std::nullopt);
  EXPECT_EQ(ShellLine({}), std::nullopt);
}

TEST(ShellLineTest, FindsTheLineBehindTheOptions) {
  EXPECT_EQ(ShellLine({"sh", "-c", "-e", "ls"}), "ls");
  EXPECT_EQ(ShellLine({"bash", "--rcfile", "file", "-c", "ls"}), "ls");
  // A script gets the words behind it.
  EXPECT_EQ(ShellLine({"sh", "script", "ls"}), std::nullopt);
}

TEST(ShellLineTest, KnowsShellsByTheirNames) {
  for (const char* const shell :
       {"sh", "/bin/bash", "./dash", "/usr/bin/zsh", "ksh"}) {
    EXPECT_TRUE(IsShell(shell)) << shell;
  }
  for (const char* const other : {"", "fish", "sh/", "bash/x", "/bin/shred"}) {
    EXPECT_FALSE(IsShell(other)) << other;
  }
}

TEST(ShellLineTest, SplitsOnlyWhatAShellWouldOnlySplit) {
  EXPECT_THAT(*PlainWords(" git  status -s "),
              ElementsAre("git", "status", "-s"));
  EXPECT_THAT(*PlainWords("a_b-c+d./e:f@g,h%i \xc3\xa9"),
              ElementsAre("a_b-c+d./e:f@g,h%i", "\xc3\xa9"));
  for (const char* line :
       {"", " ", "a|b", "a;b", "a&b", "$A", "`a`", "a>b", "'a'", "\"a\"",
        "a\nb", "A=1 b", "a*", "~/a", "{a,b}", "a\\b", "#a", "!a", "a\tb"}) {
    EXPECT_EQ(PlainWords(line), std::nullopt) << line;
  }
}

TEST(ShellLineTest, LeavesOutAChangeToTheDirectoryOfTheCommand) {
  EXPECT_EQ(WithoutChangeTo("/w", "cd '/w' && make"), "make");
  EXPECT_EQ(WithoutChangeTo("/w", "cd /w && make"), "make");
  EXPECT_EQ(WithoutChangeTo("/w", "cd /x && make"), "cd /x && make");
  EXPECT_EQ(WithoutChangeTo("/w", "cd '/w' ; make"), "cd '/w' ; make");
}

TEST(ShellLineTest, LeavesOutAChangeToADirectoryThatNeedsQuotesOnlyInQuotes) {
  for (const char* const directory : {"/a b", "/a$b", "/a;b"}) {
    const std::string quoted = absl::StrCat("cd '", directory, "' && make");
    EXPECT_EQ(WithoutChangeTo(directory, quoted), "make");
    const std::string bare = absl::StrCat("cd ", directory, " && make");
    EXPECT_EQ(WithoutChangeTo(directory, bare), bare);
  }
}

TEST(ShellLineTest, FindsEveryPossibleProgram) {
  for (const char* line :
       {"rm -rf x", "true;rm x", "a|rm", "$(rm x)", "`rm`", "'rm' x", "A=1 rm",
        "if x\nthen rm y\nfi", "sh -c \"rm x\"", "(rm)", "{ rm; }"}) {
    EXPECT_THAT(PossiblePrograms(line), Contains("rm")) << line;
  }
}

}  // namespace
}  // namespace bridge

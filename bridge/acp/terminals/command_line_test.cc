#include "bridge/acp/terminals/command_line.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;

TEST(ToArgvTest, ExecutesACommandWithArguments) {
  EXPECT_THAT(ToArgv("my prog", {"a b", ""}),
              ElementsAre("my prog", "a b", ""));
}

TEST(ToArgvTest, RunsALineInAShell) {
  for (const char* line :
       {"ls -la", "a|b", "a&&b", "A=b", "~/x", "echo\thi", "ls\n", "$X", "a;",
        "`a`", "*", "\"a\"", "a>b", "(a)", "!a", "#", "[", "{", "\\a"}) {
    EXPECT_THAT(ToArgv(line, {}), ElementsAre("/bin/sh", "-c", line));
  }
}

TEST(ToArgvTest, ExecutesASinglePlainWord) {
  for (const char* word : {"make", "/usr/bin/g++-12", "./configure", "a_b.c",
                           "na\xC3\xAFve", "host:a@1,2"}) {
    EXPECT_THAT(ToArgv(word, {}), ElementsAre(word));
  }
}

TEST(ToArgvTest, RunsALineForTheShellOfWindows) {
  EXPECT_THAT(ToArgv("C:\\Windows\\cmd.exe", {"/d", "/s", "/c", "ls x"}),
              ElementsAre("/bin/sh", "-c", "ls x"));
  for (const char* shell : {"cmd", "CMD.EXE", "c:/windows/cmd.exe"}) {
    EXPECT_THAT(ToArgv(shell, {"/c", "ls"}),
                ElementsAre("/bin/sh", "-c", "ls"));
  }
}

TEST(ToArgvTest, RunsNoLineForAnotherProgramOrWithoutOne) {
  EXPECT_THAT(ToArgv("/x/mycmd.exe", {"/c", "ls"}),
              ElementsAre("/x/mycmd.exe", "/c", "ls"));
  EXPECT_THAT(ToArgv("cmd.exe", {}), ElementsAre("cmd.exe"));
}

}  // namespace
}  // namespace bridge

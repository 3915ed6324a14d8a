// Options that describe a command, as corral sends them to a fake server.

#include <stdlib.h>
#include <unistd.h>

#include <climits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Io = CorralProcess::Io;

class CommandTest : public ::testing::Test {
 protected:
  // The command that corral run sends with these options.
  corral::v1::Command Sent(std::vector<std::string> options,
                           Io io = Io::kPipes) {
    options.insert(options.begin(), "run");
    options.emplace_back("cmd");
    CorralProcess corral(server_.address(), options, io);
    EXPECT_EQ(corral.Wait(), 0);
    return server_.runs().back().command();
  }

  std::string Refusal(std::vector<std::string> options) {
    options.insert(options.begin(), "run");
    options.emplace_back("cmd");
    CorralProcess corral(server_.address(), options);
    const std::string error = corral.ReadError();
    EXPECT_EQ(corral.Wait(), 2);
    return error;
  }

  // Variables as "NAME=VALUE".
  static std::vector<std::string> VariablesOf(
      const corral::v1::Command& command) {
    std::vector<std::string> variables;
    for (const auto& variable : command.environment()) {
      variables.push_back(absl::StrCat(variable.name(), "=", variable.value()));
    }
    return variables;
  }

  static std::string Here() {
    char directory[PATH_MAX];
    return ::getcwd(directory, sizeof directory);
  }

  tests::FakeServer server_{[](tests::FakeExecution&) {}};
};

TEST_F(CommandTest, BeginsInTheCurrentDirectoryIfTheWorkspaceHasIt) {
  EXPECT_EQ(Sent({}).working_directory(), Here());
  EXPECT_EQ(Sent({"-w", "/usr/lib"}).working_directory(), "");
  EXPECT_EQ(Sent({"--no-workspace"}).working_directory(), "");
  EXPECT_EQ(Sent({"--cwd", "sub"}).working_directory(), Here() + "/sub");
  EXPECT_EQ(Sent({"--no-workspace", "--cwd", "/usr"}).working_directory(),
            "/usr");
  EXPECT_THAT(Refusal({"-w", "/usr/lib", "--cwd", "/usr"}),
              HasSubstr("\"/usr\" is not in the workspace, which is /usr/lib"));
  EXPECT_THAT(Refusal({"--cwd", "/a/../b"}), HasSubstr("--cwd"));
}

TEST_F(CommandTest, BeginsInTheCurrentDirectoryIfItsSandboxHasIt) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"create"},
                                             {"create", "-w", "/usr/lib"},
                                             {"exec", "-d", "s1", "cmd"},
                                             {"exec", "-d", "s2", "cmd"}}) {
    EXPECT_EQ(CorralProcess(server_.address(), arguments).Wait(), 0);
  }
  EXPECT_EQ(server_.starts().at(0).command().working_directory(), Here());
  EXPECT_EQ(server_.starts().at(1).command().working_directory(), "");
}

TEST_F(CommandTest, PassesOnVariablesThatAreSet) {
  ::setenv("SET", "yes", 1);
  ::unsetenv("UNSET");
  EXPECT_THAT(VariablesOf(Sent({"-e", "SET", "-e", "UNSET", "-e", "EMPTY="})),
              ElementsAre("SET=yes", "EMPTY="));
  EXPECT_THAT(Refusal({"-e", ""}), HasSubstr("allowed is NAME=VALUE or NAME"));
}

TEST_F(CommandTest, NamesItsTerminalToACommandThatHasOne) {
  ::setenv("TERM", "vt100", 1);
  corral::v1::Command command = Sent({}, Io::kTerminal);
  EXPECT_EQ(command.terminal().rows(), 30);
  EXPECT_EQ(command.terminal().columns(), 100);
  EXPECT_FALSE(command.stdin());
  EXPECT_THAT(VariablesOf(command), ElementsAre("TERM=vt100"));
  EXPECT_THAT(VariablesOf(Sent({"-e", "TERM=x"}, Io::kTerminal)),
              ElementsAre("TERM=x"));
  ::unsetenv("TERM");
  EXPECT_THAT(VariablesOf(Sent({}, Io::kTerminal)), IsEmpty());
  EXPECT_TRUE(Sent({"-t"}).has_terminal());
  command = Sent({"-T"}, Io::kTerminal);
  EXPECT_FALSE(command.has_terminal());
  EXPECT_TRUE(command.stdin());
  command = Sent({});
  EXPECT_FALSE(command.has_terminal());
  EXPECT_THAT(VariablesOf(command), Not(Contains(HasSubstr("TERM"))));
}

TEST_F(CommandTest, RunsAsTheUserThatIsNamed) {
  EXPECT_EQ(Sent({}).user_id(), 0u);
  EXPECT_EQ(Sent({"--user", "1001"}).user_id(), 1001u);
  EXPECT_EQ(Sent({"--user", "59999"}).user_id(), 59999u);
  for (const char* bad : {"0", "1000", "60000", "root", "-1", ""}) {
    EXPECT_THAT(Refusal({"--user", bad}), HasSubstr("allowed is 1001 to 59999"))
        << bad;
  }
}

TEST_F(CommandTest, LimitsTheOutputThatIsKept) {
  const struct {
    const char* name;
    corral::v1::OutputPolicy::Overflow overflow;
  } policies[] = {
      {"drop-oldest", corral::v1::OutputPolicy::DROP_OLDEST},
      {"head-and-tail", corral::v1::OutputPolicy::HEAD_AND_TAIL},
      {"block", corral::v1::OutputPolicy::BLOCK},
      {"kill", corral::v1::OutputPolicy::KILL},
  };
  for (const auto& policy : policies) {
    EXPECT_EQ(Sent({"--overflow", policy.name}).output().overflow(),
              policy.overflow);
  }
  EXPECT_THAT(Refusal({"--overflow", "lose"}),
              HasSubstr("allowed is drop-oldest, head-and-tail"));
  EXPECT_EQ(Sent({"--keep", "64K"}).output().retain_bytes(), 64 << 10);
  EXPECT_EQ(Sent({"--keep", "1T"}).output().retain_bytes(), uint64_t{1} << 40);
  EXPECT_THAT(Refusal({"--keep", "65535"}), HasSubstr("allowed is 64K to 1T"));
  EXPECT_THAT(Refusal({"--keep", "1025G"}), HasSubstr("allowed is 64K to 1T"));
  EXPECT_EQ(
      Sent({"--keep-after-end", "365d"}).output().keep_after_end().seconds(),
      365 * 24 * 3600);
  EXPECT_THAT(Refusal({"--keep-after-end", "366d"}),
              HasSubstr("allowed is 0s to 365d"));
  EXPECT_EQ(Sent({"--drain", "1h"}).drain_timeout().seconds(), 3600);
  EXPECT_THAT(Refusal({"--drain", "61m"}), HasSubstr("allowed is 0s to 1h"));
}

TEST_F(CommandTest, LeavesTheOutputOfADetachedCommandToTheServer) {
  CorralProcess corral(server_.address(), {"run", "-d", "cmd"});
  EXPECT_EQ(corral.Wait(), 0);
  const corral::v1::Command command = server_.starts().back().command();
  EXPECT_FALSE(command.has_output());
  EXPECT_FALSE(command.stdin());
  EXPECT_FALSE(command.has_terminal());
}

}  // namespace
}  // namespace bridge

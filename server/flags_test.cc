#include "server/flags.h"

#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;

// Each test begins with the flags that nobody has set.
class FlagsTest : public ::testing::Test {
 protected:
  static Flags Parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "corrald");
    return ParseFlags(arguments);
  }

 private:
  const absl::FlagSaver saver_;
};

TEST_F(FlagsTest, LeavesFlagsUnsetThatAreNotGiven) {
  const Flags flags = Parse({});
  EXPECT_EQ(flags.action, Flags::Action::kServe);
  EXPECT_FALSE(flags.config_file.has_value());
  EXPECT_FALSE(flags.listen.has_value());
  EXPECT_FALSE(flags.state_dir.has_value());
  EXPECT_FALSE(flags.idle_exit_seconds.has_value());
  EXPECT_FALSE(flags.on_shutdown.has_value());
  EXPECT_FALSE(flags.take_over);
}

TEST_F(FlagsTest, TakesAValueAfterASpaceOrAnEqualsSign) {
  const Flags flags = Parse({"--listen=unix:/a-b", "--state-dir", "/s-t",
                             "--config", "c", "--take-over", "--on-shutdown",
                             "END_SANDBOXES", "--idle-exit-seconds=3"});
  EXPECT_EQ(flags.action, Flags::Action::kServe);
  EXPECT_EQ(flags.listen, "unix:/a-b");
  EXPECT_EQ(flags.state_dir, "/s-t");
  EXPECT_EQ(flags.config_file, "c");
  EXPECT_EQ(flags.idle_exit_seconds, 3);
  EXPECT_EQ(flags.on_shutdown, "END_SANDBOXES");
  EXPECT_TRUE(flags.take_over);
}

TEST_F(FlagsTest, PrintsHelpOrTheVersionWhateverElseIsGiven) {
  EXPECT_EQ(Parse({"-h"}).action, Flags::Action::kHelp);
  EXPECT_EQ(Parse({"--lisen", "--help"}).action, Flags::Action::kHelp);
  EXPECT_EQ(Parse({"--version"}).action, Flags::Action::kVersion);
}

TEST_F(FlagsTest, TheHelpTextNamesEveryFlag) {
  for (const char* flag :
       {"--config", "--listen", "--state-dir", "--idle-exit-seconds",
        "--on-shutdown", "--take-over", "--help", "--version"}) {
    EXPECT_THAT(std::string(HelpText()), HasSubstr(flag));
  }
}

TEST_F(FlagsTest, ExitsWithTwoAndNamesTheArgumentThatIsWrong) {
  EXPECT_EXIT(Parse({"--lisen", "x"}), ExitedWithCode(2), "lisen");
  EXPECT_EXIT(Parse({"--idle-exit-seconds", "-1"}), ExitedWithCode(2),
              "idle_exit_seconds");
  EXPECT_EXIT(Parse({"serve"}), ExitedWithCode(2), "\"serve\"");
}

}  // namespace
}  // namespace server

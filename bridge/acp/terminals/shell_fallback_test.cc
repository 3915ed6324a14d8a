#include "bridge/acp/terminals/shell_fallback.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;

TEST(ShellFallbackTest, TriesTheNameAndThenTheShellThatIsAlwaysThere) {
  const auto by_name = ShellFallback({"/opt/homebrew/bin/zsh", "-lc", "ls"});
  EXPECT_THAT(*by_name, ElementsAre("zsh", "-lc", "ls"));
  const auto last = ShellFallback(*by_name);
  EXPECT_THAT(*last, ElementsAre("/bin/sh", "-c", "ls"));
  EXPECT_EQ(ShellFallback(*last), std::nullopt);
}

TEST(ShellFallbackTest, ReplacesShellsOnly) {
  EXPECT_EQ(ShellFallback({"/opt/bin/python", "-c", "1"}), std::nullopt);
  EXPECT_EQ(ShellFallback({"zsh", "script"}), std::nullopt);
}

}  // namespace
}  // namespace bridge

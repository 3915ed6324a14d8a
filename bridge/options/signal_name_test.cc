#include "bridge/options/signal_name.h"

#include <errno.h>
#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(SignalNameTest, TakesNamesAndNumbers) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"TERM", SIGTERM}, {"SIGKILL", SIGKILL}, {"usr1", SIGUSR1},
      {"64", 64},        {"RTMIN", 34},        {"SIGRTMIN+2", 36},
      {"1", 1},          {"RTMIN+0", 34},      {"RTMIN+30", 64}};
  for (const auto& [text, number] : cases) {
    EXPECT_EQ(*ParseSignal(text), number) << text;
  }
}

TEST(SignalNameTest, RefusesTextThatIsNotASignal) {
  for (const char* text : {"", "0", "65", "-9", "SIG", "NOPE", "RTMIN+",
                           "RTMIN+31", "RTMIN+-1", "RTMIN2", "9x"}) {
    EXPECT_FALSE(ParseSignal(text).ok()) << text;
  }
}

TEST(SignalNameTest, NamesSignals) {
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(SignalName(33), "SIG33");
  EXPECT_EQ(SignalName(34), "SIGRTMIN+0");
  EXPECT_EQ(SignalName(40), "SIGRTMIN+6");
  EXPECT_EQ(SignalName(64), "SIGRTMIN+30");
  EXPECT_EQ(SignalName(65), "SIG65");
  EXPECT_EQ(SignalName(99), "SIG99");
}

TEST(SignalNameTest, NamesErrors) {
  EXPECT_EQ(ErrnoName(ENOENT), "ENOENT");
  EXPECT_EQ(ErrnoName(9999), "errno 9999");
  EXPECT_EQ(ErrnoText(ENOENT), "No such file or directory (ENOENT)");
  EXPECT_EQ(ErrnoText(9999), "errno 9999");
}

}  // namespace
}  // namespace bridge

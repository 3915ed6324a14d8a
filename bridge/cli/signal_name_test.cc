#include "bridge/cli/signal_name.h"

#include <errno.h>
#include <signal.h>

#include "gtest/gtest.h"

namespace bridge {
namespace {

TEST(SignalNameTest, TakesNamesAndNumbers) {
  EXPECT_EQ(*ParseSignal("TERM"), SIGTERM);
  EXPECT_EQ(*ParseSignal("SIGKILL"), SIGKILL);
  EXPECT_EQ(*ParseSignal("usr1"), SIGUSR1);
  EXPECT_EQ(*ParseSignal("64"), 64);
  EXPECT_EQ(*ParseSignal("RTMIN"), 34);
  EXPECT_EQ(*ParseSignal("SIGRTMIN+2"), 36);
}

TEST(SignalNameTest, RefusesWhatIsNoSignal) {
  for (const char* text :
       {"", "0", "65", "-9", "SIG", "NOPE", "RTMIN+", "RTMIN+31", "9x"}) {
    EXPECT_FALSE(ParseSignal(text).ok()) << text;
  }
}

TEST(SignalNameTest, NamesThem) {
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(SignalName(40), "signal 40");
  EXPECT_EQ(ErrnoName(ENOENT), "ENOENT");
  EXPECT_EQ(ErrnoName(9999), "errno 9999");
  EXPECT_EQ(ErrnoText(ENOENT), "No such file or directory (ENOENT)");
  EXPECT_EQ(ErrnoText(9999), "errno 9999");
}

}  // namespace
}  // namespace bridge

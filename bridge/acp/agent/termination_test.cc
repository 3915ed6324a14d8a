#include "bridge/acp/agent/termination.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {
namespace {

bool IsReadable(const sandbox::UniqueFd& fd) {
  pollfd poll = {fd.get(), POLLIN, 0};
  return ::poll(&poll, 1, 0) == 1;
}

// One test, since signals are caught once in a process.
TEST(TerminationTest, TurnsSignalsIntoAnEventAndBrokenPipesIntoErrors) {
  const auto termination = CatchTermination();
  ASSERT_TRUE(termination.ok());
  EXPECT_FALSE(IsReadable(*termination));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ::raise(signal);
    EXPECT_TRUE(IsReadable(*termination)) << signal;
    uint64_t count = 0;
    ASSERT_EQ(::read(termination->get(), &count, sizeof count), 8);
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const sandbox::UniqueFd writer(ends[1]);
  EXPECT_EQ(::write(writer.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_FALSE(IsReadable(*termination));
}

}  // namespace
}  // namespace bridge

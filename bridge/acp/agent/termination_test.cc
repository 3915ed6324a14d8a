#include "bridge/acp/agent/termination.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <thread>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/waiting_thread.h"

namespace bridge {
namespace {

// Signals are caught once in a process.
const sandbox::UniqueFd& Termination() {
  static const auto* const event = new sandbox::UniqueFd(*CatchTermination());
  return *event;
}

bool IsReadable(const sandbox::UniqueFd& fd) {
  pollfd poll = {fd.get(), POLLIN, 0};
  return ::poll(&poll, 1, 0) == 1;
}

// Reads the event, which is then not readable any more.
uint64_t Take(const sandbox::UniqueFd& event) {
  uint64_t count = 0;
  EXPECT_EQ(::read(event.get(), &count, sizeof count), 8);
  return count;
}

TEST(TerminationTest, TurnsSignalsIntoAnEventAndBrokenPipesIntoErrors) {
  const sandbox::UniqueFd& termination = Termination();
  EXPECT_FALSE(IsReadable(termination));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ::raise(signal);
    EXPECT_TRUE(IsReadable(termination)) << signal;
    EXPECT_EQ(Take(termination), 1u);
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const sandbox::UniqueFd writer(ends[1]);
  EXPECT_EQ(::write(writer.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_FALSE(IsReadable(termination));
}

TEST(TerminationTest, LeavesTheErrorOfAnInterruptedCallAlone) {
  const sandbox::UniqueFd& termination = Termination();
  // The event cannot count further: writing to it fails.
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max() - 1;
  ASSERT_EQ(::write(termination.get(), &kMost, sizeof kMost), 8);
  errno = ENOENT;
  ::raise(SIGTERM);
  const int error = errno;
  EXPECT_EQ(error, ENOENT);
  EXPECT_EQ(Take(termination), kMost);
}

TEST(TerminationTest, LetsAnInterruptedCallGoOn) {
  const sandbox::UniqueFd& termination = Termination();
  sem_t semaphore;
  ASSERT_EQ(::sem_init(&semaphore, 0, 0), 0);
  std::atomic<pid_t> id = 0;
  int result = -1;
  std::thread waiting([&] {
    id = ::gettid();
    result = ::sem_wait(&semaphore);
  });
  while (!tests::WaitsForALock(id)) {
    std::this_thread::yield();
  }
  ::pthread_kill(waiting.native_handle(), SIGTERM);
  while (!IsReadable(termination)) {
    std::this_thread::yield();
  }
  ::sem_post(&semaphore);
  waiting.join();
  EXPECT_EQ(result, 0);
  ::sem_destroy(&semaphore);
  Take(termination);
}

}  // namespace
}  // namespace bridge

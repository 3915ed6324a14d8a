#include "sandbox/base/callback_pulse.h"

#include <sys/syscall.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

using Clock = std::chrono::steady_clock;

// How many of gRPC's threads for callbacks there are, and how many sleep.
struct Threads {
  int all = 0;
  int asleep = 0;
};

Threads CountThreads() {
  Threads threads;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    long call = -1;
    // "running" for a thread that runs.
    std::ifstream(task.path() / "syscall") >> call;
    if (name == "nexting_thread") {
      ++threads.all;
      threads.asleep += call == SYS_clock_nanosleep ? 1 : 0;
    }
  }
  return threads;
}

// Looks for 2.5 s, in which each thread wants to sleep twice. Returns false if
// this test did not run for so long that a pulse may have been late, too.
bool ExpectOneAwake() {
  const Clock::time_point begin = Clock::now();
  Clock::time_point last = begin;
  while (last - begin < std::chrono::milliseconds(2500)) {
    const Threads threads = CountThreads();
    const Clock::time_point now = Clock::now();
    if (now - last > std::chrono::milliseconds(100)) {
      return false;
    }
    last = now;
    if (threads.all > 0) {
      EXPECT_LT(threads.asleep, threads.all);
    }
    std::this_thread::yield();
  }
  return true;
}

TEST(CallbackPulseTest, OneOfTheThreadsForCallbacksIsAlwaysAwake) {
  const CallbackPulse pulse;
  while (CountThreads().all == 0) {
    std::this_thread::yield();
  }
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (ExpectOneAwake()) {
      return;
    }
  }
  GTEST_SKIP() << "this machine is too busy to watch the threads";
}

TEST(CallbackPulseTest, CanBeDestroyedAtAnyTime) {
  for (int i = 0; i < 300; ++i) {
    const CallbackPulse pulse;
    if (i % 2 == 0) {
      while (CountThreads().all == 0) {
        std::this_thread::yield();
      }
    }
  }
}

}  // namespace
}  // namespace sandbox

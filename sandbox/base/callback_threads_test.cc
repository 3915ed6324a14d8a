#include "sandbox/base/callback_threads.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"

namespace sandbox {
namespace {

using Clock = std::chrono::steady_clock;

bool HasTwoCores() { return ::sysconf(_SC_NPROCESSORS_CONF) <= 2; }

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
    // A thread has its name soon after it began.
    if (threads.all >= 2) {
      EXPECT_LT(threads.asleep, threads.all - (HasTwoCores() ? 1 : 0));
    }
    std::this_thread::yield();
  }
  return true;
}

TEST(CallbackThreadsTest, OneOfTheThreadsForCallbacksIsAlwaysAwake) {
  const CallbackThreads callback_threads;
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

// The thread on which a call that fails at once ends.
std::thread::id ThreadOfACallback(grpc::GenericStub& nowhere) {
  grpc::ClientContext context;
  const grpc::Slice nothing;
  grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  Mutex mutex;
  std::thread::id thread;
  nowhere.UnaryCall(&context, "/call", grpc::StubOptions(), &request, &response,
                    [&](const grpc::Status&) {
                      MutexLock lock(&mutex);
                      thread = std::this_thread::get_id();
                      mutex.Signal();
                    });
  MutexLock lock(&mutex);
  mutex.Await([&] { return thread != std::thread::id(); });
  return thread;
}

TEST(CallbackThreadsTest, OneServesAloneWhereThereAreTwoCores) {
  if (!HasTwoCores()) {
    GTEST_SKIP() << "this machine has more than two cores";
  }
  const CallbackThreads callback_threads;
  // Holds none, so that a thread is left.
  const CallbackThreads others;
  grpc::GenericStub nowhere(grpc::CreateChannel("", nullptr));
  std::thread::id last;
  // The first calls may come before a thread is held.
  for (int same = 0; same < 1000; ++same) {
    const std::thread::id thread = ThreadOfACallback(nowhere);
    if (thread != last) {
      same = 0;
      last = thread;
    }
  }
}

TEST(CallbackThreadsTest, CanBeDestroyedAtAnyTime) {
  for (int i = 0; i < 300; ++i) {
    const CallbackThreads callback_threads;
    if (i % 2 == 0) {
      while (CountThreads().all == 0) {
        std::this_thread::yield();
      }
    }
  }
}

}  // namespace
}  // namespace sandbox

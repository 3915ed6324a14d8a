#include "sandbox/base/callback_threads.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "grpcpp/support/status.h"
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
  const CallbackThreads callback_threads(CallbackThreads::Service::kAlone);
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

// Calls that fail at once, with their ends on gRPC's threads.
class Calls {
 public:
  // Returns when `end` has run.
  void Make(const std::function<void()>& end) {
    grpc::ClientContext context;
    const grpc::Slice nothing;
    grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    Mutex mutex;
    bool over = false;
    nowhere_.UnaryCall(&context, "/call", grpc::StubOptions(), &request,
                       &response, [&](const grpc::Status&) {
                         end();
                         MutexLock lock(&mutex);
                         over = true;
                         mutex.Signal();
                       });
    MutexLock lock(&mutex);
    mutex.Await([&] { return over; });
  }

  std::thread::id Thread() {
    std::thread::id thread;
    Make([&thread] { thread = std::this_thread::get_id(); });
    return thread;
  }

 private:
  grpc::GenericStub nowhere_{grpc::CreateChannel("", nullptr)};
};

TEST(CallbackThreadsTest, OneServesAloneWhereThereAreTwoCores) {
  if (!HasTwoCores()) {
    GTEST_SKIP() << "this machine has more than two cores";
  }
  const CallbackThreads callback_threads(CallbackThreads::Service::kAlone);
  // Only one of the two holds a thread, so that one is left.
  const CallbackThreads others(CallbackThreads::Service::kAlone);
  Calls calls;
  // The first calls may come before a thread is held.
  int alone = 0;
  std::thread::id last;
  for (int i = 0; i < 100'000 && alone < 5'000; ++i) {
    const std::thread::id thread = calls.Thread();
    alone = thread == last ? alone + 1 : 0;
    last = thread;
  }
  EXPECT_EQ(alone, 5'000);
}

TEST(CallbackThreadsTest, ACallbackThatWaitsForAnotherOneGetsIt) {
  const CallbackThreads callback_threads(CallbackThreads::Service::kAlone);
  Calls calls;
  for (int i = 0; i < 100; ++i) {
    calls.Thread();
  }
  Mutex mutex;
  bool second = false;
  std::thread other([&] {
    calls.Make([&] {
      MutexLock lock(&mutex);
      second = true;
      mutex.Signal();
    });
  });
  calls.Make([&] {
    MutexLock lock(&mutex);
    mutex.Await([&] { return second; });
  });
  other.join();
}

TEST(CallbackThreadsTest, CanBeDestroyedAtAnyTime) {
  for (int i = 0; i < 300; ++i) {
    const CallbackThreads callback_threads(CallbackThreads::Service::kAlone);
    if (i % 2 == 0) {
      while (CountThreads().all == 0) {
        std::this_thread::yield();
      }
    }
  }
}

}  // namespace
}  // namespace sandbox

// Keeps a process responsive whose gRPC callbacks run on gRPC's own threads.
//
// gRPC 1.51 has clamp(cores / 2, 2, 16) such threads
// (src/cpp/common/completion_queue_cc.cc, CallbackAlternativeCQ).
//
// A thread that gets no event for 1 s sleeps for 100 ms, in which it takes
// none. If all sleep at once, which follows if their last events were close
// together, a call or an answer has to wait. A pulse is an event: a call that
// fails at once, since its channel leads nowhere. Whichever thread takes it
// stays awake until the next one.
//
// Two threads wake each other for almost every event, since one polls for both.
// In a server with at most two cores this takes more time than the second
// thread saves. There one of them is held in a callback, and the other one
// serves alone: in corrald, a command then wakes gRPC's threads a third as
// often. A callback must not block and must not wait for another callback. If
// one does for 1 s, the held thread is released for good.

#ifndef SANDBOX_BASE_CALLBACK_THREADS_H_
#define SANDBOX_BASE_CALLBACK_THREADS_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "grpcpp/generic/generic_stub.h"
#include "sandbox/base/mutex.h"

namespace sandbox {

// Must not be destroyed on one of gRPC's threads.
class CallbackThreads {
 public:
  enum class Service {
    // All threads take events.
    kShared,
    // With at most two cores, one of them takes all events. Of several such
    // objects in a process, the first one holds a thread, and no other one does
    // after it.
    kAlone,
  };

  explicit CallbackThreads(Service service);
  ~CallbackThreads();
  CallbackThreads(const CallbackThreads&) = delete;
  CallbackThreads& operator=(const CallbackThreads&) = delete;

 private:
  void Run();
  void PulseUntilStopped(grpc::GenericStub& nowhere);
  // Calls `during` while one of gRPC's threads is held.
  void Hold(grpc::GenericStub& nowhere, absl::FunctionRef<void()> during);
  // Returns when the call is over.
  void Pulse(grpc::GenericStub& nowhere);
  void Release() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool stopped();

  const Service service_;
  Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool release_ ABSL_GUARDED_BY(mutex_) = false;
  // Pulses must not wake the held thread.
  CondVar released_;
  std::thread thread_;
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_CALLBACK_THREADS_H_

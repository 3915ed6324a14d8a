// Keeps a process responsive whose gRPC callbacks run on gRPC's own threads.
//
// gRPC 1.51 has clamp(cores / 2, 2, 16) such threads
// (src/cpp/common/completion_queue_cc.cc, CallbackAlternativeCQ).
//
// One that gets no event for 1 s sleeps for 100 ms, in which it takes none. If
// all sleep at once, which follows if their last events were close together, a
// call or an answer has to wait. A pulse is an event: a call that fails at
// once, since its channel leads nowhere. Whichever thread takes it stays awake
// until the next one.
//
// Two threads wake each other for almost every event, since one polls for both.
// With two cores this takes more time than the second thread saves, so one of
// them is held in a callback, and the other one serves alone: in corrald, a
// command then costs a third of the switches between threads. So a callback
// must not block, nor wait for another one.

#ifndef SANDBOX_BASE_CALLBACK_THREADS_H_
#define SANDBOX_BASE_CALLBACK_THREADS_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "grpcpp/generic/generic_stub.h"
#include "sandbox/base/mutex.h"

namespace sandbox {

class CallbackThreads {
 public:
  // Pulses until it is destroyed. With at most two cores it also holds a
  // thread, unless another object in this process does.
  CallbackThreads();
  ~CallbackThreads();
  CallbackThreads(const CallbackThreads&) = delete;
  CallbackThreads& operator=(const CallbackThreads&) = delete;

 private:
  void Run();
  // Pulses until stopped() is true.
  void PulseUntilStopped(grpc::GenericStub& nowhere);
  // Calls `during` while one of gRPC's threads is held.
  void Hold(grpc::GenericStub& nowhere, absl::FunctionRef<void()> during);
  // Returns when the call is over.
  void Pulse(grpc::GenericStub& nowhere);
  bool stopped();

  Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_CALLBACK_THREADS_H_

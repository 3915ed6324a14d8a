// Keeps a process responsive whose gRPC callbacks run on gRPC's own threads.
//
// gRPC 1.51 has clamp(cores / 2, 2, 16) such threads. One that gets no event
// for 1 s sleeps for 100 ms, in which it takes none
// (src/cpp/common/completion_queue_cc.cc, CallbackAlternativeCQ). If all sleep
// at once, which follows if their last events were close together, a call or an
// answer has to wait. A pulse is an event: a call that fails at once, since its
// channel leads nowhere. Whichever thread takes it stays awake until the next
// one.

#ifndef SANDBOX_BASE_CALLBACK_PULSE_H_
#define SANDBOX_BASE_CALLBACK_PULSE_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "grpcpp/generic/generic_stub.h"
#include "sandbox/base/mutex.h"

namespace sandbox {

class CallbackPulse {
 public:
  // Pulses until it is destroyed.
  CallbackPulse();
  ~CallbackPulse();
  CallbackPulse(const CallbackPulse&) = delete;
  CallbackPulse& operator=(const CallbackPulse&) = delete;

 private:
  void Run();
  // Returns when the call is over.
  void Pulse(grpc::GenericStub& nowhere);
  bool stopped();

  Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sandbox

#endif  // SANDBOX_BASE_CALLBACK_PULSE_H_

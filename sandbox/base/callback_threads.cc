#include "sandbox/base/callback_threads.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "grpcpp/support/status.h"

namespace sandbox {
namespace {

// Half of the time after which a thread sleeps, in case that this one is late.
constexpr std::chrono::milliseconds kInterval(500);

// A pulse that takes longer waits for a callback that blocks, or for a thread
// that could not be made.
constexpr std::chrono::seconds kOverdue(1);

// gRPC counts the same cores. Machines with more were not measured.
constexpr long kFewCores = 2;

// True while an object of this process holds a thread. If both threads were
// held, no callback would run.
std::atomic<bool> holds{false};

// A call that fails, with its end on one of gRPC's threads.
//
// Belongs to the thread that makes it, like the channel: whoever destroys the
// last of what uses gRPC's threads waits for their end, and must be none of
// them.
class FailingCall {
 public:
  FailingCall() {
    const grpc::Slice nothing;
    request_ = grpc::ByteBuffer(&nothing, 1);
  }

  // `end` is called once. This object must live until then.
  void Start(grpc::GenericStub& nowhere, std::function<void()> end) {
    nowhere.UnaryCall(&context_, "/pulse", grpc::StubOptions(), &request_,
                      &response_,
                      [end = std::move(end)](const grpc::Status&) { end(); });
  }

 private:
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
};

}  // namespace

CallbackThreads::CallbackThreads(Service service)
    : service_(service), thread_([this] { Run(); }) {}

CallbackThreads::~CallbackThreads() {
  {
    MutexLock lock(&mutex_);
    stop_ = true;
    Release();
    mutex_.Signal();
  }
  thread_.join();
}

void CallbackThreads::Run() {
  // A channel without credentials fails every call.
  grpc::GenericStub nowhere(grpc::CreateChannel("", nullptr));
  if (service_ == Service::kAlone &&
      ::sysconf(_SC_NPROCESSORS_CONF) <= kFewCores && !holds.exchange(true)) {
    Hold(nowhere, [&] { PulseUntilStopped(nowhere); });
    holds = false;
  } else {
    PulseUntilStopped(nowhere);
  }
}

void CallbackThreads::Hold(grpc::GenericStub& nowhere,
                           absl::FunctionRef<void()> during) {
  bool over = false;
  FailingCall call;
  call.Start(nowhere, [this, &over] {
    MutexLock lock(&mutex_);
    released_.Await(
        &mutex_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return release_; });
    over = true;
    mutex_.Signal();
  });
  during();
  MutexLock lock(&mutex_);
  mutex_.Await([&over] { return over; });
}

void CallbackThreads::PulseUntilStopped(grpc::GenericStub& nowhere) {
  while (!stopped()) {
    Pulse(nowhere);
    MutexLock lock(&mutex_);
    mutex_.AwaitUntil(std::chrono::steady_clock::now() + kInterval,
                      [this]()
                          ABSL_NO_THREAD_SAFETY_ANALYSIS { return stop_; });
  }
}

void CallbackThreads::Pulse(grpc::GenericStub& nowhere) {
  bool over = false;
  FailingCall call;
  call.Start(nowhere, [this, &over] {
    MutexLock lock(&mutex_);
    over = true;
    mutex_.Signal();
  });
  MutexLock lock(&mutex_);
  mutex_.AwaitUntil(std::chrono::steady_clock::now() + kOverdue,
                    [&over] { return over; });
  if (!over) {
    Release();
  }
  mutex_.Await([&over] { return over; });
}

void CallbackThreads::Release() {
  release_ = true;
  released_.SignalOne();
}

bool CallbackThreads::stopped() {
  MutexLock lock(&mutex_);
  return stop_;
}

}  // namespace sandbox

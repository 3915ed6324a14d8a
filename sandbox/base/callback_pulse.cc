#include "sandbox/base/callback_pulse.h"

#include <chrono>

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

struct FailingCall {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
};

}  // namespace

CallbackPulse::CallbackPulse() : thread_([this] { Run(); }) {}

CallbackPulse::~CallbackPulse() {
  {
    MutexLock lock(&mutex_);
    stop_ = true;
    mutex_.Signal();
  }
  thread_.join();
}

void CallbackPulse::Run() {
  // A channel without credentials fails every call.
  grpc::GenericStub nowhere(grpc::CreateChannel("", nullptr));
  while (!stopped()) {
    Pulse(nowhere);
    MutexLock lock(&mutex_);
    mutex_.AwaitUntil(std::chrono::steady_clock::now() + kInterval,
                      [this]()
                          ABSL_NO_THREAD_SAFETY_ANALYSIS { return stop_; });
  }
}

void CallbackPulse::Pulse(grpc::GenericStub& nowhere) {
  // Belongs to this thread, like the channel: whoever destroys the last of what
  // uses gRPC's threads waits for their end, and must be none of them.
  FailingCall call;
  const grpc::Slice nothing;
  call.request = grpc::ByteBuffer(&nothing, 1);
  bool over = false;
  nowhere.UnaryCall(&call.context, "/pulse", grpc::StubOptions(), &call.request,
                    &call.response, [this, &over](const grpc::Status&) {
                      MutexLock lock(&mutex_);
                      over = true;
                      mutex_.Signal();
                    });
  MutexLock lock(&mutex_);
  mutex_.Await([&over] { return over; });
}

bool CallbackPulse::stopped() {
  MutexLock lock(&mutex_);
  return stop_;
}

}  // namespace sandbox

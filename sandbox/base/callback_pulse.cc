#include "sandbox/base/callback_pulse.h"

#include <chrono>
#include <memory>

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

void Pulse(grpc::GenericStub& nowhere) {
  const auto call = std::make_shared<FailingCall>();
  const grpc::Slice nothing;
  call->request = grpc::ByteBuffer(&nothing, 1);
  nowhere.UnaryCall(&call->context, "/pulse", grpc::StubOptions(),
                    &call->request, &call->response,
                    [call](const grpc::Status&) {});
}

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
  MutexLock lock(&mutex_);
  while (!stop_) {
    Pulse(nowhere);
    mutex_.AwaitUntil(std::chrono::steady_clock::now() + kInterval,
                      [this]()
                          ABSL_NO_THREAD_SAFETY_ANALYSIS { return stop_; });
  }
}

}  // namespace sandbox

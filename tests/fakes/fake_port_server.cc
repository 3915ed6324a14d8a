#include "tests/fakes/fake_port_server.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/port.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "grpc/grpc.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/log.h"
#include "server/api/errors.h"
#include "server/api/grpc_status.h"

namespace tests {

using corral::v1::ConnectPortRequest;
using corral::v1::ConnectPortResponse;
using sandbox::MutexLock;

class FakePortServer::Ports : public corral::v1::PortService::Service {
 public:
  explicit Ports(FakePortServer& fake) : fake_(fake) {}

  grpc::Status ConnectPort(grpc::ServerContext*,
                           Call::Stream* stream) override {
    ConnectPortRequest request;
    stream->Read(&request);
    const auto call = std::make_shared<Call>(stream, request.open());
    {
      MutexLock lock(&fake_.mutex_);
      if (fake_.stopping_) {
        return {grpc::StatusCode::UNAVAILABLE, "stopping"};
      }
      fake_.waiting_.push_back(call);
      fake_.calls_.push_back(call);
      fake_.mutex_.Signal();
    }
    return call->AwaitFinish();
  }

 private:
  FakePortServer& fake_;
};

class FakePortServer::Sandboxes : public corral::v1::SandboxService::Service {
 public:
  grpc::Status GetSandbox(grpc::ServerContext*,
                          const corral::v1::GetSandboxRequest* request,
                          corral::v1::Sandbox* response) override {
    if (request->name() != kSandbox) {
      return server::ToGrpcStatus(server::SandboxNotFound(request->name()));
    }
    response->set_name(request->name());
    return grpc::Status::OK;
  }
};

void FakePortServer::Call::Connect() {
  ConnectPortResponse response;
  response.mutable_connected();
  stream_->Write(response);
}

void FakePortServer::Call::Send(const std::string& data) {
  ConnectPortResponse response;
  response.set_data(data);
  stream_->Write(response);
}

void FakePortServer::Call::SendEnd() {
  ConnectPortResponse response;
  response.mutable_end();
  stream_->Write(response);
}

void FakePortServer::Call::SendUnknown() {
  stream_->Write(ConnectPortResponse());
}

ConnectPortRequest FakePortServer::Call::Next() {
  ConnectPortRequest request;
  return stream_->Read(&request) ? request : ConnectPortRequest();
}

std::string FakePortServer::Call::Receive(size_t size) {
  std::string bytes;
  while (bytes.size() < size) {
    const ConnectPortRequest request = Next();
    if (!request.has_data()) {
      break;
    }
    bytes += request.data();
  }
  return bytes;
}

void FakePortServer::Call::Finish(const grpc::Status& status) {
  MutexLock lock(&mutex_);
  if (!result_.has_value()) {
    result_ = status;
    mutex_.Signal();
  }
}

void FakePortServer::Call::RefuseForNow() {
  Finish(server::ToGrpcStatus(server::ServerDraining(absl::ZeroDuration())));
}

grpc::Status FakePortServer::Call::AwaitFinish() {
  MutexLock lock(&mutex_);
  mutex_.Await(
      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return result_.has_value(); });
  return *result_;
}

FakePortServer::FakePortServer()
    : ports_(std::make_unique<Ports>(*this)),
      sandboxes_(std::make_unique<Sandboxes>()) {
  // Never shut down, because that may wait 10 s for a poller inside gRPC.
  ::grpc_init();
  char directory[] = "/tmp/fake_port_server.XXXXXX";
  CHECK(::mkdtemp(directory) != nullptr);
  directory_ = directory;
  address_ = absl::StrCat("unix:", directory_, "/corrald.sock");
  Start();
}

FakePortServer::~FakePortServer() {
  Stop();
  ::unlink((directory_ + "/corrald.sock").c_str());
  ::rmdir(directory_.c_str());
}

std::shared_ptr<FakePortServer::Call> FakePortServer::Accept() {
  MutexLock lock(&mutex_);
  mutex_.Await(
      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !waiting_.empty(); });
  std::shared_ptr<Call> call = std::move(waiting_.front());
  waiting_.pop_front();
  return call;
}

void FakePortServer::Start() {
  {
    MutexLock lock(&mutex_);
    stopping_ = false;
  }
  server_ = grpc::ServerBuilder()
                .AddListeningPort(address_, grpc::InsecureServerCredentials())
                .RegisterService(ports_.get())
                .RegisterService(sandboxes_.get())
                .BuildAndStart();
  CHECK(server_ != nullptr);
}

void FakePortServer::Stop() {
  if (server_ == nullptr) {
    return;
  }
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    for (const auto& call : calls_) {
      call->Finish({grpc::StatusCode::UNAVAILABLE, "the server stops"});
    }
    calls_.clear();
    waiting_.clear();
  }
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

}  // namespace tests

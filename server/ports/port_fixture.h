// For tests: calls of ConnectPort on fake supervisors, whose sandboxes share
// the network of the test.

#ifndef SERVER_PORTS_PORT_FIXTURE_H_
#define SERVER_PORTS_PORT_FIXTURE_H_

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "corral/v1/port.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "server/ports/loopback_dial.h"
#include "server/ports/port_service.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"
#include "tests/network/loopback.h"

namespace server {

class PortFixture : public ServerFixture {
 protected:
  using ConnectPortRequest = corral::v1::ConnectPortRequest;
  using ConnectPortResponse = corral::v1::ConnectPortResponse;

  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<
        grpc::ClientReaderWriter<ConnectPortRequest, ConnectPortResponse>>
        stream;

    void Open(const std::string& name, uint32_t port) {
      ConnectPortRequest request;
      request.mutable_open()->set_name(name);
      request.mutable_open()->set_port(port);
      stream->Write(request);
    }
    void Send(const std::string& data) {
      ConnectPortRequest request;
      request.set_data(data);
      stream->Write(request);
    }
    void End() {
      ConnectPortRequest request;
      request.mutable_end();
      stream->Write(request);
    }
    // The next message; an empty one at the end of the stream.
    ConnectPortResponse Next() {
      ConnectPortResponse response;
      return stream->Read(&response) ? response : ConnectPortResponse();
    }
    // The next bytes: as many as `size`.
    std::string Receive(size_t size) {
      std::string bytes;
      while (bytes.size() < size) {
        const ConnectPortResponse response = Next();
        if (!response.has_data()) {
          break;
        }
        bytes += response.data();
      }
      return bytes;
    }
    grpc::Status Finish() {
      ConnectPortResponse ignored;
      while (stream->Read(&ignored)) {
      }
      return stream->Finish();
    }
  };

  PortFixture() {
    Serve();
    name_ = CreateSandbox("box");
  }
  ~PortFixture() override { EndService(); }

  // Serves ports from now on.
  void Serve(absl::Duration patience = LoopbackDial::kPatience) {
    service_ = std::make_unique<PortService>(sandboxes_.get(), activity_.get(),
                                             patience);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    // Not an in-process channel, on which a write waits for its reader.
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    ports_server_ = builder.BuildAndStart();
    stub_ = corral::v1::PortService::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  }
  void EndService() {
    ports_server_->Shutdown(std::chrono::system_clock::now());
    ports_server_.reset();
    service_.reset();
  }

  std::unique_ptr<Call> Begin() {
    auto call = std::make_unique<Call>();
    call->stream = stub_->ConnectPort(&call->context);
    return call;
  }
  // A call that is connected to the listener.
  std::unique_ptr<Call> Connect() {
    std::unique_ptr<Call> call = Begin();
    call->Open(name_, listener_.port);
    EXPECT_TRUE(call->Next().has_connected());
    inside_ = Accept();
    return call;
  }
  sandbox::UniqueFd Accept() const {
    return sandbox::UniqueFd(
        ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  grpc::Status StatusOf(const std::string& name, uint32_t port) {
    std::unique_ptr<Call> call = Begin();
    call->Open(name, port);
    return call->Finish();
  }
  void WithSupervisor(const std::function<void(tests::FakeSupervisor&)>& use) {
    factory_.With("box", use);
  }

  tests::LoopbackListener listener_ = tests::ListenOnLoopback();
  std::unique_ptr<PortService> service_;
  std::unique_ptr<grpc::Server> ports_server_;
  std::unique_ptr<corral::v1::PortService::Stub> stub_;
  std::string name_;
  sandbox::UniqueFd inside_;
};

}  // namespace server

#endif  // SERVER_PORTS_PORT_FIXTURE_H_

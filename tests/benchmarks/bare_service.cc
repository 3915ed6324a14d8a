#include "tests/benchmarks/bare_service.h"

#include <sys/socket.h>

#include <memory>
#include <string>

#include "corral/v1/admin.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/base/callback_threads.h"
#include "tests/benchmarks/bare_streams.h"

namespace tests {
namespace {

class Hop : public corral::v1::AdminService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetServerInfo(
      grpc::CallbackServerContext* context,
      const corral::v1::GetServerInfoRequest* /*request*/,
      corral::v1::ServerInfo* /*response*/) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

void Obey(BareStreams& streams, int control) {
  char command = kRelease;
  do {
    if (command == kHold) {
      streams.Hold();
    } else {
      streams.Release();
    }
  } while (::send(control, &command, 1, MSG_NOSIGNAL) == 1 &&
           ::recv(control, &command, 1, 0) == 1);
}

}  // namespace

bool ServeBare(const std::string& address, int control) {
  const sandbox::CallbackThreads callback_threads(
      sandbox::CallbackThreads::Service::kShared);
  Hop admin;
  BareStreams streams;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&admin);
  builder.RegisterService(&streams);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return false;
  }
  Obey(streams, control);
  streams.Release();
  server->Shutdown();
  return true;
}

}  // namespace tests

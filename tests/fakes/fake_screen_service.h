// The ScreenService of the fake server.

#ifndef TESTS_FAKES_FAKE_SCREEN_SERVICE_H_
#define TESTS_FAKES_FAKE_SCREEN_SERVICE_H_

#include "corral/v1/screen_service.grpc.pb.h"
#include "tests/fakes/fake_server.h"

namespace tests {

class FakeServer::Screens : public corral::v1::ScreenService::Service {
 public:
  explicit Screens(FakeServer& fake) : fake_(fake) {}

  grpc::Status GetScreen(grpc::ServerContext*,
                         const corral::v1::GetScreenRequest* request,
                         corral::v1::GetScreenResponse* response) override;
  grpc::Status ClearScreen(grpc::ServerContext*,
                           const corral::v1::ClearScreenRequest* request,
                           google::protobuf::Empty*) override;
  grpc::Status ListTerminalTimes(
      grpc::ServerContext*, const corral::v1::ListTerminalTimesRequest* request,
      corral::v1::ListTerminalTimesResponse* response) override;

 private:
  // OK if the execution has a terminal.
  grpc::Status Check(const std::string& name);

  FakeServer& fake_;
};

}  // namespace tests

#endif  // TESTS_FAKES_FAKE_SCREEN_SERVICE_H_

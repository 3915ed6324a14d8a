// Expiry of output, from a client's side.

#include <cstdint>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/rpc/server_fixture.h"

namespace server {
namespace {

namespace wire = sandbox::wire;

class OutputExpiryTest : public ServerFixture {
 protected:
  grpc::Status Read(const corral::v1::ReadOutputRequest& request,
                    corral::v1::ReadOutputResponse* response) {
    return Call(execution_stub_.get(), &ExecutionStub::ReadOutput, request,
                response);
  }

  std::string StartExpiring(int64_t seconds) {
    corral::v1::Command command = Command();
    command.mutable_output()->mutable_keep_after_end()->set_seconds(seconds);
    return StartExecution(CreateSandbox(), command);
  }

  void AwaitExpiry(const std::string& name) {
    while (!Get(name).streams(0).expired()) {
      std::this_thread::yield();
    }
  }
};

TEST_F(OutputExpiryTest, ExpiresKeepAfterEndAfterTheEnd) {
  const std::string name = StartExpiring(60);
  factory_.Write(name, wire::STDOUT, "gone soon");
  factory_.Exit(name, 0);
  const corral::v1::Execution end = Wait(name);
  EXPECT_EQ(end.output_expire_time().seconds(), end.end_time().seconds() + 60);
  EXPECT_EQ(BytesOf(Stream(name)->Rest(), corral::v1::STDOUT), "gone soon");
  timers_.Advance(absl::Seconds(61));
  AwaitExpiry(name);

  corral::v1::ReadOutputRequest request;
  request.set_name(name);
  request.set_stream(corral::v1::STDOUT);
  corral::v1::ReadOutputResponse window;
  const grpc::Status status = Read(request, &window);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Reason(status), "OUTPUT_EXPIRED");
  request.set_offset(9);
  EXPECT_TRUE(Read(request, &window).ok());
  // A stream from what is left has its end, and one from before has none.
  EXPECT_TRUE(Stream(name)->Rest().back().has_ended());
  corral::v1::StreamOutputRequest stream;
  stream.set_name(name);
  stream.add_cursors()->set_stream(corral::v1::STDOUT);
  grpc::Status expired;
  Stream(stream)->Rest(&expired);
  EXPECT_EQ(Reason(expired), "OUTPUT_EXPIRED");
}

TEST_F(OutputExpiryTest, DropsOutputThatExpiredWhileNoServerRan) {
  const std::string name = StartExpiring(0);
  factory_.Write(name, wire::STDOUT, "gone");
  factory_.Exit(name, 0);
  Wait(name);
  // The timer that this server had set is not run.
  Restart();
  timers_.Advance(absl::Seconds(1));
  AwaitExpiry(name);
  EXPECT_EQ(Get(name).exit().code(), 0);
}

}  // namespace
}  // namespace server

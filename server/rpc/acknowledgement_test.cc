#include "server/rpc/acknowledgement.h"

#include <cstdint>
#include <string>

#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"
#include "sandbox/client/supervisor_connection.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

namespace wire = sandbox::wire;

class AcknowledgementTest : public ServerFixture {
 protected:
  AcknowledgementTest() {
    CreateSandbox("box");
    name_ = StartExecution("tenants/default/sandboxes/box", Command());
    factory_.Write(name_, wire::STDOUT, "0123");
    factory_.Write(name_, wire::STDERR, "0123456789");
    request_.set_name(name_);
  }
  void Add(corral::v1::Stream stream, uint64_t offset) {
    corral::v1::StreamCursor* cursor = request_.add_cursors();
    cursor->set_stream(stream);
    cursor->set_offset(offset);
  }
  grpc::Status Acknowledge() {
    google::protobuf::Empty response;
    return Call(execution_stub_.get(), &ExecutionStub::AcknowledgeOutput,
                request_, &response);
  }
  // Returns what the supervisor got last.
  wire::Acknowledge Last() {
    wire::Acknowledge last;
    factory_.With("box", [&last](tests::FakeSupervisor& supervisor) {
      last = supervisor.last_acknowledge();
    });
    return last;
  }

  std::string name_;
  corral::v1::AcknowledgeOutputRequest request_;
};

TEST_F(AcknowledgementTest, ReachesTheSupervisorForEachStream) {
  Add(corral::v1::STDOUT, 4);
  ASSERT_TRUE(Acknowledge().ok());
  EXPECT_EQ(Last().stream(), wire::STDOUT);
  EXPECT_EQ(Last().offset(), 4);
  Add(corral::v1::STDERR, 10);
  ASSERT_TRUE(Acknowledge().ok());
  EXPECT_EQ(Last().stream(), wire::STDERR);
  EXPECT_EQ(Last().offset(), 10);
}

TEST_F(AcknowledgementTest, IsRefusedBeyondTheEnd) {
  Add(corral::v1::STDERR, 11);
  EXPECT_EQ(Reason(Acknowledge()), "OFFSET_OUT_OF_RANGE");
  EXPECT_EQ(Last().execution_id(), "");
}

TEST_F(AcknowledgementTest, IsRefusedWithoutCursorsOrWithTooMany) {
  EXPECT_EQ(Field(Acknowledge()), "cursors");
  for (int i = 0; i < 4; ++i) {
    Add(corral::v1::STDERR, 0);
  }
  EXPECT_EQ(Field(Acknowledge()), "cursors");
}

TEST_F(AcknowledgementTest, IsRefusedForAStreamThatIsNamedTwiceOrMissing) {
  Add(corral::v1::STDERR, 1);
  Add(corral::v1::STDERR, 2);
  EXPECT_EQ(Field(Acknowledge()), "cursors[1].stream");
  request_.clear_cursors();
  Add(corral::v1::TERMINAL, 0);
  EXPECT_EQ(Reason(Acknowledge()), "NO_SUCH_STREAM");
  request_.clear_cursors();
  Add(corral::v1::STREAM_UNSPECIFIED, 0);
  EXPECT_EQ(Field(Acknowledge()), "cursors[0].stream");
  EXPECT_EQ(Last().execution_id(), "");
}

TEST_F(AcknowledgementTest, MayNameThreeStreams) {
  Add(corral::v1::STDOUT, 0);
  Add(corral::v1::STDERR, 0);
  Add(corral::v1::STDERR, 0);
  EXPECT_EQ(Field(Acknowledge()), "cursors[2].stream");
}

TEST_F(AcknowledgementTest, SucceedsWithoutEffectWhenTheSupervisorIsGone) {
  factory_.With("box", [](tests::FakeSupervisor& supervisor) {
    supervisor.Die(wire::SandboxEnd::SUPERVISOR_DIED, "died");
  });
  Add(corral::v1::STDOUT, 4);
  EXPECT_TRUE(Acknowledge().ok());
  EXPECT_EQ(Last().execution_id(), "");
}

}  // namespace
}  // namespace server

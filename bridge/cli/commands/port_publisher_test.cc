#include "bridge/cli/commands/port_publisher.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/client/connection.h"
#include "bridge/options/option_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_port_server.h"
#include "tests/network/loopback.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::tests::FakePortServer;
using ::tests::IsOk;
using ::tests::StatusIs;

class PortPublisherTest : public ::testing::Test {
 protected:
  PortPublisherTest() {
    client::ConnectOptions options;
    options.server = server_.address();
    connection_ = *client::Connection::Open(options);
  }

  // Begins, and returns what is said.
  std::string Begin(PortPublisher& ports) {
    ::testing::internal::CaptureStderr();
    ports.Begin(*connection_, FakePortServer::kSandbox);
    return ::testing::internal::GetCapturedStderr();
  }

  FakePortServer server_;
  std::unique_ptr<client::Connection> connection_;
};

TEST_F(PortPublisherTest, TakesItsOptionMoreThanOnce) {
  PortPublisher ports;
  OptionTable table("program", "", "");
  ports.AddTo(table);
  EXPECT_TRUE(ports.empty());
  const uint16_t local = tests::UnusedPort();
  EXPECT_THAT(
      table.Parse({absl::StrCat("--publish=8080:", local), "-p", "8081:0"})
          .status(),
      IsOk());
  EXPECT_FALSE(ports.empty());
  EXPECT_THAT(ports.Listen(), IsOk());
  EXPECT_THAT(
      Begin(ports),
      AllOf(HasSubstr(absl::StrCat(
                "port 8080 of the sandbox is at 127.0.0.1:", local, "\n")),
            HasSubstr("port 8081 of the sandbox is at 127.0.0.1:")));
}

TEST_F(PortPublisherTest, RefusesWhatIsNoPort) {
  PortPublisher ports;
  EXPECT_THAT(ports.Add("0"), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("PORT:LOCAL")));
  EXPECT_TRUE(ports.empty());
}

TEST_F(PortPublisherTest, SaysWhatToDoAboutAPortThatIsInUse) {
  const tests::LoopbackListener taken = tests::ListenOnLoopback();
  PortPublisher ports;
  EXPECT_THAT(ports.Add(absl::StrCat("8080:", taken.port)), IsOk());
  EXPECT_THAT(ports.Listen(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr(absl::StrCat(taken.port)),
                             HasSubstr("choose another port"))));
}

TEST_F(PortPublisherTest, DoesNothingWithoutAPort) {
  PortPublisher ports;
  EXPECT_THAT(ports.Listen(), IsOk());
  EXPECT_EQ(Begin(ports), "");
}

TEST_F(PortPublisherTest, BeginsOnce) {
  PortPublisher ports;
  EXPECT_THAT(ports.Add("8080:0"), IsOk());
  EXPECT_THAT(ports.Listen(), IsOk());
  EXPECT_NE(Begin(ports), "");
  EXPECT_EQ(Begin(ports), "");
}

TEST_F(PortPublisherTest, SaysAndReportsWhyAConnectionFails) {
  const uint16_t local = tests::UnusedPort();
  PortPublisher ports;
  EXPECT_THAT(ports.Add(absl::StrCat("8080:", local)), IsOk());
  client::PortForwarder::Reports reports;
  std::string reported;
  reports.failed = [&](client::PublishedPort port, const absl::Status& why) {
    reported = absl::StrCat(port.inside, " ", why.message());
  };
  EXPECT_THAT(ports.Listen(std::move(reports)), IsOk());
  Begin(ports);
  ::testing::internal::CaptureStderr();
  const sandbox::UniqueFd socket = tests::ConnectToLoopback(local);
  const auto call = server_.Accept();
  EXPECT_EQ(call->opened().name(), FakePortServer::kSandbox);
  EXPECT_EQ(call->opened().port(), 8080);
  call->Finish({grpc::StatusCode::FAILED_PRECONDITION, "no server listens"});
  tests::ReceiveEnd(socket.get());
  // Ends the thread that reports.
  ports = PortPublisher();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("port 8080: no server listens\n"));
  EXPECT_EQ(reported, "8080 no server listens");
}

}  // namespace
}  // namespace bridge

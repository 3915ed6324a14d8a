#include "bridge/cli/commands/network_log.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using corral::v1::NetworkEvent;
using ::testing::HasSubstr;
using ::tests::StatusIs;

constexpr char kSandbox[] = "tenants/default/sandboxes/s1";

// 2001-02-03, 04:05:06.007 UTC.
NetworkEvent MakeEvent(NetworkEvent::Kind kind, NetworkEvent::Reason reason) {
  NetworkEvent event;
  event.mutable_time()->set_seconds(981173106);
  event.mutable_time()->set_nanos(7'900'000);
  event.set_kind(kind);
  event.set_reason(reason);
  event.set_host("a.example");
  return event;
}

TEST(DescribeEventTest, SaysWhatWasRefused) {
  NetworkEvent event =
      MakeEvent(NetworkEvent::NAME_REFUSED, NetworkEvent::NAME_NOT_ALLOWED);
  EXPECT_EQ(DescribeEvent(event),
            "2001-02-03T04:05:06.007Z refused  look-up of a.example: name not "
            "allowed");
  event = MakeEvent(NetworkEvent::CONNECTION_REFUSED,
                    NetworkEvent::SERVER_NAME_DIFFERS);
  event.set_port(443);
  event.set_upstream("192.0.2.1");
  event.set_claimed("b\x1b.example");
  event.set_left_out(3);
  EXPECT_EQ(DescribeEvent(event),
            "2001-02-03T04:05:06.007Z refused  a.example:443 (192.0.2.1): "
            "server name differs, the client named b\\033.example (3 events "
            "left out before)");
}

TEST(DescribeEventTest, NamesTheAddressThatWasDialled) {
  NetworkEvent event =
      MakeEvent(NetworkEvent::ADDRESS_REFUSED, NetworkEvent::DIRECT_ADDRESS);
  event.set_host("8.8.8.8");
  EXPECT_THAT(DescribeEvent(event),
              HasSubstr("Z refused  8.8.8.8: direct address"));
  event.set_port(443);
  event.set_transport(NetworkEvent::TCP);
  EXPECT_THAT(DescribeEvent(event),
              HasSubstr("Z refused  8.8.8.8:443/tcp: direct address"));
  event.set_host("2001:db8::1");
  event.set_transport(NetworkEvent::UDP);
  EXPECT_THAT(DescribeEvent(event),
              HasSubstr("Z refused  [2001:db8::1]:443/udp: direct address"));
}

TEST(DescribeEventTest, CountsTheBytesOfAConnectionThatEnded) {
  NetworkEvent event =
      MakeEvent(NetworkEvent::CONNECTION_ENDED, NetworkEvent::CLOSED);
  event.clear_host();
  event.set_sent_bytes(12);
  event.set_received_bytes(34);
  event.mutable_duration()->set_seconds(1);
  event.mutable_duration()->set_nanos(500'900'000);
  EXPECT_EQ(DescribeEvent(event),
            "2001-02-03T04:05:06.007Z ended    ?: closed, sent 12 B, received "
            "34 B in 1.5s");
}

TEST(DescribeEventTest, PrintsWhatANewerServerSends) {
  NetworkEvent event;
  event.set_kind(static_cast<NetworkEvent::Kind>(99));
  event.set_reason(static_cast<NetworkEvent::Reason>(98));
  EXPECT_THAT(DescribeEvent(event), HasSubstr("Z event    ?: reason 98"));
}

// A server with as many events as a test wants, and no sandbox after them.
class Events : public corral::v1::SandboxService::Service {
 public:
  grpc::Status ListNetworkEvents(
      grpc::ServerContext*, const corral::v1::ListNetworkEventsRequest* request,
      corral::v1::ListNetworkEventsResponse* response) override {
    requests.push_back(*request);
    if (static_cast<int>(requests.size()) > answers) {
      return {grpc::StatusCode::NOT_FOUND, "no such sandbox"};
    }
    for (uint64_t number = request->after() + 1;
         number <= count && response->events_size() < request->page_size();
         ++number) {
      NetworkEvent event =
          MakeEvent(NetworkEvent::NAME_REFUSED, NetworkEvent::NAME_NOT_ALLOWED);
      event.set_number(number);
      *response->add_events() = event;
    }
    return grpc::Status::OK;
  }

  uint64_t count = 0;
  int answers = 1000;
  std::vector<corral::v1::ListNetworkEventsRequest> requests;
};

class NetworkLogTest : public ::testing::Test {
 protected:
  NetworkLogTest() {
    char directory[] = "/tmp/network_log_test.XXXXXX";
    directory_ = ::mkdtemp(directory);
    invocation_.server.server = "unix:" + directory_ + "/socket";
    server_ = grpc::ServerBuilder()
                  .AddListeningPort(invocation_.server.server,
                                    grpc::InsecureServerCredentials())
                  .RegisterService(&events_)
                  .BuildAndStart();
  }
  ~NetworkLogTest() override {
    server_->Shutdown();
    ::unlink((directory_ + "/socket").c_str());
    ::rmdir(directory_.c_str());
  }

  absl::StatusOr<int> PrintLog(const NetworkLogOptions& options) {
    ::testing::internal::CaptureStdout();
    const absl::StatusOr<int> code =
        PrintNetworkLog(invocation_, kSandbox, options);
    output_ = ::testing::internal::GetCapturedStdout();
    return code;
  }

  std::string directory_;
  Events events_;
  std::unique_ptr<grpc::Server> server_;
  Invocation invocation_;
  std::string output_;
};

TEST_F(NetworkLogTest, PrintsALineForEachEvent) {
  events_.count = 2;
  EXPECT_EQ(PrintLog({}).value_or(-1), 0);
  const std::string line = DescribeEvent(
      MakeEvent(NetworkEvent::NAME_REFUSED, NetworkEvent::NAME_NOT_ALLOWED));
  EXPECT_EQ(output_, line + "\n" + line + "\n");
  ASSERT_EQ(events_.requests.size(), 1);
  EXPECT_EQ(events_.requests[0].name(), kSandbox);
}

TEST_F(NetworkLogTest, ReadsAllPages) {
  events_.count = 1500;
  EXPECT_EQ(PrintLog({}).value_or(-1), 0);
  EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 1500);
  ASSERT_EQ(events_.requests.size(), 2);
  EXPECT_EQ(events_.requests[1].after(), 1000);
}

TEST_F(NetworkLogTest, PrintsJson) {
  events_.count = 1;
  NetworkLogOptions options;
  options.json = true;
  EXPECT_EQ(PrintLog(options).value_or(-1), 0);
  EXPECT_THAT(output_, HasSubstr("\"kind\":\"NAME_REFUSED\""));
}

TEST_F(NetworkLogTest, FollowsUntilTheSandboxIsGone) {
  events_.count = 1;
  events_.answers = 2;
  NetworkLogOptions options;
  options.follow = true;
  EXPECT_EQ(PrintLog(options).value_or(-1), 0);
  EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 1);
  EXPECT_EQ(events_.requests.size(), 3);
}

TEST_F(NetworkLogTest, SaysThatThereIsNoSuchSandbox) {
  events_.answers = 0;
  EXPECT_THAT(PrintLog({}).status(),
              StatusIs(absl::StatusCode::kNotFound, "no such sandbox"));
}

}  // namespace
}  // namespace bridge

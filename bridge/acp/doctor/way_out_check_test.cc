#include "bridge/acp/doctor/way_out_check.h"

#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "corral/v1/execution_service.grpc.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using corral::v1::NetworkEvent;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::tests::StatusIs;

// A server whose commands end at once, and whose sandbox has the events that a
// test wants from the third listing on.
class Server : public corral::v1::ExecutionService::Service,
               public corral::v1::SandboxService::Service {
 public:
  grpc::Status StartExecution(grpc::ServerContext*,
                              const corral::v1::StartExecutionRequest* request,
                              corral::v1::Execution* response) override {
    starts.push_back(*request);
    response->set_name("e");
    return start_status;
  }
  grpc::Status WaitExecution(grpc::ServerContext*,
                             const corral::v1::WaitExecutionRequest*,
                             corral::v1::Execution* response) override {
    response->set_state(corral::v1::Execution::EXITED);
    return grpc::Status::OK;
  }
  grpc::Status ListNetworkEvents(
      grpc::ServerContext*, const corral::v1::ListNetworkEventsRequest* request,
      corral::v1::ListNetworkEventsResponse* response) override {
    listings.push_back(request->name());
    if (listings.size() > 2) {
      *response->mutable_events() = {events.begin(), events.end()};
    }
    return grpc::Status::OK;
  }

  grpc::Status start_status;
  std::vector<NetworkEvent> events;
  std::vector<corral::v1::StartExecutionRequest> starts;
  std::vector<std::string> listings;
};

class WayOutCheckTest : public ::testing::Test {
 protected:
  WayOutCheckTest() {
    char directory[] = "/tmp/way_out_check_test.XXXXXX";
    directory_ = ::mkdtemp(directory);
    const std::string address = "unix:" + directory_ + "/socket";
    grpc_ =
        grpc::ServerBuilder()
            .AddListeningPort(address, grpc::InsecureServerCredentials())
            .RegisterService(
                static_cast<corral::v1::ExecutionService::Service*>(&server_))
            .RegisterService(
                static_cast<corral::v1::SandboxService::Service*>(&server_))
            .BuildAndStart();
    connection_ = *client::Connection::Open({address});
    rule_.set_host("a.example");
  }
  ~WayOutCheckTest() override {
    grpc_->Shutdown();
    ::unlink((directory_ + "/socket").c_str());
    ::rmdir(directory_.c_str());
  }

  static NetworkEvent Event(const std::string& host, NetworkEvent::Kind kind,
                            NetworkEvent::Reason reason) {
    NetworkEvent event;
    event.set_host(host);
    event.set_kind(kind);
    event.set_reason(reason);
    event.set_upstream("192.0.2.1:443");
    return event;
  }
  Finding Check() { return CheckWayOut(*connection_, "s", rule_); }

  std::string directory_;
  Server server_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<client::Connection> connection_;
  corral::v1::EgressRule rule_;
};

TEST_F(WayOutCheckTest, SaysWhereAConnectionArrived) {
  server_.events = {
      Event("b.example", NetworkEvent::CONNECTION_REFUSED,
            NetworkEvent::NAME_NOT_FOUND),
      Event("a.example", NetworkEvent::CONNECTION_ENDED, NetworkEvent::CLOSED)};
  const Finding finding = Check();
  ASSERT_THAT(finding.status(), tests::IsOk());
  EXPECT_EQ(*finding, "port 443 is reached at 192.0.2.1:443");
  ASSERT_THAT(server_.starts, SizeIs(1));
  const auto& argv = server_.starts[0].command().argv();
  ASSERT_EQ(argv.size(), 5);
  EXPECT_EQ(argv[0], "/bin/bash");
  EXPECT_EQ(argv[1], "-c");
  EXPECT_THAT(argv[2], HasSubstr("/dev/tcp/$0/$1"));
  EXPECT_EQ(argv[3], "a.example");
  EXPECT_EQ(argv[4], "443");
  // The event came a moment later.
  EXPECT_THAT(server_.listings, ElementsAre("s", "s", "s"));
}

TEST_F(WayOutCheckTest, TriesTheFirstPortThatTheRuleNames) {
  rule_.add_ports(8080);
  rule_.add_ports(80);
  server_.events = {
      Event("a.example", NetworkEvent::CONNECTION_ENDED, NetworkEvent::CLOSED)};
  EXPECT_THAT(*Check(), HasSubstr("port 8080 is"));
  EXPECT_EQ(server_.starts[0].command().argv(4), "8080");
}

TEST_F(WayOutCheckTest, SaysWhyAConnectionWasRefused) {
  server_.events = {Event("a.example", NetworkEvent::CONNECTION_REFUSED,
                          NetworkEvent::NAME_NOT_FOUND)};
  EXPECT_THAT(Check().status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("port 443 is not reached: name not "
                                       "found; the server's host"))));
}

TEST_F(WayOutCheckTest, SaysThatNoConnectionWasSeen) {
  EXPECT_THAT(Check().status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "no connection to port 443 could be tried"));
  EXPECT_THAT(server_.listings, SizeIs(20));
}

TEST_F(WayOutCheckTest, SaysThatTheSandboxIsGone) {
  server_.start_status = {grpc::StatusCode::NOT_FOUND, "no such sandbox"};
  EXPECT_THAT(Check().status(), StatusIs(absl::StatusCode::kNotFound,
                                         HasSubstr("no such sandbox")));
}

}  // namespace
}  // namespace bridge

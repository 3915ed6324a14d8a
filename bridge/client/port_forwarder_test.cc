#include "bridge/client/port_forwarder.h"

#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bridge/client/connection.h"
#include "bridge/client/published_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"
#include "tests/fakes/fake_port_server.h"
#include "tests/network/loopback.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using corral::v1::ConnectPortRequest;
using sandbox::UniqueFd;
using ::testing::HasSubstr;
using ::tests::FakePortServer;
using ::tests::StatusIs;

class PortForwarderTest : public ::testing::Test {
 protected:
  PortForwarderTest() {
    ConnectOptions options;
    options.server = server_.address();
    connection_ = *Connection::Open(options);
  }

  // Listens at any local ports.
  void Listen(const std::vector<uint16_t>& ports) {
    PortForwarder::Reports reports;
    reports.failed = [this](PublishedPort port, const absl::Status& why) {
      Add(absl::StrCat(port.inside, ":", port.local, " ", why.message()));
    };
    reports.server_gone = [this] { Add("gone"); };
    std::vector<PublishedPort> published;
    for (const uint16_t port : ports) {
      published.push_back({port, 0});
    }
    forwarder_ = *PortForwarder::Listen(published, std::move(reports));
  }
  void Begin(const std::vector<uint16_t>& ports = {8080}) {
    Listen(ports);
    forwarder_->Begin(connection_.get(), FakePortServer::kSandbox);
  }
  uint16_t local(size_t port = 0) { return forwarder_->ports()[port].local; }
  UniqueFd Connect(size_t port = 0) {
    return tests::ConnectToLoopback(local(port));
  }
  // A connection that ends with this status before it is open.
  void Fail(const grpc::Status& status, size_t port = 0) {
    const UniqueFd socket = Connect(port);
    server_.Accept()->Finish(status);
    EXPECT_EQ(tests::ReceiveEnd(socket.get()), -ECONNRESET);
  }
  // One that is open, and then ends with this status.
  void Open(const grpc::Status& status) {
    const UniqueFd socket = Connect();
    const auto call = server_.Accept();
    call->Connect();
    tests::Send(socket.get(), "x");
    EXPECT_EQ(call->Receive(1), "x");
    if (status.ok()) {
      call->SendEnd();
      EXPECT_EQ(tests::ReceiveEnd(socket.get()), 0);
      ::shutdown(socket.get(), SHUT_WR);
      EXPECT_TRUE(call->Next().has_end());
    }
    call->Finish(status);
    EXPECT_EQ(tests::ReceiveEnd(socket.get()), status.ok() ? 0 : -ECONNRESET);
  }

  void Add(std::string report) {
    sandbox::MutexLock lock(&mutex_);
    reports_.push_back(std::move(report));
    mutex_.Signal();
  }
  // Blocks until there is a report, and takes the oldest.
  std::string Next() {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await(
        [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !reports_.empty(); });
    std::string report = std::move(reports_.front());
    reports_.pop_front();
    return report;
  }
  bool reported() {
    sandbox::MutexLock lock(&mutex_);
    return !reports_.empty();
  }
  // Returns what Next() returns for a failure of this port.
  std::string Report(const std::string& why, size_t port = 0) {
    return absl::StrCat(forwarder_->ports()[port].inside, ":", local(port), " ",
                        why);
  }

  FakePortServer server_;
  std::unique_ptr<Connection> connection_;
  sandbox::Mutex mutex_;
  std::deque<std::string> reports_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PortForwarder> forwarder_;
};

TEST_F(PortForwarderTest, ConnectsEachLocalPortToItsPortInside) {
  Begin({8080, 8081});
  EXPECT_EQ(forwarder_->ports()[0].inside, 8080);
  EXPECT_EQ(forwarder_->ports()[1].inside, 8081);
  const UniqueFd first = Connect(0);
  const auto first_call = server_.Accept();
  EXPECT_EQ(first_call->opened().port(), 8080);
  EXPECT_EQ(first_call->opened().name(), FakePortServer::kSandbox);
  const UniqueFd second = Connect(1);
  const auto second_call = server_.Accept();
  EXPECT_EQ(second_call->opened().port(), 8081);
  second_call->Connect();
  second_call->Send("second");
  first_call->Connect();
  first_call->Send("first");
  EXPECT_EQ(tests::Receive(first.get(), 5), "first");
  EXPECT_EQ(tests::Receive(second.get(), 6), "second");
}

TEST_F(PortForwarderTest, ServesConnectionsThatCameBeforeItBegan) {
  Listen({8080});
  const UniqueFd socket = Connect();
  ASSERT_TRUE(socket.valid());
  forwarder_->Begin(connection_.get(), FakePortServer::kSandbox);
  EXPECT_EQ(server_.Accept()->opened().port(), 8080);
}

TEST_F(PortForwarderTest, LeavesItsPortsIfItNeverBegins) {
  Listen({8080});
  const uint16_t port = local();
  forwarder_.reset();
  EXPECT_FALSE(tests::ConnectToLoopback(port).valid());
}

TEST_F(PortForwarderTest, NamesAPortThatIsInUse) {
  const tests::LoopbackListener taken = tests::ListenOnLoopback();
  EXPECT_THAT(
      PortForwarder::Listen({{8080, 0}, {8080, taken.port}}, {}).status(),
      StatusIs(absl::StatusCode::kAlreadyExists,
               HasSubstr(absl::StrCat("127.0.0.1:", taken.port))));
}

TEST_F(PortForwarderTest, ReportsAFailureOnceUntilItChanges) {
  Begin();
  Fail({grpc::StatusCode::FAILED_PRECONDITION, "first"});
  EXPECT_EQ(Next(), Report("first"));
  Fail({grpc::StatusCode::FAILED_PRECONDITION, "first"});
  Fail({grpc::StatusCode::NOT_FOUND, "second"});
  EXPECT_EQ(Next(), Report("second"));
  Fail({grpc::StatusCode::FAILED_PRECONDITION, "first"});
  EXPECT_EQ(Next(), Report("first"));
}

TEST_F(PortForwarderTest, ReportsAFailureAgainAfterASuccess) {
  Begin();
  Fail({grpc::StatusCode::FAILED_PRECONDITION, "failure"});
  EXPECT_EQ(Next(), Report("failure"));
  Open(grpc::Status::OK);
  // The program may see the end before the forwarder.
  do {
    Fail({grpc::StatusCode::FAILED_PRECONDITION, "failure"});
  } while (!reported());
  EXPECT_EQ(Next(), Report("failure"));
}

TEST_F(PortForwarderTest, ReportsTheFailuresOfEachPort) {
  Begin({8080, 8081});
  Fail({grpc::StatusCode::FAILED_PRECONDITION, "failure"}, 0);
  EXPECT_EQ(Next(), Report("failure", 0));
  Fail({grpc::StatusCode::FAILED_PRECONDITION, "failure"}, 1);
  EXPECT_EQ(Next(), Report("failure", 1));
}

TEST_F(PortForwarderTest, DoesNotReportWhatTheProgramSees) {
  Begin();
  Open({grpc::StatusCode::ABORTED, "the server in the sandbox has reset it"});
  Open({grpc::StatusCode::CANCELLED, "cancelled"});
  Fail({grpc::StatusCode::FAILED_PRECONDITION, "failure"});
  EXPECT_EQ(Next(), Report("failure"));
}

TEST_F(PortForwarderTest, AsksForAServerThatIsGone) {
  Begin();
  const UniqueFd socket = Connect();
  server_.Accept()->Finish({grpc::StatusCode::UNAVAILABLE, "gone"});
  EXPECT_EQ(Next(), "gone");
  server_.Accept()->Connect();
}

TEST_F(PortForwarderTest, ResetsItsConnectionsAtItsEnd) {
  Begin();
  const uint16_t port = local();
  const UniqueFd open = Connect();
  const auto call = server_.Accept();
  call->Connect();
  call->Send("x");
  EXPECT_EQ(tests::Receive(open.get(), 1), "x");
  const UniqueFd connecting = Connect();
  const auto other = server_.Accept();
  forwarder_.reset();
  EXPECT_EQ(tests::ReceiveEnd(open.get()), -ECONNRESET);
  EXPECT_EQ(tests::ReceiveEnd(connecting.get()), -ECONNRESET);
  EXPECT_EQ(call->Next().message_case(), ConnectPortRequest::MESSAGE_NOT_SET);
  EXPECT_EQ(other->Next().message_case(), ConnectPortRequest::MESSAGE_NOT_SET);
  EXPECT_FALSE(tests::ConnectToLoopback(port).valid());
}

TEST_F(PortForwarderTest, EndsAConnectionThatWaitsForItsServer) {
  Begin();
  const UniqueFd socket = Connect();
  server_.Accept()->Finish({grpc::StatusCode::UNAVAILABLE, "gone"});
  EXPECT_EQ(Next(), "gone");
  forwarder_.reset();
  EXPECT_EQ(tests::ReceiveEnd(socket.get()), -ECONNRESET);
}

TEST_F(PortForwarderTest, GoesOnWhenAConnectionHasEnded) {
  Begin();
  Open(grpc::Status::OK);
  Open(grpc::Status::OK);
}

}  // namespace
}  // namespace client

#include "server/rpc/allow_hosts.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/sandbox.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "server/core/sandbox.h"
#include "server/rpc/server_fixture.h"
#include "tests/fakes/fake_supervisor.h"

namespace server {
namespace {

using ::corral::v1::AllowHostsRequest;
using ::corral::v1::Sandbox;
using ::testing::HasSubstr;
using ::tests::FakeSupervisor;

constexpr char kBox[] = "tenants/default/sandboxes/box";

class AllowHostsTest : public ServerFixture {
 protected:
  // A sandbox that may reach a.example.
  void CreateBox() {
    corral::v1::CreateSandboxRequest request;
    request.set_parent("tenants/default");
    request.set_sandbox_id("box");
    request.mutable_sandbox()->set_network(Sandbox::ALLOW_LIST);
    request.mutable_sandbox()->add_egress_rules()->set_host("a.example");
    Sandbox created;
    ASSERT_TRUE(Call(sandbox_stub_.get(), &SandboxStub::CreateSandbox, request,
                     &created)
                    .ok());
  }
  static AllowHostsRequest Hosts(const std::vector<std::string>& hosts) {
    AllowHostsRequest request;
    request.set_name(kBox);
    for (const std::string& host : hosts) {
      request.add_egress_rules()->set_host(host);
    }
    return request;
  }
  grpc::Status Allow(const AllowHostsRequest& request) {
    answer_.Clear();
    return Call(sandbox_stub_.get(), &SandboxStub::AllowHosts, request,
                &answer_);
  }
  Sandbox GetBox() {
    corral::v1::GetSandboxRequest request;
    request.set_name(kBox);
    Sandbox found;
    Call(sandbox_stub_.get(), &SandboxStub::GetSandbox, request, &found);
    return found;
  }
  void Refuse(sandbox::wire::Reply::Failure failure) {
    factory_.With("box", [failure](FakeSupervisor& supervisor) {
      supervisor.RefuseRules(sandbox::MakeFailure(failure, "why"));
    });
  }

  Sandbox answer_;
};

TEST_F(AllowHostsTest, AnswersWithAllRulesAndKeepsThem) {
  CreateBox();
  ASSERT_TRUE(Allow(Hosts({"b.example"})).ok());
  ASSERT_EQ(answer_.egress_rules_size(), 2);
  EXPECT_EQ(answer_.egress_rules(0).host(), "a.example");
  EXPECT_EQ(answer_.egress_rules(1).ShortDebugString(),
            "host: \"b.example\" ports: 80 ports: 443 protocol: WEB");
  EXPECT_EQ(answer_.state(), Sandbox::READY);
  EXPECT_EQ(GetBox().egress_rules_size(), 2);
  EXPECT_EQ(state_->ReadSpec("box")->egress().policy().rules_size(), 2);
  Restart();
  EXPECT_EQ(GetBox().egress_rules_size(), 2);
  ASSERT_TRUE(Allow(Hosts({"c.example"})).ok());
}

TEST_F(AllowHostsTest, BelievesTheSupervisorMoreThanTheRecord) {
  CreateBox();
  factory_.With("box", [](FakeSupervisor& supervisor) {
    sandbox::wire::EgressRules rules;
    rules.add_rules()->set_host("b.example");
    // The server dies before it writes the record.
    EXPECT_TRUE(supervisor.AllowHosts(rules).ok());
  });
  Restart();
  EXPECT_EQ(GetBox().egress_rules_size(), 2);
}

TEST_F(AllowHostsTest, NamesTheFieldThatIsWrong) {
  CreateBox();
  EXPECT_EQ(Field(Allow(Hosts({}))), "egress_rules");
  EXPECT_EQ(Field(Allow(Hosts({"b.example", "10.0.0.1"}))),
            "egress_rules[1].host");
  AllowHostsRequest request = Hosts({"b.example"});
  for (int port = 1; port <= 15; ++port) {
    request.mutable_egress_rules(0)->add_ports(port);
  }
  // The sandbox has 80 and 443 already.
  const grpc::Status many = Allow(request);
  EXPECT_EQ(Field(many), "egress_rules");
  EXPECT_THAT(many.error_message(), HasSubstr("more than 16 different ports"));
  request.set_name("tenants/default/sandboxes/none");
  EXPECT_EQ(Reason(Allow(request)), "SANDBOX_NOT_FOUND");
  EXPECT_EQ(GetBox().egress_rules_size(), 1);
}

TEST_F(AllowHostsTest, ObeysTheCeiling) {
  CreateBox();
  ceilings_.mutable_egress()->add_rules()->set_host("*.example");
  Restart();
  EXPECT_EQ(Field(Allow(Hosts({"b.com"}))), "egress_rules[0]");
  EXPECT_TRUE(Allow(Hosts({"b.example"})).ok());
}

TEST_F(AllowHostsTest, RefusesASandboxWithoutAWayOut) {
  CreateSandbox("box");
  const grpc::Status refused = Allow(Hosts({"b.example"}));
  EXPECT_EQ(Reason(refused), "EGRESS_UNAVAILABLE");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("its network is NONE"));
}

TEST_F(AllowHostsTest, SaysWhyTheSupervisorRefuses) {
  CreateBox();
  Refuse(sandbox::wire::Reply::UNKNOWN_REQUEST);
  grpc::Status refused = Allow(Hosts({"b.example"}));
  EXPECT_EQ(Reason(refused), "EGRESS_UNAVAILABLE");
  EXPECT_THAT(refused.error_message(), HasSubstr("cannot add rules"));
  Refuse(sandbox::wire::Reply::EGRESS);
  refused = Allow(Hosts({"b.example"}));
  EXPECT_EQ(Reason(refused), "EGRESS_UNAVAILABLE");
  EXPECT_THAT(refused.error_message(), HasSubstr("why"));
  Refuse(sandbox::wire::Reply::SUPERVISOR_GONE);
  EXPECT_EQ(Reason(Allow(Hosts({"b.example"}))), "SANDBOX_NOT_READY");
  Refuse(sandbox::wire::Reply::FAULT);
  EXPECT_EQ(Reason(Allow(Hosts({"b.example"}))), "SERVER_FAULT");
  EXPECT_EQ(state_->ReadSpec("box")->egress().policy().rules_size(), 1);
}

TEST_F(AllowHostsTest, RefusesASandboxThatHasFailed) {
  CreateBox();
  factory_.With("box", [](FakeSupervisor& supervisor) {
    supervisor.Die(sandbox::wire::SandboxEnd::INIT_DIED, "init died");
  });
  while (GetBox().state() != Sandbox::FAILED) {
  }
  EXPECT_EQ(Reason(Allow(Hosts({"b.example"}))), "SANDBOX_NOT_READY");
}

TEST_F(AllowHostsTest, DoesNotClaimThatNothingChangedWhenTheDiskFails) {
  CreateBox();
  // A file that cannot be replaced.
  const std::string spec = state_->SandboxPath("box") + "/spec.pb";
  std::filesystem::remove(spec);
  std::filesystem::create_directory(spec);
  EXPECT_EQ(Reason(Allow(Hosts({"b.example"}))), "SERVER_FAULT");
  EXPECT_EQ(GetBox().egress_rules_size(), 2);
}

TEST_F(AllowHostsTest, ReportsASandboxWhoseDirectoryIsGoneAsNotFound) {
  CreateBox();
  std::filesystem::remove_all(state_->SandboxPath("box"));
  EXPECT_EQ(Reason(Allow(Hosts({"b.example"}))), "SANDBOX_NOT_FOUND");
}

TEST_F(AllowHostsTest, MayBeRepeatedWhileTheSupervisorIsNotFoundAgain) {
  CreateBox();
  factory_.FailAdoptions(absl::ResourceExhaustedError("open files"));
  Restart();
  grpc::Status status;
  std::thread caller([&] { status = Allow(Hosts({"b.example"})); });
  timers_.AwaitTimers(2);  // the next attempt to connect, and the call's
  timers_.Advance(server::Sandbox::kKnownPatience);
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Reason(status), "SANDBOX_NOT_READY");
  timers_.AwaitTimers(1);
  factory_.FailAdoptions(absl::OkStatus());
  timers_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Allow(Hosts({"b.example"})).ok());
}

}  // namespace
}  // namespace server

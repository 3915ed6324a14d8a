// The way out of a sandbox, as its supervisor keeps it.

#include <sched.h>
#include <signal.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/storage/network_log.h"
#include "sandbox/supervisor/supervisor.h"
#include "sandbox/supervisor/supervisor_fixture.h"
#include "tests/network/name_server.h"
#include "tests/network/tls_server.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Event;
using ::testing::HasSubstr;

class SupervisorNetworkTest : public SupervisorTest {
 protected:
  wire::Reply CreateWithWayOut(const std::function<void(wire::Egress&)>& fill =
                                   [](wire::Egress&) {}) {
    return Create([&](wire::SandboxSpec& spec) {
      spec.mutable_egress()->add_name_servers(names_.address());
      fill(*spec.mutable_egress());
    });
  }
  static wire::ToSupervisor AllowRequest(const std::string& host, int port) {
    wire::ToSupervisor request;
    auto* const rule = request.mutable_allow_hosts()->add_rules();
    rule->set_host(host);
    rule->add_ports(static_cast<uint32_t>(port));
    return request;
  }
  wire::Reply Allow(const std::string& host, int port) {
    return Ask([&](wire::ToSupervisor& request) {
      request = AllowRequest(host, port);
    });
  }
  // The rules that a server finds which connects now.
  wire::EgressRules Rules() {
    server_ = *PacketSocket::Connect(directory_, "control.sock");
    wire::FromSupervisor message;
    EXPECT_TRUE(Receive(&message));
    EXPECT_TRUE(message.snapshot().has_egress_rules());
    return message.snapshot().egress_rules();
  }

  tests::NameServer names_;
};

TEST_F(SupervisorNetworkTest, KeepsWhatItsProcessReports) {
  ASSERT_EQ(CreateWithWayOut().failure(), wire::Reply::NONE);
  EXPECT_NE(Run("e1", "getent hosts other.example"), 0);
  std::vector<Event> events;
  while (events.empty()) {
    ::sched_yield();
    events = *ReadNetworkLog(directory_, 0, 100);
  }
  EXPECT_EQ(events[0].kind(), Event::NAME_REFUSED);
  EXPECT_EQ(events[0].host(), "other.example");
  EXPECT_EQ(events[0].number(), 1u);
}

TEST_F(SupervisorNetworkTest, HasFilesForLookUpsAndAUserOfItsOwn) {
  ASSERT_EQ(CreateWithWayOut().failure(), wire::Reply::NONE);
  EXPECT_EQ(Run("e1", "cat /etc/nsswitch.conf /etc/resolv.conf"), 0);
  EXPECT_THAT(Output("e1"), HasSubstr("\nhosts: files dns\n"));
  EXPECT_THAT(Output("e1"), HasSubstr("nameserver 127.0.0.53\n"));
  std::ifstream status(
      absl::StrCat("/proc/", AwaitChild("corral-egress"), "/status"));
  std::string line;
  while (!absl::StartsWith(line, "Uid:\t") && std::getline(status, line)) {
  }
  EXPECT_EQ(std::stoul(line.substr(5)) % 65536, 65533u) << line;
}

TEST_F(SupervisorNetworkTest, TakesRulesForPortsThatAreFree) {
  ASSERT_EQ(CreateWithWayOut().failure(), wire::Reply::NONE);
  const wire::Reply refused = Allow("api.example", 53);
  EXPECT_EQ(refused.failure(), wire::Reply::EGRESS);
  EXPECT_THAT(refused.message(), HasSubstr("0.0.0.0:53"));
  EXPECT_EQ(Rules().rules_size(), 0);
  EXPECT_EQ(Allow("api.example", 443).failure(), wire::Reply::NONE);
  // The port is its own now.
  EXPECT_EQ(Allow("web.example", 443).failure(), wire::Reply::NONE);
  EXPECT_EQ(Allow("web.example", 443).failure(), wire::Reply::NONE);
  const wire::EgressRules rules = Rules();
  ASSERT_EQ(rules.rules_size(), 2);
  EXPECT_EQ(rules.rules(0).host(), "api.example");
  EXPECT_EQ(rules.rules(1).host(), "web.example");
}

TEST_F(SupervisorNetworkTest, ReportsAllRulesBeforeItAnswers) {
  ASSERT_EQ(CreateWithWayOut([](wire::Egress& egress) {
              auto* const rule = egress.mutable_policy()->add_rules();
              rule->set_host("api.example");
              rule->add_ports(443);
            }).failure(),
            wire::Reply::NONE);
  wire::ToSupervisor allow = AllowRequest("web.example", 443);
  allow.set_request_id(1000);
  Send(allow);
  wire::FromSupervisor message;
  while (!message.has_egress_rules()) {
    ASSERT_TRUE(Receive(&message));
    ASSERT_FALSE(message.has_reply());
  }
  EXPECT_EQ(message.egress_rules().rules_size(), 2);
  while (!message.has_reply()) {
    ASSERT_TRUE(Receive(&message));
  }
  EXPECT_EQ(message.reply().request_id(), 1000u);
  EXPECT_EQ(message.reply().failure(), wire::Reply::NONE);
}

TEST_F(SupervisorNetworkTest, ReplacesAProcessThatReadsNoRules) {
  ASSERT_EQ(CreateWithWayOut().failure(), wire::Reply::NONE);
  const pid_t process = AwaitChild("corral-egress");
  ASSERT_EQ(::kill(process, SIGSTOP), 0);
  // Together they are more than a socket holds.
  constexpr int kCount = 200;
  for (int i = 1; i <= kCount; ++i) {
    wire::ToSupervisor allow =
        AllowRequest(absl::StrCat("*.", std::string(63, 'a'), ".", i, ".",
                                  std::string(63, 'b'), ".example"),
                     443);
    allow.set_request_id(static_cast<uint64_t>(1000 + i));
    Send(allow);
  }
  std::set<uint64_t> answered;
  while (answered.size() < kCount) {
    wire::FromSupervisor message;
    ASSERT_TRUE(Receive(&message));
    if (message.has_reply()) {
      EXPECT_EQ(message.reply().failure(), wire::Reply::NONE);
      answered.insert(message.reply().request_id());
    }
  }
  EXPECT_NE(AwaitChild("corral-egress", process), process);
  EXPECT_EQ(Rules().rules_size(), kCount);
}

TEST_F(SupervisorNetworkTest, RefusesASandboxWhoseWayOutCannotBeOpened) {
  const wire::Reply taken = CreateWithWayOut([](wire::Egress& egress) {
    auto* const rule = egress.mutable_policy()->add_rules();
    rule->set_host("api.example");
    rule->add_ports(53);
  });
  EXPECT_EQ(taken.failure(), wire::Reply::FAULT);
  EXPECT_THAT(taken.message(), HasSubstr("way out: listen on 0.0.0.0:53"));
  EXPECT_EQ(End(), 7 << 8);
  std::filesystem::remove_all(directory_);
  SetUp();
  const wire::Reply missing = CreateWithWayOut([](wire::Egress& egress) {
    auto* const source = egress.add_credentials();
    source->set_service("model");
    source->set_file("/nowhere/key");
    source->set_ca_file("/nowhere/ca");
  });
  EXPECT_EQ(missing.failure(), wire::Reply::FAULT);
  EXPECT_THAT(missing.message(), HasSubstr("service model: open /nowhere/ca"));
}

// Adds a service at api.example. Returns the source of its value, which has no
// files yet.
wire::CredentialSource& AddService(const std::string& name,
                                   const tests::TlsServer& upstream,
                                   wire::Egress& egress) {
  auto* const service = egress.mutable_policy()->add_services();
  service->set_name(name);
  service->set_host("api.example");
  service->set_port(upstream.port());
  service->set_header("x-api-key");
  service->set_own_authorities(true);
  wire::CredentialSource* const source = egress.add_credentials();
  source->set_service(name);
  source->set_prefix("Bearer ");
  return *source;
}

// A script that sends a request, as soon as there is a way out, and prints the
// answer.
std::string Get(const std::string& host) {
  const std::string connection = absl::StrCat("3<>/dev/tcp/", host, "/80");
  return absl::StrCat("until (:) ", connection, "; do :; done; exec ",
                      connection, "; printf 'GET / HTTP/1.1\\r\\nHost: ", host,
                      "\\r\\n\\r\\n' >&3; cat <&3");
}

TEST_F(SupervisorNetworkTest, AddsValuesThatCommandsCannotSeeToRequests) {
  names_.Set("api.example", {"127.0.0.1"});
  const tests::TlsServer upstream([](tests::TlsConnection& connection) {
    const std::string head = connection.ReadUntil("\r\n\r\n");
    connection.Send(absl::StrCat(
        "HTTP/1.1 200 OK\r\nContent-Length: ", head.size(), "\r\n\r\n", head));
  });
  const std::string keys = directory_ + "/keys";
  std::string shared = "/var/tmp/corral-network-XXXXXX";
  ASSERT_NE(::mkdtemp(shared.data()), nullptr);
  std::filesystem::create_directory(keys);
  std::ofstream(keys + "/authority") << upstream.authority();
  std::ofstream(keys + "/value") << "secret\n";
  std::ofstream(shared + "/value") << "secret\n";
  const wire::Reply created = Create([&](wire::SandboxSpec& spec) {
    spec.set_workspace(shared);
    wire::Egress& egress = *spec.mutable_egress();
    egress.add_name_servers(names_.address());
    egress.mutable_policy()->add_private_networks("127.0.0.1");
    for (const char* name : {"hidden", "shared"}) {
      wire::CredentialSource& source = AddService(name, upstream, egress);
      source.set_file((name == std::string("hidden") ? keys : shared) +
                      "/value");
      source.set_ca_file(keys + "/authority");
    }
  });
  if (absl::StrContains(created.message(), "no idmapped mounts")) {
    std::filesystem::remove_all(shared);
    GTEST_SKIP() << created.message();
  }
  EXPECT_EQ(created.failure(), wire::Reply::NONE) << created.message();
  pid_t process = 0;
  for (const char* id : {"e1", "e2"}) {
    process = AwaitChild("corral-egress", process);
    EXPECT_EQ(Run(id, Get("hidden.corral.internal")), 0);
    EXPECT_THAT(Output(id), HasSubstr("x-api-key: Bearer secret\r\n"));
    EXPECT_EQ(::kill(process, SIGKILL), 0);
  }
  EXPECT_EQ(Run("e3", Get("shared.corral.internal")), 0);
  EXPECT_THAT(Output("e3"), HasSubstr("the server cannot read its credential"));
  std::filesystem::remove_all(shared);
}

}  // namespace
}  // namespace sandbox

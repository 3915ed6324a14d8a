// The way out of sandboxes, from the command line to a server outside.

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/integration/integration_test.h"
#include "tests/network/loopback.h"
#include "tests/network/name_server.h"
#include "tests/network/upstream_server.h"
#include "tests/process.h"

namespace tests {
namespace {

using ::corral::v1::CreateSandboxRequest;
using ::corral::v1::Sandbox;
using ::testing::AllOf;
using ::testing::HasSubstr;

void Welcome(int socket) {
  ReadUntil(socket, "\r\n\r\n");
  SendAll(socket, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nwelcome");
}

class EgressTest : public ::testing::Test {
 protected:
  void SetUp() override {
    names_.Set("api.example", {"127.0.0.1"});
    server_.Start();
    client_ = std::make_unique<Client>(server_.Connect());
  }
  void TearDown() override { server_.End(); }

  std::unique_ptr<Process> Begin(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "./corral");
    return std::make_unique<Process>(std::move(arguments),
                                     std::vector<std::string>{absl::StrCat(
                                         "CORRAL_SERVER=", server_.address())});
  }
  // Runs corral and returns what it wrote, without the final newline.
  std::string Corral(std::vector<std::string> arguments, int status = 0) {
    const auto process = Begin(std::move(arguments));
    process->CloseInput();
    std::string output = process->ReadOutput();
    EXPECT_EQ(process->Wait(), status) << process->ReadError();
    error_ = process->ReadError();
    return std::string(absl::StripSuffix(output, "\n"));
  }

  // Waits until the program says where its published port is.
  static uint16_t PublishedPort(Process& program) {
    const std::string before = "is at 127.0.0.1:";
    for (;; std::this_thread::yield()) {
      const std::string error = program.ReadError();
      const size_t found = error.find(before);
      const size_t end = error.find('\n', found);
      if (found != std::string::npos && end != std::string::npos) {
        const size_t begin = found + before.size();
        uint32_t port = 0;
        EXPECT_TRUE(absl::SimpleAtoi(error.substr(begin, end - begin), &port));
        return static_cast<uint16_t>(port);
      }
    }
  }

  std::string rule() const {
    return absl::StrCat("api.example:", upstream_.port());
  }
  std::string url() const { return absl::StrCat("http://", rule(), "/"); }

  grpc::Status Create(const CreateSandboxRequest& request, Sandbox* sandbox) {
    return client_->Call(&Client::SandboxStub::CreateSandbox, request, sandbox);
  }

  NameServer names_;
  UpstreamServer upstream_{Welcome};
  Corrald server_{absl::StrCat(
      "drain_seconds: 0\n"
      "egress { private_networks: '127.0.0.1' name_servers: '",
      names_.address(), "' }\n",
      "ceilings { egress { rules { host: '*.example' ports: ", upstream_.port(),
      " } } }")};
  std::unique_ptr<Client> client_;
  std::string error_;
};

TEST_F(EgressTest, LetsACommandReachTheHostsThatTheCallerNames) {
  EXPECT_EQ(Corral({"run", "--no-workspace", "--allow-host", rule(), "--",
                    "curl", "-s", url()}),
            "welcome");
  // 6: curl found no such host.
  Corral({"run", "--no-workspace", "--allow-host", rule(), "--", "curl", "-s",
          "http://other.example/"},
         6);
  Corral({"run", "--no-workspace", "--", "curl", "-s", url()}, 6);
}

TEST_F(EgressTest, ListsTheAddressesThatACommandDialled) {
  if (::access("/dev/net/tun", R_OK | W_OK) != 0) {
    GTEST_SKIP() << "this host has no TUN devices";
  }
  const std::string sandbox =
      Corral({"create", "--no-workspace", "--allow-host", rule()});
  const auto log = Begin({"logs", "--network", "--follow", sandbox});
  // 7: curl could not connect.
  Corral({"exec", sandbox, "--", "curl", "-s", "http://169.254.169.254/"}, 7);
  EXPECT_THAT(log->ReadLine(),
              HasSubstr("refused  169.254.169.254:80/tcp: direct address"));
  Corral({"exec", sandbox, "--", "curl", "-s", "https://[2001:db8::1]:8443/"},
         7);
  EXPECT_THAT(log->ReadLine(),
              HasSubstr("refused  [2001:db8::1]:8443/tcp: direct address"));
  Corral({"exec", sandbox, "--", "bash", "-c", "echo >/dev/udp/8.8.8.8/53"});
  EXPECT_THAT(log->ReadLine(),
              HasSubstr("refused  8.8.8.8:53/udp: direct address"));
  log->Signal(SIGTERM);
  Corral({"rm", sandbox});
}

TEST_F(EgressTest, ListsWhatWasRefusedAndWhatWasReached) {
  const std::string sandbox =
      Corral({"create", "--no-workspace", "--allow-host", rule()});
  const auto log = Begin({"logs", "--network", "--follow", sandbox});
  Corral({"exec", sandbox, "--", "curl", "-s", "http://other.example/"}, 6);
  EXPECT_THAT(log->ReadLine(),
              HasSubstr("refused  look-up of other.example: name not allowed"));
  Corral({"exec", sandbox, "--", "curl", "-s", url()});
  EXPECT_THAT(log->ReadLine(),
              AllOf(HasSubstr(absl::StrCat("ended    ", rule(),
                                           " (127.0.0.1): closed, sent ")),
                    HasSubstr(" B, received 64 B in ")));
  EXPECT_THAT(Corral({"logs", "--network", "--json", sandbox}),
              AllOf(HasSubstr("\"number\":\"1\""),
                    HasSubstr("\"reason\":\"NAME_NOT_ALLOWED\""),
                    HasSubstr("\"received_bytes\":\"64\"")));
  Corral({"rm", sandbox});
  EXPECT_EQ(log->Wait(), 0);
}

TEST_F(EgressTest, LetsARunningSandboxReachFurtherHosts) {
  const std::string sandbox =
      Corral({"create", "--no-workspace", "--allow-host",
              absl::StrCat("first.example:", upstream_.port())});
  Corral({"exec", sandbox, "--", "curl", "-s", url()}, 6);
  Corral({"allow", sandbox, rule()});
  EXPECT_EQ(Corral({"exec", sandbox, "--", "curl", "-s", url()}), "welcome");
  server_.Kill();
  server_.Start();
  EXPECT_EQ(Corral({"exec", sandbox, "--", "curl", "-s", url()}), "welcome");
  Corral({"allow", sandbox, rule(), rule()});
  EXPECT_THAT(Corral({"ps", "--json"}),
              HasSubstr(absl::StrCat(
                  R"("egress_rules":[{"host":"first.example","ports":[)",
                  upstream_.port(), R"(],"protocol":"WEB"},)",
                  R"({"host":"api.example","ports":[)", upstream_.port(),
                  R"(],"protocol":"WEB"}])")));
  Corral({"allow", sandbox, "evil.com"}, 2);
  EXPECT_THAT(error_, HasSubstr("egress_rules[0]"));
  Corral({"allow", sandbox, "a.example:x"}, 2);
  Corral({"allow", sandbox}, 2);
  Corral({"rm", sandbox});
  const std::string closed = Corral({"create", "--no-workspace"});
  Corral({"allow", closed, rule()}, 125);
  EXPECT_THAT(error_, HasSubstr("its network is NONE"));
  Corral({"rm", closed});
}

TEST_F(EgressTest, KeepsTheWayOutWhileTheServerIsReplaced) {
  CreateSandboxRequest request;
  request.set_parent(kTenant);
  request.set_sandbox_id("box");
  request.mutable_sandbox()->set_network(Sandbox::ALLOW_LIST);
  auto* const allowed = request.mutable_sandbox()->add_egress_rules();
  allowed->set_host("*.example");
  allowed->add_ports(upstream_.port());
  Sandbox created;
  ASSERT_TRUE(Create(request, &created).ok());
  server_.Kill();
  server_.Start();
  EXPECT_EQ(Corral({"exec", "box", "--", "curl", "-s", url()}), "welcome");
  Sandbox found;
  ASSERT_TRUE(Create(request, &found).ok());
  EXPECT_EQ(found.network(), Sandbox::ALLOW_LIST);
  ASSERT_EQ(found.egress_rules_size(), 1);
  EXPECT_EQ(found.egress_rules(0).host(), "*.example");
  EXPECT_EQ(found.egress_rules(0).protocol(), corral::v1::EgressRule::WEB);
  client_->DeleteSandbox(found.name());
}

// Says "hello" to one client.
constexpr char kInnerServer[] = R"(
import socket
s = socket.create_server(('127.0.0.1', 8080))
print('ready', flush=True)
s.accept()[0].sendall(b'hello')
)";

TEST_F(EgressTest, LeavesThePublishedPortsOfTheSandbox) {
  const auto run =
      Begin({"run", "--no-workspace", "--allow-host", rule(), "--publish",
             "8080:0", "--", "python3", "-c", kInnerServer});
  EXPECT_EQ(run->ReadLine(), "ready\n");
  const sandbox::UniqueFd socket = ConnectToLoopback(PublishedPort(*run));
  EXPECT_EQ(Receive(socket.get(), 100), "hello");
  EXPECT_EQ(run->Wait(), 0);
}

TEST_F(EgressTest, IsNoWayFromAPublishedPortToTheHostOfTheRule) {
  const std::string sandbox =
      Corral({"create", "--no-workspace", "--allow-host", rule()});
  const auto forward =
      Begin({"port-forward", sandbox, absl::StrCat(upstream_.port(), ":0")});
  const sandbox::UniqueFd socket = ConnectToLoopback(PublishedPort(*forward));
  Send(socket.get(),
       absl::StrCat("GET / HTTP/1.1\r\nHost: ", rule(), "\r\n\r\n"));
  EXPECT_EQ(ReceiveEnd(socket.get()), -ECONNRESET);
  forward->Signal(SIGTERM);
  EXPECT_EQ(forward->Wait(), 0);
  Corral({"rm", sandbox});
}

TEST_F(EgressTest, NamesTheRuleThatIsWrongOrAboveTheCeiling) {
  const struct {
    const char* host;
    uint32_t port;
    const char* field;
  } cases[] = {{"10.0.0.1", 443, "sandbox.egress_rules[0].host"},
               {"a.example", 70000, "sandbox.egress_rules[0].ports[0]"},
               {"evil.com", upstream_.port(), "sandbox.egress_rules[0]"},
               {"a.example", 443, "sandbox.egress_rules[0]"}};
  for (const auto& [host, port, field] : cases) {
    CreateSandboxRequest request;
    request.set_parent(kTenant);
    request.mutable_sandbox()->set_network(Sandbox::ALLOW_LIST);
    auto* const rule = request.mutable_sandbox()->add_egress_rules();
    rule->set_host(host);
    rule->add_ports(port);
    Sandbox sandbox;
    const grpc::Status status = Create(request, &sandbox);
    EXPECT_EQ(Reason(status), "INVALID_FIELD");
    EXPECT_EQ(Field(status), field);
  }
}

}  // namespace
}  // namespace tests

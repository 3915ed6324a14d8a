#include "sandbox/egress/egress_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/packets.h"
#include "sandbox/egress/policy.h"
#include "tests/network/dns_query.h"

namespace egress {
namespace {

using sandbox::UniqueFd;

// A user without privileges.
constexpr uid_t kUser = 65533;

}  // namespace

EgressTest::EgressTest() {
  // The thread of a test starts the program, which ends with it.
  start_.add_name_servers(server_.address());
  start_.mutable_policy()->add_private_networks("127.0.0.1");
  names_ = *NameTable::MakeFile();
}

EgressTest::~EgressTest() { EgressTest::Kill(); }

void EgressTest::LimitWaiting(const UniqueFd& socket) {
  const timeval patience = {60, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience,
               sizeof(patience));
}

void EgressTest::Allow(const std::string& host, uint16_t port,
                       ::corral::egress::v1::Rule::Protocol protocol) {
  auto* const rule = start_.mutable_policy()->add_rules();
  rule->set_host(host);
  rule->add_ports(port);
  rule->set_protocol(protocol);
}

void EgressTest::Serve(const std::string& host,
                       const tests::UpstreamServer& server,
                       ::corral::egress::v1::Rule::Protocol protocol) {
  server_.Set(host, {"127.0.0.1"});
  Allow(host, server.port(), protocol);
}

std::string EgressTest::Status(absl::string_view field) {
  std::ifstream file(absl::StrCat("/proc/", process_.pid, "/status"));
  std::string line;
  while (std::getline(file, line)) {
    if (absl::StartsWith(line, absl::StrCat(field, ":"))) {
      return line.substr(line.find('\t') + 1);
    }
  }
  return "";
}

void EgressTest::Start() {
  inside_.Run([this] {
    absl::StatusOr<InnerSockets> inner =
        OpenInnerSockets(PortsOf(start_.policy()));
    ASSERT_TRUE(inner.ok()) << inner.status();
    inner_ = *std::move(inner);
    device_ = AddPacketDevice(&inner_);
  });
  start_.mutable_policy()->set_ipv6(inner_.description.ipv6());
  start_.add_descriptors()->set_kind(::corral::egress::v1::Descriptor::NAMES);
  for (const auto& descriptor : inner_.description.descriptors()) {
    *start_.add_descriptors() = descriptor;
  }
  Restart();
}

void EgressTest::Restart() {
  Kill();
  std::vector<int> fds = {names_.get()};
  for (const UniqueFd& socket : inner_.sockets) {
    fds.push_back(socket.get());
  }
  Launch(fds);
  LimitWaiting(process_.socket);
}

void EgressTest::Launch(const std::vector<int>& fds) {
  absl::StatusOr<EgressProcess> process = StartEgress(kUser, Parent::kCaller);
  ASSERT_TRUE(process.ok()) << process.status();
  process_ = *std::move(process);
  ASSERT_TRUE(SendMessage(process_.socket.get(), start_, fds).ok());
}

void EgressTest::Kill() {
  if (process_.pid > 0) {
    ::kill(process_.pid, SIGKILL);
    ::waitpid(process_.pid, nullptr, 0);
  }
  process_ = EgressProcess();
}

std::string EgressTest::Ask(const std::string& message) {
  std::string answer(4096, '\0');
  inside_.Run([&] {
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage server;
    const socklen_t size =
        IpAddress::Parse("127.0.0.53")->ToSocket(53, &server);
    ::connect(socket.get(), reinterpret_cast<sockaddr*>(&server), size);
    ::send(socket.get(), message.data(), message.size(), 0);
    const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
    answer.resize(got < 0 ? 0 : static_cast<size_t>(got));
  });
  return answer;
}

std::string EgressTest::Lookup(const std::string& name, uint16_t type) {
  const std::string answer = Ask(tests::MakeDnsQuery(name, type));
  if (answer.size() < 12 || answer[7] != 1) {
    return "";
  }
  char text[INET6_ADDRSTRLEN] = {};
  const int family = type == 1 ? AF_INET : AF_INET6;
  const size_t size = type == 1 ? 4 : 16;
  ::inet_ntop(family, answer.data() + answer.size() - size, text, sizeof(text));
  return text;
}

UniqueFd EgressTest::Dial(const std::string& host, uint16_t port) {
  absl::StatusOr<IpAddress> address = IpAddress::Parse(host);
  if (!address.ok()) {
    address = IpAddress::Parse(Lookup(host));
  }
  UniqueFd result;
  int error = EADDRNOTAVAIL;
  inside_.Run([&] {
    if (!address.ok()) {
      return;
    }
    UniqueFd socket(::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage target;
    const socklen_t size = address->ToSocket(port, &target);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&target), size) ==
        0) {
      LimitWaiting(socket);
      result = std::move(socket);
    }
    error = errno;
  });
  errno = error;
  return result;
}

std::string EgressTest::Exchange(const std::string& host, uint16_t port,
                                 absl::string_view bytes) {
  const UniqueFd socket = Dial(host, port);
  if (!socket.valid()) {
    // The end may come before connect(2) returns.
    return errno == ECONNRESET ? "RST" : "error";
  }
  // Even an empty send could consume the socket's pending error, which the end
  // of the stream must show.
  if (!bytes.empty()) {
    ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  std::string all;
  char part[4096];
  for (;;) {
    const ssize_t got = ::recv(socket.get(), part, sizeof(part), 0);
    if (got < 0) {
      return errno == ECONNRESET ? all + "RST" : all + "error";
    }
    if (got == 0) {
      return all;
    }
    all.append(part, static_cast<size_t>(got));
  }
}

EgressTest::Event EgressTest::NextEvent() {
  const ::corral::egress::v1::Report report = NextReport();
  EXPECT_TRUE(report.has_event());
  return report.event();
}

void EgressTest::Update() {
  std::set<uint16_t> ports = PortsOf(start_.policy());
  for (const auto& descriptor : inner_.description.descriptors()) {
    ports.erase(static_cast<uint16_t>(descriptor.port()));
  }
  InnerSockets further;
  inside_.Run(
      [&] { further = *OpenListeners(ports, inner_.description.ipv6()); });
  ::corral::egress::v1::Update update;
  *update.mutable_policy() = start_.policy();
  *update.mutable_descriptors() = further.description.descriptors();
  std::vector<int> fds;
  for (const UniqueFd& socket : further.sockets) {
    fds.push_back(socket.get());
  }
  ASSERT_TRUE(SendMessage(process_.socket.get(), update, fds).ok());
  EXPECT_TRUE(NextReport().updated());
}

::corral::egress::v1::Report EgressTest::NextReport() {
  char bytes[4096];
  const ssize_t got = ::recv(process_.socket.get(), bytes, sizeof(bytes), 0);
  ::corral::egress::v1::Report report;
  EXPECT_GT(got, 0) << "corral-egress has ended";
  EXPECT_TRUE(report.ParseFromArray(bytes, static_cast<int>(got)));
  return report;
}

}  // namespace egress

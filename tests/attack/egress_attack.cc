#include "tests/attack/egress_attack.h"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "sandbox/storage/network_log.h"
#include "tests/attack/host_processes.h"

namespace tests {
namespace {

constexpr absl::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nwelcome\n";

// Returns true if the process is a child of a supervisor that this process has
// started.
bool IsOfThisProcess(pid_t pid) {
  const std::optional<HostProcess> process = FindProcess(pid);
  const std::optional<HostProcess> supervisor =
      process.has_value() ? FindProcess(process->parent) : std::nullopt;
  return supervisor.has_value() && supervisor->parent == ::getpid();
}

void Welcome(int socket) {
  ReadUntil(socket, "\r\n\r\n");
  SendAll(socket, kAnswer);
}

}  // namespace

EgressAttackTest::EgressAttackTest()
    : server_(Welcome), other_(Welcome, "127.0.0.2") {
  auto* const egress = spec().mutable_egress();
  egress->add_name_servers(names_.address());
  egress->mutable_policy()->add_private_networks("127.0.0.1");
  names_.Set("api.example", {"127.0.0.1"});
  Allow("api.example", server_.port(), Rule::WEB);
}

void EgressAttackTest::Allow(const std::string& host, uint16_t port,
                             Rule::Protocol protocol) {
  Rule* const rule = spec().mutable_egress()->mutable_policy()->add_rules();
  rule->set_host(host);
  rule->add_ports(port);
  rule->set_protocol(protocol);
}

std::string EgressAttackTest::Python(const std::string& program) {
  const std::string prelude = absl::StrCat(
      "import errno, socket, sys\n"
      "port = ",
      server_.port(),
      "\n"
      "host_port = ",
      other_.port(),
      "\n"
      "def attempt(f):\n"
      "    try:\n"
      "        print(f())\n"
      "    except socket.gaierror as e:\n"
      "        print('no such name')\n"
      "    except socket.timeout as e:\n"
      "        print('timeout')\n"
      "    except OSError as e:\n"
      "        print(errno.errorcode.get(e.errno, e))\n"
      "def dial(host, port, family=socket.AF_INET):\n"
      "    s = socket.socket(family, socket.SOCK_STREAM)\n"
      "    s.settimeout(20)\n"
      "    s.connect((host, port))\n"
      "    return s\n"
      "def say(host, port, text):\n"
      "    s = dial(host, port)\n"
      "    s.sendall(text.encode())\n"
      "    return s.recv(100)\n"
      "def datagram(host, port, family=socket.AF_INET):\n"
      "    s = socket.socket(family, socket.SOCK_DGRAM)\n"
      "    s.settimeout(20)\n"
      "    s.connect((host, port))\n"
      "    s.send(b'x' * 40)\n"
      "    return s.recv(100)\n");
  std::ofstream(sandbox_.workspace() + "/program.py") << prelude << program;
  return Shell("/usr/bin/python3 program.py");
}

std::vector<EgressAttackTest::Event> EgressAttackTest::Events(size_t count) {
  for (;;) {
    const auto events = sandbox::ReadNetworkLog(sandbox_.directory(), 0, 1000);
    EXPECT_TRUE(events.ok());
    if (events->size() >= count) {
      return *events;
    }
    ::sched_yield();
  }
}

std::vector<std::string> EgressAttackTest::Refusals() {
  std::vector<std::string> refusals;
  for (const Event& event : Events()) {
    refusals.push_back(
        absl::StrCat(Event::Reason_Name(event.reason()), " ", event.host()));
  }
  return refusals;
}

pid_t EgressAttackTest::AwaitProxy() {
  for (;;) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      pid_t pid = 0;
      std::string name;
      std::ifstream(entry.path() / "comm") >> name;
      if (name == "corral-egress" &&
          absl::SimpleAtoi(entry.path().filename().string(), &pid) &&
          IsOfThisProcess(pid)) {
        return pid;
      }
    }
  }
}

}  // namespace tests

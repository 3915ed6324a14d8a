// Ways out of a sandbox that may reach one host by name, judged by what arrives
// outside. The programs inside are those of the host.

#include "tests/attack/egress_attack.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/network/upstream_server.h"

namespace tests {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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
                   "attempt(lambda: socket.socket(socket.AF_INET, "
                   "socket.SOCK_DGRAM, 1))\n"
                   "attempt(lambda: socket.socket(socket.AF_INET6, "
                   "socket.SOCK_DGRAM, 58))\n"
                   "attempt(lambda: socket.socket(socket.AF_PACKET, "
                   "socket.SOCK_RAW, 0))\n"
                   "address = socket.gethostbyname('api.example')\n"
                   "attempt(lambda: datagram(address, port))\n"
                   "attempt(lambda: datagram(address, 443))\n"),
            "EPERM\nEPROTONOSUPPORT\nEPROTONOSUPPORT\nEPERM\nECONNREFUSED\n"
            "ECONNREFUSED\n");
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

TEST_F(EgressAttackTest, FollowsNoRedirectToAnotherHost) {
  if (::access("/usr/bin/curl", X_OK) != 0) {
    GTEST_SKIP() << "curl is not installed";
  }
  // Redirects to the host that the path names.
  UpstreamServer redirecting([&](int socket) {
    const std::string request = ReadUntil(socket, "\r\n\r\n");
    const std::string host = request.substr(5, request.find(" HTTP") - 5);
    SendAll(socket,
            absl::StrCat("HTTP/1.1 302 Found\r\nLocation: http://", host, ":",
                         other_.port(), "/\r\nContent-Length: 0\r\n\r\n"));
  });
  Allow("redirecting.example", redirecting.port(), Rule::WEB);
  names_.Set("redirecting.example", {"127.0.0.1"});
  names_.Set("other.example", {"127.0.0.2"});
  Create();
  for (const char* host : {"127.0.0.2", "other.example", "198.18.0.1"}) {
    EXPECT_EQ(
        Shell(absl::StrCat("curl -sL -m 20 -w '%{num_redirects}\\n' "
                           "http://redirecting.example:",
                           redirecting.port(), "/", host, " || echo failed")),
        "1\nfailed\n")
        << host;
  }
  EXPECT_EQ(other_.connections(), 0);
  EXPECT_THAT(names_.Questions(), Not(Contains("other.example")));
}

TEST_F(EgressAttackTest, FollowsNoNameToANewPrivateAddress) {
  UpstreamServer hidden(Echo, "127.0.0.2", server_.port());
  Create();
  const std::string program =
      "attempt(lambda: say('api.example', port, 'GET / HTTP/1.1\\r\\nHost: "
      "api.example\\r\\n\\r\\n')[:15])\n";
  EXPECT_EQ(Python(program), "b'HTTP/1.1 200 OK'\n");
  names_.Set("api.example", {"127.0.0.2"});
  EXPECT_EQ(Python(program), "ECONNRESET\n");
  EXPECT_EQ(hidden.connections(), 0);
  EXPECT_THAT(Refusals(), Contains("ADDRESS_NOT_ALLOWED api.example"));
}

TEST_F(EgressAttackTest, ReachesTheListenersThroughNoOtherInnerAddress) {
  Create();
  EXPECT_EQ(
      Python("def ask(host):\n"
             "    s = dial(host, port, socket.AF_INET6)\n"
             "    s.sendall(b'GET / HTTP/1.1\\r\\nHost: api.example\\r\\n"
             "\\r\\n')\n"
             "    return s.recv(100)\n"
             "for host in ('::1', 'fdc0:11a1::99', '::ffff:198.18.0.99',\n"
             "             'fdc0:11a1::ffff:fffe'):\n"
             "    attempt(lambda: ask(host))\n"
             "attempt(lambda: say('198.19.255.254', port, 'GET / HTTP/1.1"
             "\\r\\nHost: api.example\\r\\n\\r\\n'))\n"),
      "ECONNRESET\nECONNRESET\nECONNRESET\nECONNRESET\nECONNRESET\n");
  EXPECT_EQ(server_.connections(), 0);
}

TEST_F(EgressAttackTest, ReachesNoAbstractSocketOfTheHost) {
  const std::string name = absl::StrCat("corral-egress-attack-", ::getpid());
  const sandbox::UniqueFd listener(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)),
            0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  Create();
  EXPECT_EQ(Attack("abstract-connect " + name), "connect: ECONNREFUSED\n");
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
  Create();
  const std::string command = absl::StrCat(
      "curl -s --retry 20 --retry-all-errors --retry-delay 1 "
      "http://api.example:",
      server_.port(), "/");
  EXPECT_EQ(Shell(command), "welcome\n");
  EXPECT_EQ(::kill(AwaitProxy(), SIGKILL), 0);
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

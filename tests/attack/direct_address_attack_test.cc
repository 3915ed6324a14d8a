// Addresses that a program of a sandbox with an allow list dials without a
// name, judged by what arrives outside and by what is reported.

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/egress_attack.h"
#include "tests/network/upstream_server.h"

namespace tests {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

// The IPv4 addresses of the host's interfaces besides lo.
std::string HostAddresses() {
  std::string addresses;
  ifaddrs* all = nullptr;
  EXPECT_EQ(::getifaddrs(&all), 0);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
        (each->ifa_flags & IFF_LOOPBACK) == 0) {
      char text[INET_ADDRSTRLEN];
      ::inet_ntop(AF_INET,
                  &reinterpret_cast<sockaddr_in*>(each->ifa_addr)->sin_addr,
                  text, sizeof(text));
      absl::StrAppend(&addresses, text, " ");
    }
  }
  ::freeifaddrs(all);
  return addresses;
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

class DirectAddressAttackTest : public EgressAttackTest {
 protected:
  // Skips the test on a host without TUN devices, where these addresses have
  // no route.
  void SetUp() override {
    if (::access("/dev/net/tun", R_OK | W_OK) != 0) {
      GTEST_SKIP() << "this host has no TUN devices";
    }
  }
  // "host port TRANSPORT" for each address that was refused.
  std::vector<std::string> Direct(size_t count) {
    std::vector<std::string> direct;
    for (const Event& event : Events(count)) {
      if (event.kind() == Event::ADDRESS_REFUSED) {
        EXPECT_EQ(event.reason(), Event::DIRECT_ADDRESS);
        direct.push_back(
            absl::StrCat(event.host(), " ", event.port(), " ",
                         Event::Transport_Name(event.transport())));
      }
    }
    return direct;
  }

  // A server at all addresses of the host.
  UpstreamServer everywhere_{Echo, "0.0.0.0"};
};

TEST_F(DirectAddressAttackTest, RefusesEveryAddressAtOnceAndReportsIt) {
  Create();
  EXPECT_EQ(
      Python("import time\n"
             "start = time.monotonic()\n"
             "for host in ('8.8.8.8', '10.0.0.1', '172.16.0.1', '100.64.0.1',\n"
             "             '192.168.1.1', '169.254.169.254', '240.0.0.1'):\n"
             "    attempt(lambda: dial(host, 443))\n"
             "    attempt(lambda: datagram(host, 53))\n"
             "for host in ('2001:db8::1', 'fd00:1::1', 'fd00:ec2::254',\n"
             "             '64:ff9b::7f00:1'):\n"
             "    attempt(lambda: dial(host, 22, socket.AF_INET6))\n"
             "    attempt(lambda: datagram(host, 443, socket.AF_INET6))\n"
             "attempt(lambda: dial('::ffff:1.2.3.4', 1, socket.AF_INET6))\n"
             "print(time.monotonic() - start < 20)\n"),
      "EHOSTUNREACH\nEHOSTUNREACH\nEHOSTUNREACH\nEHOSTUNREACH\n"
      "EHOSTUNREACH\nEHOSTUNREACH\nEHOSTUNREACH\nEHOSTUNREACH\n"
      "EHOSTUNREACH\nEHOSTUNREACH\nEHOSTUNREACH\nEHOSTUNREACH\n"
      "EHOSTUNREACH\nEHOSTUNREACH\nEACCES\nEACCES\nEACCES\nEACCES\nEACCES\n"
      "EACCES\nEACCES\nEACCES\nEHOSTUNREACH\nTrue\n");
  std::vector<std::string> expected;
  for (const char* host : {"8.8.8.8", "10.0.0.1", "172.16.0.1", "100.64.0.1",
                           "192.168.1.1", "169.254.169.254", "240.0.0.1"}) {
    expected.push_back(absl::StrCat(host, " 443 TCP"));
    expected.push_back(absl::StrCat(host, " 53 UDP"));
  }
  for (const char* host :
       {"2001:db8::1", "fd00:1::1", "fd00:ec2::254", "64:ff9b::7f00:1"}) {
    expected.push_back(absl::StrCat(host, " 22 TCP"));
    expected.push_back(absl::StrCat(host, " 443 UDP"));
  }
  expected.emplace_back("1.2.3.4 1 TCP");
  EXPECT_THAT(Direct(expected.size()), ElementsAreArray(expected));
}

TEST_F(DirectAddressAttackTest, RefusesGroupsAndNeighbours) {
  Create();
  EXPECT_EQ(Python("index = socket.if_nametoindex('refuse0')\n"
                   "def scoped(host, kind):\n"
                   "    s = socket.socket(socket.AF_INET6, kind)\n"
                   "    s.settimeout(20)\n"
                   "    s.connect((host, 99, 0, index))\n"
                   "    s.send(b'x')\n"
                   "    return s.recv(1)\n"
                   "attempt(lambda: scoped('fe80::1', socket.SOCK_STREAM))\n"
                   "attempt(lambda: scoped('ff02::fb', socket.SOCK_DGRAM))\n"
                   "attempt(lambda: datagram('224.0.0.251', 5353))\n"
                   "attempt(lambda: dial('224.0.0.1', 80))\n"
                   "attempt(lambda: datagram('255.255.255.255', 67))\n"),
            "EACCES\nEACCES\nEHOSTUNREACH\nENETUNREACH\nEACCES\n");
  EXPECT_THAT(Direct(3), ElementsAre("fe80::1 99 TCP", "ff02::fb 99 UDP",
                                     "224.0.0.251 5353 UDP"));
}

TEST_F(DirectAddressAttackTest, ReachesNoServerOfTheHostByItsAddresses) {
  Create();
  const std::string tried = Python(
      absl::StrCat("for host in '", HostAddresses(), "'.split():\n",
                   "    for target in (host_port, port, ", everywhere_.port(),
                   "):\n"
                   "        attempt(lambda: dial(host, target))\n"
                   "        attempt(lambda: datagram(host, target))\n"));
  EXPECT_THAT(tried, Not(HasSubstr("socket")));
  EXPECT_EQ(everywhere_.connections(), 0);
  EXPECT_EQ(other_.connections(), 0);
  EXPECT_EQ(server_.connections(), 0);
}

TEST_F(DirectAddressAttackTest, LeavesTheDeviceOutOfReach) {
  spec().set_profile(sandbox::wire::SandboxSpec::NESTED);
  Create();
  // The second one makes it root of a user namespace of its own.
  for (const char* before : {"", "unshare --user --map-root-user "}) {
    for (const char* command :
         {"ip link set refuse0 down", "ip link delete refuse0",
          "ip addr add 8.8.8.8/32 dev refuse0", "ip route flush default",
          "ip route add 8.8.8.0/24 dev lo", "ip link set refuse0 netns $$"}) {
      EXPECT_THAT(Shell(absl::StrCat(before, command)),
                  HasSubstr("Operation not permitted"))
          << before << command;
    }
    EXPECT_THAT(Shell(absl::StrCat(before, "mknod /tmp/tun c 10 200")),
                HasSubstr("not permitted"));
    EXPECT_THAT(Shell(absl::StrCat(before, "ls /dev/net/tun")),
                HasSubstr("No such file"));
  }
  EXPECT_EQ(Python("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                   "s.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND\n"
                   "s.bind(('8.8.4.4', 9999))\n"
                   "attempt(lambda: s.sendto(b'x', ('8.8.8.8', 53)))\n"
                   "attempt(lambda: dial('8.8.8.8', 443))\n"),
            "ENETUNREACH\nEHOSTUNREACH\n");
  EXPECT_THAT(Direct(1), ElementsAre("8.8.8.8 443 TCP"));
  EXPECT_EQ(
      Shell("unshare --user --map-root-user --net sh -c 'ip link set lo up; "
            "/usr/bin/python3 program.py'"),
      "ENETUNREACH\nENETUNREACH\n");
}

TEST_F(DirectAddressAttackTest, ServesOthersDuringAFloodOfPackets) {
  Create();
  EXPECT_EQ(
      Python("import os, signal\n"
             "child = os.fork()\n"
             "if child == 0:\n"
             "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
             "    while True:\n"
             "        for i in range(1, 65536):\n"
             "            try:\n"
             "                s.sendto(b'x' * 1400, ('8.8.8.8', i))\n"
             "            except OSError:\n"
             "                pass\n"
             "for i in range(20):\n"
             "    print(say('api.example', port,\n"
             "              'GET / HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n'"
             ")[:15])\n"
             "os.kill(child, signal.SIGKILL)\n"),
      Repeated("b'HTTP/1.1 200 OK'\n", 20));
  // A burst of 200 refusals is reported, and then 50 each second. The ends of
  // the 20 connections by name are among the events too.
  EXPECT_GE(Direct(200).size(), 100U);
}

TEST_F(DirectAddressAttackTest, ReportsAgainAfterTheProxyWasKilled) {
  Create();
  EXPECT_EQ(::kill(AwaitProxy(), SIGKILL), 0);
  EXPECT_EQ(Python("attempt(lambda: dial('8.8.8.8', 443))\n"),
            "EHOSTUNREACH\n");
  EXPECT_THAT(Direct(1), ElementsAre("8.8.8.8 443 TCP"));
}

// Hides the device from all threads that begin from now on, one of which starts
// the supervisor. The last suite of this program, because nothing undoes it.
class NoDeviceAttackTest : public EgressAttackTest {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    if (::access("/dev/net", F_OK) == 0) {
      ASSERT_EQ(::mount("tmpfs", "/dev/net", "tmpfs", 0, nullptr), 0);
    }
  }
};

TEST_F(NoDeviceAttackTest, RefusesEveryAddressWithoutADeviceToo) {
  Create();
  EXPECT_EQ(Python("for host in ('8.8.8.8', '10.0.0.1', '169.254.169.254'):\n"
                   "    attempt(lambda: dial(host, 443))\n"
                   "    attempt(lambda: datagram(host, 53))\n"
                   "for host in ('2001:db8::1', '::ffff:8.8.8.8'):\n"
                   "    attempt(lambda: dial(host, 443, socket.AF_INET6))\n"
                   "attempt(lambda: socket.gethostbyname('other.example'))\n"),
            "ENETUNREACH\nENETUNREACH\nENETUNREACH\nENETUNREACH\nENETUNREACH\n"
            "ENETUNREACH\nENETUNREACH\nENETUNREACH\nno such name\n");
  const std::vector<Event> events = Events(1);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind(), Event::NAME_REFUSED);
}

}  // namespace
}  // namespace tests

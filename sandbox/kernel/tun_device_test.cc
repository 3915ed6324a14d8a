#include "sandbox/kernel/tun_device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/netlink.h"
#include "tests/failing_calls.h"
#include "tests/network/network_namespace.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

constexpr char kDevice[] = "test0";

std::string Bytes(int family, const char* text) {
  char bytes[sizeof(in6_addr)];
  EXPECT_EQ(::inet_pton(family, text, bytes), 1) << text;
  return {bytes, family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr)};
}

// Returns the errno of sending a datagram to an address, or 0, and the local
// address that the kernel chose.
int Send(int family, const char* address, std::string* source = nullptr) {
  const UniqueFd socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 target = {};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&target);
  target.sin6_family = static_cast<sa_family_t>(family);
  target.sin6_port = htons(7);
  const bool is_v4 = family == AF_INET;
  ::inet_pton(family, address,
              is_v4 ? static_cast<void*>(&v4->sin_addr) : &target.sin6_addr);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&target),
                is_v4 ? sizeof(*v4) : sizeof(target)) != 0 ||
      ::send(socket.get(), "x", 1, 0) != 1) {
    return errno;
  }
  socklen_t size = sizeof(target);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&target), &size);
  char text[INET6_ADDRSTRLEN];
  if (source != nullptr) {
    *source = ::inet_ntop(
        family, is_v4 ? static_cast<void*>(&v4->sin_addr) : &target.sin6_addr,
        text, sizeof(text));
  }
  return 0;
}

// Runs `test` in a namespace with a device, unless the host has none.
void WithDevice(const std::function<void(UniqueFd)>& test) {
  const tests::NetworkNamespace inside;
  absl::StatusOr<UniqueFd> device;
  inside.Run([&] { device = MakeTunDevice(kDevice); });
  if (absl::IsUnavailable(device.status())) {
    GTEST_SKIP() << device.status();
  }
  ASSERT_THAT(device.status(), IsOk());
  inside.Run([&] { test(*std::move(device)); });
}

// The packets that wait in the device.
std::vector<std::string> Take(const UniqueFd& device) {
  std::vector<std::string> packets;
  char packet[2048];
  ssize_t got;
  while ((got = ::read(device.get(), packet, sizeof(packet))) > 0) {
    packets.emplace_back(packet, static_cast<size_t>(got));
  }
  EXPECT_EQ(errno, EAGAIN);
  return packets;
}

TEST(TunDeviceTest, TakesAllForWhichThereIsNoOtherRoute) {
  WithDevice([](const UniqueFd& device) {
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.1")), IsOk());
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET6, "2001:db8::1")),
                IsOk());
    std::string source;
    EXPECT_EQ(Send(AF_INET, "8.8.8.8", &source), 0);
    EXPECT_EQ(source, "192.0.2.1");
    EXPECT_EQ(Send(AF_INET, "127.0.0.1"), 0);
    EXPECT_EQ(Send(AF_INET6, "2600::1", &source), 0);
    EXPECT_EQ(source, "2001:db8::1");
    EXPECT_EQ(Send(AF_INET6, "::1"), 0);
    const std::vector<std::string> packets = Take(device);
    ASSERT_EQ(packets.size(), 2U);
    EXPECT_EQ(packets[0].substr(16, 4), Bytes(AF_INET, "8.8.8.8"));
    EXPECT_EQ(packets[1].substr(24, 16), Bytes(AF_INET6, "2600::1"));
  });
}

TEST(TunDeviceTest, HasAnAddressWithoutANetwork) {
  WithDevice([](const UniqueFd&) {
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.1")), IsOk());
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request = {};
    std::string(kDevice).copy(request.ifr_name, IFNAMSIZ - 1);
    ASSERT_EQ(::ioctl(socket.get(), SIOCGIFNETMASK, &request), 0);
    EXPECT_EQ(
        reinterpret_cast<sockaddr_in*>(&request.ifr_netmask)->sin_addr.s_addr,
        0xffffffffU);
  });
}

TEST(TunDeviceTest, HasAnAddressThatNeedsNoDetectionOfDuplicates) {
  WithDevice([](const UniqueFd&) {
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET6, "2001:db8::1")),
                IsOk());
    // Each line has an address, the number of its device, the size of the
    // prefix, the scope, flags (IFA_F_*) and the device, the numbers in hex.
    std::ifstream lines(absl::StrCat("/proc/", ::getpid(), "/task/",
                                     ::syscall(SYS_gettid), "/net/if_inet6"));
    std::string address;
    std::string number;
    std::string prefix;
    std::string scope;
    unsigned flags = 0;
    std::string device;
    while (device != kDevice && lines >> address >> number >> prefix >> scope >>
                                    std::hex >> flags >> device) {
    }
    EXPECT_EQ(address, "20010db8000000000000000000000001");
    EXPECT_EQ(prefix, "80");
    EXPECT_NE(flags & IFA_F_NODAD, 0U);
  });
}

TEST(TunDeviceTest, GoesAfterEveryOtherRoute) {
  WithDevice([](const UniqueFd& device) {
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.1")), IsOk());
    // Another default route, which leads to the loopback interface.
    rtmsg route = {};
    route.rtm_family = AF_INET;
    route.rtm_table = RT_TABLE_MAIN;
    route.rtm_scope = RT_SCOPE_LINK;
    route.rtm_type = RTN_UNICAST;
    const unsigned loopback = ::if_nametoindex("lo");
    const uint32_t late = 0xfffffffe;
    ASSERT_EQ(RequestNetlink(
                  RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL,
                  absl::StrCat(BytesOf(route),
                               NetlinkAttribute(RTA_OIF, BytesOf(loopback)),
                               NetlinkAttribute(RTA_PRIORITY, BytesOf(late)))),
              0);
    EXPECT_EQ(Send(AF_INET, "8.8.8.8"), 0);
    EXPECT_TRUE(Take(device).empty());
  });
}

TEST(TunDeviceTest, GivesThePacketsThatAreWritten) {
  WithDevice([](const UniqueFd& device) {
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.1")), IsOk());
    const UniqueFd receiver(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    own.sin_port = htons(9);
    const timeval patience = {60, 0};
    ::setsockopt(receiver.get(), SOL_SOCKET, SO_RCVTIMEO, &patience,
                 sizeof(patience));
    ASSERT_EQ(
        ::bind(receiver.get(), reinterpret_cast<sockaddr*>(&own), sizeof(own)),
        0);
    // From 192.0.2.9:8 to 192.0.2.1:9, without a checksum of UDP.
    const std::string packet(
        "\x45\0\0\x1e\0\0\0\0\x40\x11\xf6\xc4\xc0\0\2\x09\xc0\0\2\1"
        "\0\x08\0\x09\0\x0a\0\0hi",
        30);
    ASSERT_EQ(::write(device.get(), packet.data(), packet.size()),
              static_cast<ssize_t>(packet.size()));
    char text[8];
    ASSERT_EQ(::recv(receiver.get(), text, sizeof(text), 0), 2);
    EXPECT_EQ(std::string(text, 2), "hi");
  });
}

TEST(TunDeviceTest, HasTheNamespaceSendNothingByItself) {
  WithDevice([](const UniqueFd& device) {
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.1")), IsOk());
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET6, "2001:db8::1")),
                IsOk());
    // The kernel would report its groups and look for routers at once.
    pollfd ready = {device.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 1500), 0);
  });
}

TEST(TunDeviceTest, EndsWithItsDescriptor) {
  WithDevice([](UniqueFd device) {
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.1")), IsOk());
    EXPECT_EQ(::fcntl(device.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_NE(::if_nametoindex(kDevice), 0U);
    device.Reset();
    EXPECT_EQ(::if_nametoindex(kDevice), 0U);
    EXPECT_EQ(Send(AF_INET, "8.8.8.8"), ENETUNREACH);
  });
}

TEST(TunDeviceTest, ReportsWhatTheKernelRefuses) {
  WithDevice([](const UniqueFd&) {
    // There is such a device.
    EXPECT_EQ(MakeTunDevice("lo").status().code(),
              absl::ErrnoToStatus(EINVAL, "").code());
    EXPECT_FALSE(RouteTheRestTo("other0", Bytes(AF_INET, "192.0.2.1")).ok());
    ASSERT_THAT(RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.1")), IsOk());
    EXPECT_TRUE(absl::IsAlreadyExists(
        RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.1"))));
    EXPECT_TRUE(absl::IsAlreadyExists(
        RouteTheRestTo(kDevice, Bytes(AF_INET, "192.0.2.2"))))
        << "one default route has the last place";
  });
}

TEST(TunDeviceTest, NamesTheStepThatTheKernelRefuses) {
  // A kernel without IPv6 has no automatic addresses to turn off.
  const std::pair<int, const char*> steps[] = {
      {EPERM, "turn automatic addresses off: "},
      {EAFNOSUPPORT, "bring it up: "}};
  const tests::NetworkNamespace inside;
  inside.Run([&] {
    for (const auto& [error, step] : steps) {
      absl::Status made;
      ASSERT_TRUE(tests::WithFailingCalls({SYS_socket}, error, [&made] {
        made = MakeTunDevice(kDevice).status();
      }));
      if (absl::IsUnavailable(made)) {
        GTEST_SKIP() << made;
      }
      EXPECT_THAT(std::string(made.message()), ::testing::StartsWith(step));
    }
  });
}

TEST(TunDeviceTest, SaysThatTheHostHasNoSuchDevices) {
  const tests::NetworkNamespace inside;
  inside.Run([] {
    // Other threads keep their mounts.
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("tmpfs", "/dev", "tmpfs", 0, nullptr), 0);
    const absl::Status missing = MakeTunDevice(kDevice).status();
    EXPECT_TRUE(absl::IsUnavailable(missing)) << missing;
    EXPECT_THAT(std::string(missing.message()),
                ::testing::HasSubstr("open /dev/net/tun: No such file"));
  });
}

}  // namespace
}  // namespace sandbox

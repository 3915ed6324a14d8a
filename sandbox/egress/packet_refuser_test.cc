#include "sandbox/egress/packet_refuser.h"

#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "corral/egress/v1/egress.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/timer.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/inner_sockets.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/egress/journal.h"
#include "sandbox/kernel/netlink.h"
#include "tests/closed_watches.h"
#include "tests/network/network_namespace.h"
#include "tests/status_matchers.h"

namespace egress {
namespace {

using sandbox::UniqueFd;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::tests::IsOk;
using Event = ::corral::egress::v1::Event;

class PacketRefuserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<InnerSockets> inner;
    absl::Status added;
    inside_.Run([&] {
      inner = OpenInnerSockets({});
      added = inner.ok() ? AddPacketDevice(&*inner) : inner.status();
    });
    if (absl::IsUnavailable(added)) {
      GTEST_SKIP() << added;
    }
    ASSERT_THAT(added, IsOk());
    device_ = std::move(inner->sockets.back());
    Begin();
  }
  void Begin() {
    refuser_ = std::make_unique<PacketRefuser>(
        loop_.get(), &journal_,
        UniqueFd(::fcntl(device_.get(), F_DUPFD_CLOEXEC, 0)));
  }

  // Opens a socket in the present namespace that is connected to an address.
  // Its operations do not hang.
  static UniqueFd Connect(int type, const std::string& address, uint16_t port) {
    sockaddr_storage target;
    const IpAddress parsed = *IpAddress::Parse(address);
    const socklen_t size = parsed.ToSocket(port, &target);
    if (absl::StartsWith(address, "fe80:") ||
        absl::StartsWith(address, "ff02:")) {
      reinterpret_cast<sockaddr_in6*>(&target)->sin6_scope_id =
          ::if_nametoindex("refuse0");
    }
    UniqueFd socket(::socket(parsed.family(), type | SOCK_CLOEXEC, 0));
    const timeval patience = {60, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience,
                 sizeof(patience));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience,
                 sizeof(patience));
    errno = 0;
    ::connect(socket.get(), reinterpret_cast<sockaddr*>(&target), size);
    return socket;
  }
  static int DialError(const std::string& address, uint16_t port) {
    const UniqueFd socket = Connect(SOCK_STREAM, address, port);
    return errno;
  }
  static void Send(const std::string& address, uint16_t port) {
    const UniqueFd socket = Connect(SOCK_DGRAM, address, port);
    EXPECT_EQ(::send(socket.get(), "x", 1, 0), 1) << address;
  }
  // The errno that comes back for a datagram.
  static int DatagramError(const std::string& address, uint16_t port) {
    const UniqueFd socket = Connect(SOCK_DGRAM, address, port);
    EXPECT_EQ(::send(socket.get(), "x", 1, 0), 1) << address;
    char byte;
    errno = 0;
    ::recv(socket.get(), &byte, 1, 0);
    return errno;
  }

  // Runs the loop while `program` runs inside.
  void RunWith(const std::function<void()>& program) {
    std::thread thread([&] {
      inside_.Run(program);
      loop_->Stop();
    });
    loop_->Run();
    thread.join();
  }
  // Runs the loop until there are as many events.
  void RunUntil(size_t events) {
    awaited_ = events;
    loop_->Run();
  }

  std::vector<std::string> events_;
  size_t awaited_ = SIZE_MAX;
  // Later than any event before, so that the journal leaves none out.
  absl::Time now_ = absl::UnixEpoch();
  const tests::NetworkNamespace inside_;
  const std::unique_ptr<sandbox::EventLoop> loop_ =
      *sandbox::EventLoop::Create();
  Journal journal_{[this](const Event& event) {
                     EXPECT_EQ(event.kind(), Event::ADDRESS_REFUSED);
                     EXPECT_EQ(event.reason(), Event::DIRECT_ADDRESS);
                     events_.push_back(absl::StrCat(
                         event.host(), " ", event.port(), " ",
                         Event::Transport_Name(event.transport())));
                     if (events_.size() == awaited_) {
                       loop_->Stop();
                     }
                     return true;
                   },
                   [this] { return now_ += absl::Seconds(1); }};
  UniqueFd device_;
  std::unique_ptr<PacketRefuser> refuser_;
};

TEST_F(PacketRefuserTest, RefusesConnectionsAtOnceAndReportsThem) {
  RunWith([] {
    EXPECT_EQ(DialError("8.8.8.8", 443), EHOSTUNREACH);
    EXPECT_EQ(DialError("10.0.0.1", 22), EHOSTUNREACH);
    EXPECT_EQ(DialError("169.254.169.254", 80), EHOSTUNREACH);
    EXPECT_EQ(DialError("0.0.0.1", 80), EHOSTUNREACH);
    EXPECT_EQ(DialError("240.0.0.1", 80), EHOSTUNREACH);
    EXPECT_EQ(DialError("2001:db8::1", 443), EACCES);
    EXPECT_EQ(DialError("fe80::1", 443), EACCES);
    EXPECT_EQ(DialError("::ffff:9.9.9.9", 443), EHOSTUNREACH);
  });
  EXPECT_THAT(events_, ElementsAre("8.8.8.8 443 TCP", "10.0.0.1 22 TCP",
                                   "169.254.169.254 80 TCP", "0.0.0.1 80 TCP",
                                   "240.0.0.1 80 TCP", "2001:db8::1 443 TCP",
                                   "fe80::1 443 TCP", "9.9.9.9 443 TCP"));
}

TEST_F(PacketRefuserTest, RefusesDatagramsAtOnceAndReportsThem) {
  RunWith([] {
    EXPECT_EQ(DatagramError("8.8.8.8", 53), EHOSTUNREACH);
    EXPECT_EQ(DatagramError("2001:db8::1", 443), EACCES);
    EXPECT_EQ(DatagramError("224.0.0.251", 5353), EHOSTUNREACH);
    EXPECT_EQ(DatagramError("ff02::fb", 5353), EACCES);
  });
  EXPECT_THAT(events_,
              ElementsAre("8.8.8.8 53 UDP", "2001:db8::1 443 UDP",
                          "224.0.0.251 5353 UDP", "ff02::fb 5353 UDP"));
}

TEST_F(PacketRefuserTest, LeavesABatchBehindInEachInterval) {
  constexpr size_t kCount = 3 * 64 + 1;
  inside_.Run([] {
    for (size_t i = 0; i < kCount; ++i) {
      Send("8.8.8.8", static_cast<uint16_t>(1 + i));
    }
  });
  size_t first = 0;
  loop_->WhenIdle([&] { first = events_.size(); });
  const absl::Time start = absl::Now();
  RunUntil(kCount);
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(30));
  // On a slow host, the loop has no idle moment before the second batch.
  EXPECT_GE(first, 64U);
}

TEST_F(PacketRefuserTest, CountsPacketsThatComeOneByOne) {
  constexpr size_t kCount = 3 * 64 + 1;
  const absl::Time start = absl::Now();
  for (size_t i = 0; i < kCount; ++i) {
    inside_.Run([&] { Send("8.8.8.8", static_cast<uint16_t>(1 + i)); });
    RunUntil(i + 1);
  }
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(30));
}

TEST_F(PacketRefuserTest, RefusesTheLargestPacketAndOneThatIsDivided) {
  RunWith([] {
    for (const size_t size : {1472, 1473, 9000}) {
      const UniqueFd socket =
          Connect(SOCK_DGRAM, "8.8.8.8", static_cast<uint16_t>(size));
      const int off = IP_PMTUDISC_DONT;
      ::setsockopt(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, &off,
                   sizeof(off));
      const std::string text(size, 'x');
      EXPECT_EQ(::send(socket.get(), text.data(), size, 0),
                static_cast<ssize_t>(size));
      char byte;
      EXPECT_EQ(::recv(socket.get(), &byte, 1, 0), -1);
      EXPECT_EQ(errno, EHOSTUNREACH);
    }
  });
  EXPECT_THAT(events_, ElementsAre("8.8.8.8 1472 UDP", "8.8.8.8 1473 UDP",
                                   "8.8.8.8 9000 UDP"));
}

TEST_F(PacketRefuserTest, HasPacketsSentFromAnAddressOfNoName) {
  inside_.Run([] {
    const auto source = [](const std::string& address) {
      const UniqueFd socket = Connect(SOCK_DGRAM, address, 1);
      sockaddr_storage own = {};
      socklen_t size = sizeof(own);
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size);
      return IpAddress::Of(own).ToString();
    };
    EXPECT_EQ(source("8.8.8.8"), "198.19.255.254");
    EXPECT_EQ(source("2001:db8::1"), "fdc0:11a1::ffff:fffe");
  });
}

TEST_F(PacketRefuserTest, NeitherReportsNorAnswersWhatTheKernelSends) {
  inside_.Run([] {
    const UniqueFd ping(
        ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
    sockaddr_storage target;
    const socklen_t size = IpAddress::Parse("8.8.8.8")->ToSocket(0, &target);
    const std::string echo("\x08\0\xf7\xfe\0\1\0\0", 8);
    EXPECT_EQ(::sendto(ping.get(), echo.data(), echo.size(), 0,
                       reinterpret_cast<sockaddr*>(&target), size),
              static_cast<ssize_t>(echo.size()));
    char answer[128];
    EXPECT_EQ(::recv(ping.get(), answer, sizeof(answer), MSG_DONTWAIT), -1);
    Send("8.8.8.8", 1);
  });
  RunUntil(1);
  EXPECT_THAT(events_, ElementsAre("8.8.8.8 1 UDP"));
}

TEST_F(PacketRefuserTest, AnswersASenderWithAFalseSourceOnlyOnce) {
  inside_.Run([] {
    // A program without privileges cannot do that. From 9.9.9.9:2 to 8.8.8.8:1.
    const UniqueFd raw(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
    sockaddr_storage target;
    const socklen_t size = IpAddress::Parse("8.8.8.8")->ToSocket(0, &target);
    const std::string packet(
        "\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x09\x09\x09\x09\x08\x08\x08\x08"
        "\0\2\0\1\0\x08\0\0",
        28);
    EXPECT_EQ(::sendto(raw.get(), packet.data(), packet.size(), 0,
                       reinterpret_cast<sockaddr*>(&target), size),
              static_cast<ssize_t>(packet.size()));
  });
  RunUntil(1);
  bool idle = false;
  loop_->WhenIdle([&] {
    idle = true;
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_TRUE(idle);
  EXPECT_THAT(events_, ElementsAre("8.8.8.8 1 UDP"));
}

TEST_F(PacketRefuserTest, RestsWhenTheDeviceIsRemoved) {
  inside_.Run([] { Send("8.8.8.8", 1); });
  RunUntil(1);
  inside_.Run([] {
    ifinfomsg link = {};
    link.ifi_index = static_cast<int>(::if_nametoindex("refuse0"));
    EXPECT_EQ(sandbox::RequestNetlink(RTM_DELLINK, 0, sandbox::BytesOf(link)),
              0);
  });
  bool idle = false;
  loop_->WhenIdle([&] { idle = true; });
  // Longer than the interval that the packet began.
  const sandbox::Timer end(loop_.get(), 2 * PacketRefuser::kInterval,
                           [this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_TRUE(idle);
}

TEST_F(PacketRefuserTest, CanBeReplaced) {
  refuser_.reset();
  inside_.Run([] { Send("8.8.8.8", 1); });
  loop_->WhenIdle([this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_THAT(events_, IsEmpty());
  Begin();
  RunUntil(1);
}

TEST(PacketRefuserEndTest, ForgetsItsDevice) {
  const auto loop = *sandbox::EventLoop::Create();
  Journal journal([](const Event&) { return true; });
  int ends[2];
  ASSERT_EQ(
      ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
      0);
  const UniqueFd kernel(ends[0]);
  {
    const PacketRefuser refuser(loop.get(), &journal, UniqueFd(ends[1]));
    ASSERT_EQ(::send(kernel.get(), "x", 1, 0), 1);
    loop->WhenIdle([&] { loop->Stop(); });
    loop->Run();
  }
  tests::ExpectNoClosedWatch(loop.get());
}

}  // namespace
}  // namespace egress

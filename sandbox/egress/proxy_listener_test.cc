// The sockets of a way out on the loop of the test.

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/ip_address.h"
#include "sandbox/egress/journal.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/proxy.h"
#include "tests/closed_watches.h"
#include "tests/failing_calls.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace egress {
namespace {

using ::sandbox::UniqueFd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

UniqueFd Duplicate(const UniqueFd& fd) {
  return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
}

bool Blocks(const UniqueFd& fd) {
  return (::fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0;
}

class ProxyListenerTest : public ::testing::Test {
 protected:
  ProxyListenerTest() {
    start_.add_descriptors()->set_kind(wire::Descriptor::NAMES);
    start_.add_descriptors()->set_kind(wire::Descriptor::DNS_UDP);
    start_.add_descriptors()->set_kind(wire::Descriptor::DNS_TCP);
    auto* const listener = start_.add_descriptors();
    listener->set_kind(wire::Descriptor::LISTENER);
    listener->set_port(80);
    start_.mutable_policy()->mutable_limits()->set_connections(1);
  }

  // A socket that blocks and listens on the host's loopback.
  static UniqueFd Listen(sockaddr_storage* name) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    socklen_t size = IpAddress::Parse("127.0.0.1")->ToSocket(0, name);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(name), size), 0);
    EXPECT_EQ(::listen(socket.get(), 16), 0);
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(name), &size);
    return socket;
  }
  // Makes the proxy, and keeps duplicates of its sockets.
  absl::Status Create() {
    Proxy::Descriptors descriptors;
    descriptors.push_back(*NameTable::MakeFile());
    descriptors.emplace_back(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage dns = {};
    descriptors.push_back(Listen(&dns));
    descriptors.push_back(Listen(&name_));
    for (size_t i = 1; i < descriptors.size(); ++i) {
      sockets_.push_back(Duplicate(descriptors[i]));
    }
    absl::StatusOr<std::unique_ptr<Proxy>> made =
        Proxy::Create(loop_.get(), &journal_, start_, std::move(descriptors));
    if (!made.ok()) {
      return made.status();
    }
    proxy_ = *std::move(made);
    return absl::OkStatus();
  }
  static UniqueFd Connect(const sockaddr_storage& name) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name),
                        sizeof(sockaddr_in)),
              0);
    return socket;
  }
  // Runs the loop until nothing is ready.
  void Settle() {
    loop_->WhenIdle([this] { loop_->Stop(); });
    loop_->Run();
  }
  // Runs the loop until there are as many events.
  void RunUntil(size_t events) {
    while (events_.size() < events) {
      loop_->Run();
    }
  }

  wire::Start start_;
  const std::unique_ptr<sandbox::EventLoop> loop_ =
      *sandbox::EventLoop::Create();
  std::vector<std::string> events_;
  // Later than any event before, so that the journal leaves none out.
  absl::Time now_ = absl::UnixEpoch();
  Journal journal_{
      [this](const wire::Event& event) {
        events_.push_back(absl::StrCat(wire::Event::Reason_Name(event.reason()),
                                       " ", event.host(), " ", event.port()));
        loop_->Stop();
        return true;
      },
      [this] { return now_ += absl::Hours(1); }};
  sockaddr_storage name_ = {};
  std::vector<UniqueFd> sockets_;
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(ProxyListenerTest, RefusesConnectionsToAnAddressOfTheHost) {
  ASSERT_THAT(Create(), IsOk());
  for (size_t i = 1; i <= 3; ++i) {
    const UniqueFd client = Connect(name_);
    RunUntil(i);
    EXPECT_EQ(events_.back(), "UNKNOWN_ADDRESS 127.0.0.1 80");
    // It is gone before the next one comes: there is room for one.
    Settle();
  }
}

TEST_F(ProxyListenerTest, TakesItsDescriptorsInAnyOrder) {
  // The last one first.
  start_.mutable_descriptors()->SwapElements(0, 3);
  start_.mutable_descriptors()->SwapElements(1, 2);
  Proxy::Descriptors descriptors;
  descriptors.push_back(Listen(&name_));
  sockaddr_storage dns = {};
  descriptors.push_back(Listen(&dns));
  descriptors.emplace_back(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  descriptors.push_back(*NameTable::MakeFile());
  const auto made =
      Proxy::Create(loop_.get(), &journal_, start_, std::move(descriptors));
  ASSERT_THAT(made.status(), IsOk());
  const UniqueFd client = Connect(name_);
  RunUntil(1);
  EXPECT_THAT(events_, ElementsAre("UNKNOWN_ADDRESS 127.0.0.1 80"));
}

TEST_F(ProxyListenerTest, MakesItsSocketsNonBlocking) {
  ASSERT_THAT(Create(), IsOk());
  for (const UniqueFd& socket : sockets_) {
    EXPECT_FALSE(Blocks(socket));
  }
  sockaddr_storage name = {};
  UniqueFd further = Listen(&name);
  const UniqueFd same = Duplicate(further);
  ASSERT_TRUE(Blocks(same));
  wire::Update update;
  update.add_descriptors()->set_port(81);
  Proxy::Descriptors descriptors;
  descriptors.push_back(std::move(further));
  ASSERT_THAT(proxy_->Update(update, std::move(descriptors)), IsOk());
  EXPECT_FALSE(Blocks(same));
  const UniqueFd client = Connect(name);
  RunUntil(1);
  EXPECT_THAT(events_, ElementsAre("UNKNOWN_ADDRESS 127.0.0.1 81"));
}

TEST_F(ProxyListenerTest, FailsIfASocketWouldBlock) {
  absl::Status created;
  const bool ran = tests::WithFailingCalls({SYS_fcntl}, EPERM, [&] {
    Proxy::Descriptors descriptors;
    descriptors.push_back(*NameTable::MakeFile());
    for (int i = 0; i < 3; ++i) {
      descriptors.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    }
    created =
        Proxy::Create(loop_.get(), &journal_, start_, std::move(descriptors))
            .status();
  });
  if (!ran) {
    GTEST_SKIP() << "this host allows no filter";
  }
  EXPECT_THAT(created, StatusIs(absl::StatusCode::kPermissionDenied,
                                HasSubstr("set O_NONBLOCK on a socket")));
}

TEST_F(ProxyListenerTest, RefusesAnUpdateThatIsWrong) {
  ASSERT_THAT(Create(), IsOk());
  wire::Update update;
  Proxy::Descriptors one;
  one.emplace_back();
  EXPECT_THAT(proxy_->Update(update, std::move(one)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "1 descriptors came instead of 0"));
  update.mutable_policy()->add_rules()->set_host("a.example");
  EXPECT_THAT(proxy_->Update(update, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("at least one port")));
  update.Clear();
  update.add_descriptors()->set_port(81);
  Proxy::Descriptors none;
  none.emplace_back();
  EXPECT_THAT(proxy_->Update(update, std::move(none)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("set O_NONBLOCK on a listener")));
}

TEST_F(ProxyListenerTest, PausesWhileTheProcessHasNoDescriptorLeft) {
  ASSERT_THAT(Create(), IsOk());
  // UBSan opens a pipe to look at the first object of a class.
  Settle();
  const UniqueFd client = Connect(name_);
  pollfd ready = {sockets_.back().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, -1), 1);
  {
    const tests::NoDescriptors none;
    Settle();
    EXPECT_THAT(events_, ElementsAre());
  }
  // It begins again by itself.
  RunUntil(1);
  EXPECT_THAT(events_, ElementsAre("UNKNOWN_ADDRESS 127.0.0.1 80"));
}

TEST_F(ProxyListenerTest, PausesWhileTheHostHasNoRoomForAConnection) {
  size_t connections = 0;
  for (const int error : {ENFILE, ENOMEM, ENOBUFS}) {
    sockets_.clear();
    ASSERT_THAT(Create(), IsOk());
    const UniqueFd client = Connect(name_);
    pollfd ready = {sockets_.back().get(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, -1), 1);
    if (!tests::WithFailingCalls({SYS_accept4}, error, [&] { Settle(); })) {
      GTEST_SKIP() << "this host allows no filter";
    }
    EXPECT_EQ(events_.size(), connections) << error;
    RunUntil(++connections);
    Settle();
  }
}

TEST_F(ProxyListenerTest, ForgetsItsSocketsAtItsEnd) {
  ASSERT_THAT(Create(), IsOk());
  sockets_.clear();
  proxy_.reset();
  tests::ExpectNoClosedWatch(loop_.get());
}

}  // namespace
}  // namespace egress

#include "sandbox/egress/resolver.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/egress/ip_address.h"
#include "tests/closed_watches.h"
#include "tests/fakes/fake_timers.h"
#include "tests/network/name_server.h"
#include "tests/status_matchers.h"

namespace egress {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::tests::StatusIs;

class ResolverTest : public ::testing::Test {
 protected:
  std::unique_ptr<Resolver> Create(const std::string& server) {
    return *Resolver::Create(loop_.get(), loop_.get(), {server});
  }
  // The addresses, joined by spaces, or the code of the error.
  std::string Resolve(Resolver& resolver, const std::string& name) {
    std::string text;
    resolver.Resolve(name,
                     [&](absl::StatusOr<std::vector<IpAddress>> addresses) {
                       text = Text(addresses);
                       loop_->Stop();
                     });
    loop_->Run();
    return text;
  }
  static std::string Text(
      const absl::StatusOr<std::vector<IpAddress>>& addresses) {
    if (!addresses.ok()) {
      return absl::StatusCodeToString(addresses.status().code());
    }
    return absl::StrJoin(*addresses, " ",
                         [](std::string* out, const IpAddress& address) {
                           out->append(address.ToString());
                         });
  }

  tests::NameServer server_;
  const std::unique_ptr<sandbox::EventLoop> loop_ =
      *sandbox::EventLoop::Create();
};

TEST_F(ResolverTest, FindsAddressesOfBothFamiliesIpv4First) {
  server_.Set("a.example",
              {"2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"});
  const auto resolver = Create(server_.address());
  EXPECT_EQ(Resolve(*resolver, "a.example"),
            "192.0.2.1 192.0.2.2 2001:db8::1 2001:db8::2");
  EXPECT_EQ(Resolve(*resolver, "a.example"),
            "192.0.2.1 192.0.2.2 2001:db8::1 2001:db8::2");
}

TEST_F(ResolverTest, TakesSixtyFourAddressesAtMost) {
  std::vector<std::string> addresses;
  for (int i = 0; i < 64; ++i) {
    addresses.push_back(absl::StrCat("192.0.2.", i));
  }
  server_.Set("a.example", addresses);
  addresses.push_back("192.0.2.64");
  server_.Set("b.example", addresses);
  const auto resolver = Create(server_.address());
  for (const char* name : {"a.example", "b.example"}) {
    const std::string found = Resolve(*resolver, name);
    EXPECT_THAT(found, HasSubstr("192.0.2.63")) << name;
    EXPECT_THAT(found, Not(HasSubstr("192.0.2.64"))) << name;
  }
}

TEST_F(ResolverTest, ReportsNamesWithoutAddresses) {
  server_.Set("empty.example", {});
  const auto resolver = Create(server_.address());
  EXPECT_EQ(Resolve(*resolver, "empty.example"), "NOT_FOUND");
  EXPECT_EQ(Resolve(*resolver, "nothing.example"), "NOT_FOUND");
  // The host's search domains do not apply.
  EXPECT_EQ(Resolve(*resolver, "short"), "NOT_FOUND");
  EXPECT_THAT(
      server_.Questions(),
      AllOf(Not(IsEmpty()), Each(::testing::AnyOf(
                                "empty.example", "nothing.example", "short"))));
}

TEST_F(ResolverTest, KnowsNoAliases) {
  const std::string file = ::testing::TempDir() + "/aliases";
  std::ofstream(file) << "short a.example\n";
  ::setenv("HOSTALIASES", file.c_str(), 1);
  server_.Set("a.example", {"192.0.2.1"});
  const auto resolver = Create(server_.address());
  EXPECT_EQ(Resolve(*resolver, "short"), "NOT_FOUND");
  ::unsetenv("HOSTALIASES");
}

TEST_F(ResolverTest, ReportsThatNoServerAnswers) {
  // Nobody listens there.
  const auto resolver = Create("127.0.0.9:9");
  EXPECT_EQ(Resolve(*resolver, "a.example"), "UNAVAILABLE");
}

TEST_F(ResolverTest, AsksAServerThatFailsThreeTimes) {
  const sandbox::UniqueFd failing(
      ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage name;
  socklen_t size = IpAddress::Parse("127.0.0.1")->ToSocket(0, &name);
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  ASSERT_EQ(::bind(failing.get(), address, size), 0);
  ::getsockname(failing.get(), address, &size);
  std::map<int, int> questions;  // by their type
  loop_->Watch(failing.get(), EPOLLIN, [&](uint32_t) {
    std::string message(512, '\0');
    const ssize_t got = ::recvfrom(failing.get(), message.data(),
                                   message.size(), 0, address, &size);
    ASSERT_GT(got, 16);
    message.resize(static_cast<size_t>(got));
    ++questions[message[message.size() - 3]];
    message[2] |= '\x80';  // an answer
    message[3] = '\x02';   // the server failed
    ::sendto(failing.get(), message.data(), message.size(), 0, address, size);
  });
  const auto resolver = Create(absl::StrCat(
      "127.0.0.1:", ntohs(reinterpret_cast<sockaddr_in*>(address)->sin_port)));
  EXPECT_EQ(Resolve(*resolver, "a.example"), "UNAVAILABLE");
  EXPECT_EQ(questions, (std::map<int, int>{{1, 3}, {28, 3}}));
  loop_->Unwatch(failing.get());
}

TEST_F(ResolverTest, AsksAServerAgainThatDoesNotAnswer) {
  const sandbox::UniqueFd slow(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage name;
  socklen_t size = IpAddress::Parse("127.0.0.1")->ToSocket(0, &name);
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  ASSERT_EQ(::bind(slow.get(), address, size), 0);
  ::getsockname(slow.get(), address, &size);
  const auto resolver = Create(absl::StrCat(
      "127.0.0.1:", ntohs(reinterpret_cast<sockaddr_in*>(address)->sin_port)));
  std::map<int, int> questions;  // by their type
  loop_->Watch(slow.get(), EPOLLIN, [&](uint32_t) {
    std::string message(512, '\0');
    const ssize_t got = ::recvfrom(slow.get(), message.data(), message.size(),
                                   0, address, &size);
    ASSERT_GT(got, 16);
    message.resize(static_cast<size_t>(got));
    if (++questions[message[message.size() - 3]] == 2) {
      message[2] |= '\x80';  // an answer
      message[3] = '\x03';   // there is no such name
      ::sendto(slow.get(), message.data(), message.size(), 0, address, size);
    }
  });
  EXPECT_EQ(Resolve(*resolver, "a.example"), "NOT_FOUND");
  EXPECT_EQ(questions, (std::map<int, int>{{1, 2}, {28, 2}}));
  loop_->Unwatch(slow.get());
}

TEST_F(ResolverTest, HasATimerOnlyWhileItWaitsForAServer) {
  server_.Set("a.example", {"192.0.2.1"});
  tests::FakeTimers timers;
  const auto resolver =
      *Resolver::Create(loop_.get(), &timers, {server_.address()});
  resolver->Resolve("a.example", [this](const auto&) { loop_->Stop(); });
  EXPECT_EQ(timers.size(), 1U);
  loop_->Run();
  EXPECT_EQ(timers.size(), 0U);
}

TEST_F(ResolverTest, EndsCallsThatAreDueWhenItIsDestroyed) {
  auto resolver = Create(server_.address());
  std::string text;
  resolver->Resolve("a.example",
                    [&](const absl::StatusOr<std::vector<IpAddress>>& found) {
                      text = Text(found);
                    });
  EXPECT_EQ(text, "");
  resolver.reset();
  EXPECT_EQ(text, "UNAVAILABLE");
  // Neither a timer nor a watch is left.
  tests::ExpectNoClosedWatch(loop_.get());
  loop_->WhenIdle([this] { loop_->Stop(); });
  loop_->Run();
}

TEST_F(ResolverTest, RefusesServersThatAreNoAddresses) {
  EXPECT_THAT(
      Resolver::Create(loop_.get(), loop_.get(), {"127.0.0.1", "x"}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("name servers '127.0.0.1,x'")));
  EXPECT_TRUE(Resolver::Create(loop_.get(), loop_.get(), {}).ok());
}

}  // namespace
}  // namespace egress

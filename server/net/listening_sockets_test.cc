#include "server/net/listening_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/listen_address.h"
#include "tests/network/loopback.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::sandbox::UniqueFd;
using ::testing::_;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

std::vector<UniqueFd> Duplicate(const ListeningSockets& sockets) {
  std::vector<UniqueFd> copies;
  for (const int fd : sockets.fds()) {
    copies.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }
  return copies;
}

class ListeningSocketsTest : public ::testing::Test {
 protected:
  ListeningSocketsTest() {
    char name[] = "/tmp/corral_sockets_XXXXXX";
    directory_ = ::mkdtemp(name);
    address_.socket_path = directory_ + "/sock";
  }
  ~ListeningSocketsTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  ListenAddress address_;
};

TEST_F(ListeningSocketsTest, MakesASocketThatOnlyItsOwnerMayUse) {
  {
    const auto sockets = ListeningSockets::Open(address_);
    ASSERT_THAT(sockets, IsOk());
    struct stat info = {};
    ASSERT_EQ(::stat(address_.socket_path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600);
    EXPECT_THAT(ListeningSockets::Open(address_).status(),
                StatusIs(absl::StatusCode::kAlreadyExists, _));
  }
  EXPECT_FALSE(std::filesystem::exists(address_.socket_path));
}

TEST_F(ListeningSocketsTest, RefusesToAdoptASocketOfAnotherAddress) {
  auto sockets = ListeningSockets::Open(address_);
  ASSERT_THAT(sockets, IsOk());
  ListenAddress other;
  other.socket_path = directory_ + "/other";
  EXPECT_THAT(ListeningSockets::Adopt(other, Duplicate(*sockets)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_FALSE(std::filesystem::exists(address_.socket_path));
}

TEST_F(ListeningSocketsTest, RefusesToAdoptASocketWhoseFileIsGone) {
  auto sockets = ListeningSockets::Open(address_);
  ASSERT_THAT(sockets, IsOk());
  std::filesystem::remove(address_.socket_path);
  EXPECT_THAT(ListeningSockets::Adopt(address_, Duplicate(*sockets)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(ListeningSocketsTest, ListensOnAPort) {
  // A port that the kernel chose a moment ago.
  ListenAddress address;
  {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any = {};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&any), size), 0);
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&any), &size);
    address.host_and_port = absl::StrCat("127.0.0.1:", ntohs(any.sin_port));
  }
  const auto sockets = ListeningSockets::Open(address);
  ASSERT_THAT(sockets, IsOk());
  EXPECT_THAT(ListeningSockets::Open(address).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, _));
  EXPECT_THAT(ListeningSockets::Adopt(address, Duplicate(*sockets)), IsOk());
  ListenAddress other;
  other.host_and_port = "127.0.0.1:1";
  EXPECT_THAT(ListeningSockets::Adopt(other, Duplicate(*sockets)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(ListeningSocketsTest, ListensOnAnAddressInBrackets) {
  ListenAddress address;
  address.host_and_port = "[127.0.0.1]:0";
  EXPECT_THAT(ListeningSockets::Open(address), IsOk());
}

TEST_F(ListeningSocketsTest, RefusesAnUnknownHost) {
  ListenAddress address;
  address.host_and_port = "no such host:1";
  EXPECT_THAT(ListeningSockets::Open(address).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST_F(ListeningSocketsTest, ReplacesAFileOnWhichNobodyListens) {
  const UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  address_.socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(stale.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)),
            0);
  EXPECT_THAT(ListeningSockets::Open(address_), IsOk());
}

TEST_F(ListeningSocketsTest, ReplacesNoFileThatIsNotASocket) {
  { std::ofstream file(address_.socket_path); }
  EXPECT_THAT(ListeningSockets::Open(address_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is not a socket")));
  EXPECT_TRUE(std::filesystem::exists(address_.socket_path));
}

TEST_F(ListeningSocketsTest, ReplacesNoServerWhoseQueueIsFull) {
  const UniqueFd busy(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  address_.socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* name = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(busy.get(), name, sizeof(address)), 0);
  ASSERT_EQ(::listen(busy.get(), 0), 0);
  std::vector<UniqueFd> clients;
  do {
    clients.emplace_back(
        ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  } while (::connect(clients.back().get(), name, sizeof(address)) == 0);
  ASSERT_EQ(errno, EAGAIN);
  EXPECT_THAT(ListeningSockets::Open(address_).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, _));
}

TEST_F(ListeningSocketsTest, MakesAMissingDirectoryForItsOwnerAlone) {
  address_.socket_path = directory_ + "/run/sock";
  EXPECT_THAT(ListeningSockets::Open(address_), IsOk());
  struct stat info = {};
  ASSERT_EQ(::stat((directory_ + "/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  address_.socket_path = directory_ + "/run/missing/sub/sock";
  EXPECT_THAT(ListeningSockets::Open(address_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("mkdir(")));
}

TEST_F(ListeningSocketsTest, AdoptsTheSocketOfItsOwnAddress) {
  auto sockets = ListeningSockets::Open(address_);
  ASSERT_THAT(sockets, IsOk());
  ListeningSockets::Discard(address_, Duplicate(*sockets));
  EXPECT_TRUE(std::filesystem::exists(address_.socket_path));
  const auto adopted = ListeningSockets::Adopt(address_, Duplicate(*sockets));
  ASSERT_THAT(adopted, IsOk());
  EXPECT_EQ(adopted->fds().size(), 1);
  EXPECT_THAT(ListeningSockets::Adopt(address_, {}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

int OptionOf(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(::getsockopt(socket, level, name, &value, &size), 0);
  return value;
}

TEST_F(ListeningSocketsTest, ConnectionsInheritTheOptionsForTcp) {
  ListenAddress address;
  address.host_and_port = "localhost:0";
  const auto sockets = ListeningSockets::Open(address);
  ASSERT_THAT(sockets, IsOk());
  for (const int socket : sockets->fds()) {
    EXPECT_EQ(OptionOf(socket, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(OptionOf(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 20'000);
    EXPECT_EQ(OptionOf(socket, SOL_SOCKET, SO_REUSEADDR), 1);
  }
}

TEST_F(ListeningSocketsTest, ReplacesNoSocketOfAnotherKind) {
  const UniqueFd datagrams(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  address_.socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(datagrams.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)),
            0);
  EXPECT_FALSE(ListeningSockets::Open(address_).ok());
  EXPECT_TRUE(std::filesystem::exists(address_.socket_path));
}

TEST_F(ListeningSocketsTest, RefusesToAdoptASocketWhoseFileWasReplaced) {
  auto sockets = ListeningSockets::Open(address_);
  ASSERT_THAT(sockets, IsOk());
  std::filesystem::remove(address_.socket_path);
  { std::ofstream file(address_.socket_path); }
  EXPECT_THAT(ListeningSockets::Adopt(address_, Duplicate(*sockets)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_TRUE(std::filesystem::exists(address_.socket_path));
}

TEST_F(ListeningSocketsTest, AdoptsNoSocketsOfWhichOneListensElsewhere) {
  ListenAddress address;
  address.host_and_port = absl::StrCat("127.0.0.1:", tests::UnusedPort());
  const auto sockets = ListeningSockets::Open(address);
  ASSERT_THAT(sockets, IsOk());
  ListenAddress other;
  other.host_and_port = absl::StrCat("127.0.0.1:", tests::UnusedPort());
  const auto others = ListeningSockets::Open(other);
  ASSERT_THAT(others, IsOk());
  std::vector<UniqueFd> both = Duplicate(*sockets);
  both.push_back(std::move(Duplicate(*others)[0]));
  EXPECT_THAT(ListeningSockets::Adopt(address, std::move(both)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  // Nor those of an address of another kind, or of one that is unknown by now.
  EXPECT_THAT(ListeningSockets::Adopt(address_, Duplicate(*sockets)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  address.host_and_port = "no such host:1";
  EXPECT_THAT(ListeningSockets::Adopt(address, Duplicate(*sockets)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(ListeningSocketsTest, APortIsInUseIfOneAddressOfTheHostIs) {
  const tests::LoopbackListener server = tests::ListenOnLoopback();
  ListenAddress address;
  // It may be at ::1, too.
  address.host_and_port = absl::StrCat("localhost:", server.port);
  EXPECT_THAT(ListeningSockets::Open(address).status(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr(address.host_and_port)));
}

}  // namespace
}  // namespace server

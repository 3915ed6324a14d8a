#include "server/net/acceptor.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/listen_address.h"
#include "server/net/listening_sockets.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::sandbox::UniqueFd;
using ::tests::IsOk;

// Closes each connection that it gets, which its client sees.
class Closer final : public grpc::experimental::ExternalConnectionAcceptor {
 public:
  void HandleNewConnection(NewConnectionParameters* connection) override {
    ::close(connection->fd);
  }
};

// Has another client come for each that it gets, so that the queue is never
// empty.
class Multiplier final : public grpc::experimental::ExternalConnectionAcceptor {
 public:
  explicit Multiplier(std::function<UniqueFd()> connect)
      : connect_(std::move(connect)) {}
  void HandleNewConnection(NewConnectionParameters* connection) override {
    client_ = connect_();
    ::close(connection->fd);
  }

 private:
  const std::function<UniqueFd()> connect_;
  UniqueFd client_;
};

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    char name[] = "/tmp/corral_acceptor_XXXXXX";
    directory_ = ::mkdtemp(name);
    ListenAddress address;
    address.socket_path = Path();
    sockets_ = std::make_unique<ListeningSockets>(
        ListeningSockets::Open(address).value());
    acceptor_ =
        std::make_unique<Acceptor>(sockets_->fds(), std::make_unique<Closer>());
  }
  ~AcceptorTest() override {
    acceptor_.reset();
    sockets_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string Path() const { return directory_ + "/sock"; }

  UniqueFd Connect() const {
    UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    Path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
              0);
    return client;
  }

  static bool WasTaken(const UniqueFd& client, int patience_millis) {
    pollfd end = {client.get(), POLLIN, 0};
    return ::poll(&end, 1, patience_millis) > 0;
  }

  std::string directory_;
  std::unique_ptr<ListeningSockets> sockets_;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, LeavesConnectionsInTheQueueWhileItIsStopped) {
  const UniqueFd early = Connect();
  ASSERT_THAT(acceptor_->Start(), IsOk());
  EXPECT_TRUE(WasTaken(early, -1));
  acceptor_->Stop();
  acceptor_->Stop();
  const UniqueFd late = Connect();
  EXPECT_FALSE(WasTaken(late, 0));
  ASSERT_THAT(acceptor_->Start(), IsOk());
  EXPECT_TRUE(WasTaken(late, -1));
}

TEST_F(AcceptorTest, StopsWhileClientsKeepComing) {
  acceptor_ = std::make_unique<Acceptor>(
      sockets_->fds(),
      std::make_unique<Multiplier>([this] { return Connect(); }));
  const UniqueFd first = Connect();
  ASSERT_THAT(acceptor_->Start(), IsOk());
  EXPECT_TRUE(WasTaken(first, -1));
  acceptor_->Stop();
}

TEST_F(AcceptorTest, WaitsForDescriptors) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  ASSERT_THAT(acceptor_->Start(), IsOk());
  const UniqueFd client = Connect();
  EXPECT_TRUE(WasTaken(client, -1));
  const UniqueFd waiting(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {3, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  Path().copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(::connect(waiting.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
            0);
  EXPECT_FALSE(WasTaken(waiting, 10));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(WasTaken(waiting, -1));
}

}  // namespace
}  // namespace server

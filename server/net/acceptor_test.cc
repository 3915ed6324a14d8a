#include "server/net/acceptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sandbox/base/log.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/listen_address.h"
#include "server/net/listening_sockets.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::sandbox::UniqueFd;
using ::tests::IsOk;

// Closes each connection that it gets, which ends the client's.
class Closer final : public grpc::experimental::ExternalConnectionAcceptor {
 public:
  void HandleNewConnection(NewConnectionParameters* connection) override {
    ::close(connection->fd);
  }
};

// Makes another client for each connection that it gets, so that the queue is
// never empty.
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

// Keeps each connection that it gets open.
class Keeper final : public grpc::experimental::ExternalConnectionAcceptor {
 public:
  explicit Keeper(std::vector<UniqueFd>* kept) : kept_(kept) {}
  void HandleNewConnection(NewConnectionParameters* connection) override {
    kept_->emplace_back(connection->fd);
    // Greets the client, so that a test knows that it was accepted.
    EXPECT_EQ(::write(connection->fd, "x", 1), 1);
  }

 private:
  std::vector<UniqueFd>* const kept_;
};

// Catches what the process writes to stderr while it exists.
class StderrPipe {
 public:
  StderrPipe() : former_(::fcntl(2, F_DUPFD_CLOEXEC, 3)) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_.Reset(ends[0]);
    ::dup2(ends[1], 2);
    ::close(ends[1]);
  }
  ~StderrPipe() { ::dup2(former_.get(), 2); }

  // Blocks until `text` was written, and returns all that was.
  std::string Await(const std::string& text) {
    while (seen_.find(text) == std::string::npos) {
      char bytes[256];
      const ssize_t size = ::read(reader_.get(), bytes, sizeof(bytes));
      if (size <= 0) {
        break;
      }
      seen_.append(bytes, static_cast<size_t>(size));
    }
    return seen_;
  }

 private:
  const UniqueFd former_;
  UniqueFd reader_;
  std::string seen_;
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
    acceptor_ = std::make_unique<Acceptor>(
        sockets_->fds(), std::make_unique<Closer>(), kMaxConnections);
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

  // Blocks until the server closed the connection.
  static void AwaitEnd(const UniqueFd& client) {
    char byte = 0;
    while (::read(client.get(), &byte, 1) > 0) {
    }
  }

  static constexpr size_t kMaxConnections = 2;

  std::string directory_;
  std::unique_ptr<ListeningSockets> sockets_;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, LeavesConnectionsInTheQueueWhileItIsStopped) {
  const UniqueFd early = Connect();
  ASSERT_THAT(acceptor_->Start(), IsOk());
  AwaitEnd(early);
  acceptor_->Stop();
  acceptor_->Stop();
  const UniqueFd queued = Connect();
  const UniqueFd taken_by_the_test(
      ::accept4(sockets_->fds()[0], nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(taken_by_the_test.valid());
  const UniqueFd late = Connect();
  ASSERT_THAT(acceptor_->Start(), IsOk());
  AwaitEnd(late);
}

TEST_F(AcceptorTest, ClosesAConnectionAboveTheLimitAndReportsItOnce) {
  std::vector<UniqueFd> kept;
  acceptor_ = std::make_unique<Acceptor>(
      sockets_->fds(), std::make_unique<Keeper>(&kept), kMaxConnections);
  StderrPipe log;
  ASSERT_THAT(acceptor_->Start(), IsOk());
  char greeting = 0;
  const UniqueFd first = Connect();
  const UniqueFd second = Connect();
  EXPECT_EQ(::read(first.get(), &greeting, 1), 1);
  EXPECT_EQ(::read(second.get(), &greeting, 1), 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(::read(Connect().get(), &greeting, 1), 0);
  }
  acceptor_->Stop();
  kept.clear();
  ASSERT_THAT(acceptor_->Start(), IsOk());
  EXPECT_EQ(::read(Connect().get(), &greeting, 1), 1);
  acceptor_->Stop();
  LOG(INFO) << "the end";
  const std::string text = log.Await("the end");
  EXPECT_EQ(text.find("max_connections"), text.rfind("max_connections"));
  EXPECT_NE(text.find("max_connections"), std::string::npos);
  EXPECT_EQ(text.find("no descriptors"), std::string::npos);
}

TEST_F(AcceptorTest, NoProgramThatTheServerStartsInheritsAConnection) {
  std::vector<UniqueFd> kept;
  acceptor_ = std::make_unique<Acceptor>(
      sockets_->fds(), std::make_unique<Keeper>(&kept), kMaxConnections);
  ASSERT_THAT(acceptor_->Start(), IsOk());
  char greeting = 0;
  EXPECT_EQ(::read(Connect().get(), &greeting, 1), 1);
  acceptor_->Stop();
  ASSERT_EQ(kept.size(), 1);
  EXPECT_EQ(::fcntl(kept[0].get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(AcceptorTest, LetsAChunkOfOutputBeOnItsWayToALocalClient) {
  std::vector<UniqueFd> kept;
  acceptor_ = std::make_unique<Acceptor>(
      sockets_->fds(), std::make_unique<Keeper>(&kept), kMaxConnections);
  ASSERT_THAT(acceptor_->Start(), IsOk());
  const UniqueFd client = Connect();
  char greeting = 0;
  EXPECT_EQ(::read(client.get(), &greeting, 1), 1);
  acceptor_->Stop();
  ASSERT_EQ(kept.size(), 1);
  const std::string chunk(256 << 10, 'x');
  EXPECT_EQ(::send(kept[0].get(), chunk.data(), chunk.size(), MSG_DONTWAIT),
            static_cast<ssize_t>(chunk.size()));
}

// Reports to the client what gRPC learns of its connection.
class Reporter final : public grpc::experimental::ExternalConnectionAcceptor {
 public:
  void HandleNewConnection(NewConnectionParameters* connection) override {
    const UniqueFd socket(connection->fd);
    const int learnt[] = {connection->listener_fd,
                          ::fcntl(socket.get(), F_GETFL) & O_NONBLOCK};
    EXPECT_EQ(::write(socket.get(), learnt, sizeof(learnt)),
              ssize_t{sizeof(learnt)});
  }
};

TEST_F(AcceptorTest, NamesTheSocketThroughWhichAConnectionCame) {
  acceptor_ = std::make_unique<Acceptor>(
      sockets_->fds(), std::make_unique<Reporter>(), kMaxConnections);
  ASSERT_THAT(acceptor_->Start(), IsOk());
  int learnt[2] = {};
  ASSERT_EQ(::read(Connect().get(), learnt, sizeof(learnt)),
            ssize_t{sizeof(learnt)});
  EXPECT_EQ(learnt[0], sockets_->fds()[0]);
  EXPECT_EQ(learnt[1], O_NONBLOCK);
}

TEST_F(AcceptorTest, ReportsThatItCannotStart) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  {
    const tests::NoDescriptors none;
    EXPECT_FALSE(acceptor_->Start().ok());
  }
  acceptor_->Stop();
  ASSERT_THAT(acceptor_->Start(), IsOk());
  AwaitEnd(Connect());
}

// Changes this thread alone; seteuid(2) of glibc would change all threads.
void BecomeUser(uid_t user) {
  ASSERT_EQ(::syscall(SYS_setresuid, -1, user, -1), 0);
}

TEST_F(AcceptorTest, ClosesTheConnectionOfAnotherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  std::vector<UniqueFd> kept;
  acceptor_ = std::make_unique<Acceptor>(
      sockets_->fds(), std::make_unique<Keeper>(&kept), kMaxConnections);
  ASSERT_THAT(acceptor_->Start(), IsOk());
  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(Path().c_str(), 0666), 0);
  BecomeUser(1000);
  const UniqueFd stranger = Connect();
  BecomeUser(0);
  char greeting = 0;
  EXPECT_EQ(::read(stranger.get(), &greeting, 1), 0);
  EXPECT_EQ(::read(Connect().get(), &greeting, 1), 1);
  acceptor_->Stop();
}

TEST_F(AcceptorTest, StopsWhileClientsKeepComing) {
  StderrPipe log;
  acceptor_ = std::make_unique<Acceptor>(
      sockets_->fds(),
      std::make_unique<Multiplier>([this] { return Connect(); }),
      kMaxConnections);
  const UniqueFd first = Connect();
  ASSERT_THAT(acceptor_->Start(), IsOk());
  AwaitEnd(first);
  acceptor_->Stop();
  LOG(INFO) << "the end";
  EXPECT_EQ(log.Await("the end").find("no descriptors"), std::string::npos);
}

// The threads of this process.
std::set<std::string> Threads() {
  std::set<std::string> threads;
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(each.path().string());
  }
  return threads;
}

// Counts how often a thread has gone to sleep. Needs no descriptor to count.
class Sleeps {
 public:
  // Watches the thread that was not there `before`.
  explicit Sleeps(const std::set<std::string>& before) {
    for (const std::string& thread : Threads()) {
      if (before.count(thread) == 0) {
        status_.Reset(::open((thread + "/status").c_str(), O_RDONLY));
      }
    }
  }
  int Count() const {
    static constexpr char kField[] = "\nvoluntary_ctxt_switches:";
    char text[4096] = {};
    EXPECT_GT(::pread(status_.get(), text, sizeof(text) - 1, 0), 0);
    const char* const field = std::strstr(text, kField);
    return field == nullptr ? -1 : std::atoi(field + std::strlen(kField));
  }

 private:
  UniqueFd status_;
};

TEST_F(AcceptorTest, AcceptsWaitingConnectionsWhenDescriptorsAreFreeAgain) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  StderrPipe log;
  const std::set<std::string> before = Threads();
  ASSERT_THAT(acceptor_->Start(), IsOk());
  AwaitEnd(Connect());
  const Sleeps sleeps(before);
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
  log.Await("no descriptors are left");
  // It tries again after each pause, and says nothing more.
  const int seen = sleeps.Count();
  while (sleeps.Count() < seen + 3) {
    std::this_thread::yield();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  AwaitEnd(waiting);
  acceptor_->Stop();
  LOG(INFO) << "the end";
  const std::string text = log.Await("the end");
  EXPECT_EQ(text.find("no descriptors"), text.rfind("no descriptors"));
}

}  // namespace
}  // namespace server

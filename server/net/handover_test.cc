#include "server/net/handover.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/no_descriptors.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::sandbox::UniqueFd;
using ::testing::_;
using ::tests::IsOk;
using ::tests::StatusIs;
using Sockets = absl::StatusOr<std::vector<UniqueFd>>;

class HandoverTest : public ::testing::Test {
 protected:
  HandoverTest() {
    char name[] = "/tmp/corral_handover_XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~HandoverTest() override {
    handover_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Listen() {
    auto handover = Handover::Listen(directory_, [this] { came_.set_value(); });
    ASSERT_THAT(handover, IsOk());
    handover_ = *std::move(handover);
  }

  std::future<Sockets> Ask() {
    return std::async(std::launch::async,
                      [this] { return TakeOver(directory_); });
  }

  static UniqueFd MakeSocket() {
    return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  }

  UniqueFd Connect(UniqueFd client = MakeSocket()) const {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    (directory_ + "/handover.sock")
        .copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
              0);
    return client;
  }

  std::string directory_;
  std::promise<void> came_;
  std::unique_ptr<Handover> handover_;
};

TEST_F(HandoverTest, HandsTheSocketsToTheSuccessor) {
  Listen();
  struct stat info = {};
  ASSERT_EQ(::stat((directory_ + "/handover.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  EXPECT_FALSE(handover_->successor_waits());

  std::future<Sockets> taken = Ask();
  came_.get_future().wait();
  EXPECT_TRUE(handover_->successor_waits());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  EXPECT_THAT(handover_->Send({writer.get()}), IsOk());
  const Sockets sockets = taken.get();
  ASSERT_THAT(sockets, IsOk());
  ASSERT_EQ(sockets->size(), 1);
  ASSERT_EQ(::write((*sockets)[0].get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
}

TEST_F(HandoverTest, WaitsForDescriptorsWithoutUsingTheProcessor) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan, of the same build, opens a pipe to look at memory";
#endif
  Listen();
  UniqueFd client = MakeSocket();
  const auto used = [] {
    timespec time = {};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  };
  pollfd turned_away = {client.get(), POLLIN, 0};
  {
    const tests::NoDescriptors none;
    client = Connect(std::move(client));
    const auto before = used();
    EXPECT_EQ(::poll(&turned_away, 1, 300), 0);
    EXPECT_LT(used() - before, 60);
  }
  // The server accepts the connection, which then ends without a greeting.
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(::poll(&turned_away, 1, -1), 1);
}

TEST_F(HandoverTest, ReportsNotFoundWhenNoServerRuns) {
  EXPECT_THAT(TakeOver(directory_).status(),
              StatusIs(absl::StatusCode::kNotFound, _));
  Listen();
  handover_.reset();
  // The socket's file still exists.
  EXPECT_THAT(TakeOver(directory_).status(),
              StatusIs(absl::StatusCode::kNotFound, _));
  Listen();
}

TEST_F(HandoverTest, ReportsNotFoundWhenThePredecessorEnds) {
  Listen();
  std::future<Sockets> taken = Ask();
  came_.get_future().wait();
  handover_.reset();
  EXPECT_THAT(taken.get().status(), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(HandoverTest, RefusesASecondSuccessor) {
  Listen();
  std::future<Sockets> taken = Ask();
  came_.get_future().wait();
  EXPECT_THAT(TakeOver(directory_).status(),
              StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_TRUE(handover_->successor_waits());
  EXPECT_THAT(handover_->Send({}), IsOk());
  EXPECT_THAT(taken.get(), IsOk());
}

TEST_F(HandoverTest, NoticesThatTheSuccessorHasGone) {
  Listen();
  {
    const UniqueFd client = Connect();
    ASSERT_GT(::send(client.get(), "corrald-handover 1 x", 20, 0), 0);
    came_.get_future().wait();
  }
  EXPECT_FALSE(handover_->successor_waits());
  EXPECT_FALSE(handover_->Send({}).ok());
}

TEST_F(HandoverTest, RefusesAPeerThatSpeaksAnotherProtocol) {
  Listen();
  const UniqueFd client = Connect();
  ASSERT_GT(::send(client.get(), "GET /", 5, 0), 0);
  char byte = 0;
  EXPECT_EQ(::recv(client.get(), &byte, 1, 0), 0);
  EXPECT_FALSE(handover_->successor_waits());
}

}  // namespace
}  // namespace server

#include "server/acquisition.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "corral/config/v1/server_config.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "server/net/handover.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::sandbox::UniqueFd;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;
using State = absl::StatusOr<std::unique_ptr<StateDirectory>>;

// More than any test needs.
constexpr int kMany = 1'000'000;

class AcquisitionTest : public ::testing::Test {
 protected:
  AcquisitionTest() {
    char name[] = "/tmp/corral_acquisition_XXXXXX";
    directory_ = ::mkdtemp(name);
    config_.set_state_dir(directory_ + "/state");
    config_.set_listen("unix:" + directory_ + "/run/corrald.sock");
    listener_ = *Listener::Prepare(config_);
  }
  ~AcquisitionTest() override {
    listener_.reset();
    std::filesystem::remove_all(directory_);
  }

  State AsSuccessor(int attempts) {
    return AcquireFromPredecessor(config_, attempts, listener_.get());
  }

  // Expects that another server could not have the state directory now.
  void ExpectLocked() const {
    EXPECT_THAT(StateDirectory::Open(config_.state_dir()).status(),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("another server uses the state directory")));
  }

  bool HasSocketFile() const {
    return std::filesystem::exists(directory_ + "/run/corrald.sock");
  }

  static ino_t Inode(int fd) {
    struct stat status = {};
    EXPECT_EQ(::fstat(fd, &status), 0);
    return status.st_ino;
  }

  // Returns a socket that listens where a predecessor would.
  UniqueFd ListenForSuccessors() const {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    (config_.state_dir() + "/handover.sock")
        .copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address),
                     sizeof(address)),
              0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
  }

  std::string directory_;
  corral::config::v1::ServerConfig config_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(AcquisitionTest, LocksTheDirectoryAndListens) {
  const State state = Acquire(config_, 1, listener_.get());
  ASSERT_THAT(state, IsOk());
  ExpectLocked();
  EXPECT_TRUE(HasSocketFile());
}

TEST_F(AcquisitionTest, DoesNotTouchTheAddressOfAServerThatHasTheDirectory) {
  const State other = StateDirectory::Open(config_.state_dir());
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(Acquire(config_, 1, listener_.get()).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("another server uses the state directory")));
  EXPECT_FALSE(HasSocketFile());
}

TEST_F(AcquisitionTest, WaitsForAChildOfAKilledServerThatHasTheDirectory) {
  const State other = StateDirectory::Open(config_.state_dir());
  ASSERT_THAT(other, IsOk());
  auto acquired = std::async(std::launch::async, [&] {
    return Acquire(config_, kMany, listener_.get());
  });
  EXPECT_EQ(acquired.wait_for(
                std::chrono::milliseconds(2 * kAcquisitionIntervalMillis)),
            std::future_status::timeout);
  (*other)->Unlock();
  EXPECT_THAT(acquired.get(), IsOk());
}

TEST_F(AcquisitionTest, FailsIfAnotherServerHasTheAddress) {
  auto other = config_;
  other.set_state_dir(directory_ + "/other");
  const auto others = *Listener::Prepare(other);
  ASSERT_THAT(Acquire(other, 1, others.get()), IsOk());
  EXPECT_THAT(Acquire(config_, 1, listener_.get()).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, ::testing::_));
  // It has no predecessor, so nobody can give it the address.
  EXPECT_THAT(AsSuccessor(kMany).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, ::testing::_));
}

TEST_F(AcquisitionTest, ASuccessorWithoutAPredecessorBeginsLikeAnyServer) {
  const State state = AsSuccessor(1);
  ASSERT_THAT(state, IsOk());
  ExpectLocked();
  EXPECT_TRUE(HasSocketFile());
}

TEST_F(AcquisitionTest, ASuccessorGetsTheSocketsOfItsPredecessor) {
  const auto old = *Listener::Prepare(config_);
  const State state = Acquire(config_, 1, old.get());
  ASSERT_THAT(state, IsOk());
  std::promise<void> asked;
  const auto handover =
      Handover::Listen(config_.state_dir(), [&] { asked.set_value(); });
  ASSERT_THAT(handover, IsOk());
  auto acquired =
      std::async(std::launch::async, [&] { return AsSuccessor(1); });
  asked.get_future().wait();
  (*state)->Unlock();
  ASSERT_THAT((*handover)->Send(old->fds()), IsOk());
  const State taken = acquired.get();
  ASSERT_THAT(taken, IsOk());
  ExpectLocked();
  ASSERT_EQ(listener_->fds().size(), 1U);
  EXPECT_EQ(Inode(listener_->fds()[0]), Inode(old->fds()[0]));
}

TEST_F(AcquisitionTest, ASuccessorWaitsForAServerThatIsStopping) {
  const State other = StateDirectory::Open(config_.state_dir());
  ASSERT_THAT(other, IsOk());
  UniqueFd silent = ListenForSuccessors();
  auto acquired =
      std::async(std::launch::async, [&] { return AsSuccessor(kMany); });
  for (int attempt = 0; attempt < 2; ++attempt) {
    UniqueFd hung_up(::accept(silent.get(), nullptr, nullptr));
  }
  (*other)->Unlock();
  silent.Reset();
  EXPECT_THAT(acquired.get(), IsOk());
}

TEST_F(AcquisitionTest, ASuccessorGivesUpAfterItsAttempts) {
  const State other = StateDirectory::Open(config_.state_dir());
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(AsSuccessor(2).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("another server uses the state directory")));
}

TEST_F(AcquisitionTest,
       ASuccessorDoesNotTouchTheAddressOfAServerThatIsStarting) {
  const State other = StateDirectory::Open(config_.state_dir());
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(AsSuccessor(2).status(),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_FALSE(HasSocketFile());
}

TEST_F(AcquisitionTest, ASuccessorMakesNoMoreAttemptsThanItMay) {
  const State other = StateDirectory::Open(config_.state_dir());
  ASSERT_THAT(other, IsOk());
  const UniqueFd silent = ListenForSuccessors();
  int asked = 0;
  std::thread hanging_up([&] {
    while (UniqueFd(::accept(silent.get(), nullptr, nullptr)).valid()) {
      ++asked;
    }
  });
  EXPECT_THAT(AsSuccessor(3).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("another server uses the state directory")));
  ::shutdown(silent.get(), SHUT_RDWR);
  hanging_up.join();
  EXPECT_EQ(asked, 3);
}

TEST_F(AcquisitionTest, ASuccessorKeepsTheSocketsThatItHasGot) {
  const auto old = *Listener::Prepare(config_);
  const State state = Acquire(config_, 1, old.get());
  ASSERT_THAT(state, IsOk());
  std::atomic<int> requests = 0;
  std::promise<void> asked;
  const auto handover = Handover::Listen(config_.state_dir(), [&] {
    if (++requests == 1) {
      asked.set_value();
    }
  });
  ASSERT_THAT(handover, IsOk());
  auto acquired =
      std::async(std::launch::async, [&] { return AsSuccessor(3); });
  asked.get_future().wait();
  // The directory stays locked.
  ASSERT_THAT((*handover)->Send(old->fds()), IsOk());
  EXPECT_THAT(acquired.get().status(),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_EQ(requests, 1);
}

TEST_F(AcquisitionTest, ASuccessorDoesNotAskIfItCannotListen) {
  const State other = StateDirectory::Open(config_.state_dir());
  ASSERT_THAT(other, IsOk());
  config_.set_listen("unix:/proc/corrald.sock");
  listener_ = *Listener::Prepare(config_);
  const UniqueFd predecessor = ListenForSuccessors();
  EXPECT_THAT(AsSuccessor(kMany).status().message(),
              HasSubstr("bind(/proc/corrald.sock)"));
  const UniqueFd connection(::accept(predecessor.get(), nullptr, nullptr));
  char byte;
  EXPECT_EQ(::recv(connection.get(), &byte, 1, 0), 0);
  ASSERT_EQ(::fcntl(predecessor.get(), F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(::accept(predecessor.get(), nullptr, nullptr), -1)
      << "it tried again";
}

TEST_F(AcquisitionTest, ASuccessorDoesNotTakeOverFromAnotherProgram) {
  ASSERT_THAT(StateDirectory::Open(config_.state_dir()), IsOk());
  const UniqueFd stranger = ListenForSuccessors();
  auto acquired =
      std::async(std::launch::async, [&] { return AsSuccessor(kMany); });
  const UniqueFd connection(::accept(stranger.get(), nullptr, nullptr));
  ASSERT_EQ(::send(connection.get(), "hello", 5, 0), 5);
  EXPECT_THAT(acquired.get().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another protocol")));
}

}  // namespace
}  // namespace server

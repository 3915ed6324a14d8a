#include "server/net/handover.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
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
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;
using Sockets = absl::StatusOr<std::vector<UniqueFd>>;

// The ids of the threads of this process.
std::set<std::string> Threads() {
  std::set<std::string> threads;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(task.path().filename());
  }
  return threads;
}

// Opens the file that shows the system call of the one thread that is not among
// `others`.
UniqueFd OpenSystemCall(const std::set<std::string>& others) {
  for (const std::string& thread : Threads()) {
    if (others.count(thread) == 0) {
      const std::string path = "/proc/self/task/" + thread + "/syscall";
      return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    }
  }
  return UniqueFd();
}

// Returns how many descriptors the thread polls; 0: it does not wait in poll.
long NumberOfPolled(const UniqueFd& system_call) {
  char text[256] = {};
  // "NUMBER ARGUMENT ...", or "running".
  EXPECT_GT(::pread(system_call.get(), text, sizeof(text) - 1, 0), 0);
  long number = -1;
  unsigned long list = 0;
  unsigned long count = 0;
  const int fields = std::sscanf(text, "%ld %lx %lx", &number, &list, &count);
  return fields == 3 && number == SYS_poll ? static_cast<long>(count) : 0;
}

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
  const std::set<std::string> others = Threads();
  Listen();
  UniqueFd client = MakeSocket();
  const UniqueFd system_call = OpenSystemCall(others);
  {
    const tests::NoDescriptors none;
    client = Connect(std::move(client));
    // Only while it pauses does the thread poll one descriptor, without the
    // listener.
    while (NumberOfPolled(system_call) != 1) {
      std::this_thread::yield();
    }
  }
  // The server accepts the connection, which then ends without a greeting.
  ::shutdown(client.get(), SHUT_WR);
  pollfd turned_away = {client.get(), POLLIN, 0};
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

TEST_F(HandoverTest, HangsUpOnASuccessorThatSaysNothing) {
  Listen();
  const UniqueFd client = Connect();
  char byte = 0;
  EXPECT_EQ(::recv(client.get(), &byte, 1, 0), 0);
  EXPECT_FALSE(handover_->successor_waits());
}

TEST_F(HandoverTest, HangsUpOnAnotherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  Listen();
  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod((directory_ + "/handover.sock").c_str(), 0666), 0);
  UniqueFd client = MakeSocket();
  // Changes this thread alone; seteuid(2) of glibc would change all threads.
  if (::syscall(SYS_setresuid, -1, 1000, -1) != 0) {
    GTEST_SKIP() << "there is no user 1000 in this user namespace";
  }
  client = Connect(std::move(client));
  ASSERT_EQ(::syscall(SYS_setresuid, -1, 0, -1), 0);
  ::send(client.get(), "corrald-handover 1 x", 20, MSG_NOSIGNAL);
  char byte = 0;
  EXPECT_LE(::recv(client.get(), &byte, 1, 0), 0);
  EXPECT_FALSE(handover_->successor_waits());
}

// Returns how many connections of handovers in this process wait for no more
// than `patience` for what they receive.
int CountPatient(std::chrono::seconds patience) {
  int count = 0;
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(each.path().filename());
    int type = 0;
    socklen_t type_size = sizeof(type);
    timeval limit = {};
    socklen_t limit_size = sizeof(limit);
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 &&
        type == SOCK_SEQPACKET &&
        ::getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &limit_size) == 0 &&
        limit.tv_sec == patience.count()) {
      ++count;
    }
  }
  return count;
}

TEST_F(HandoverTest, ASuccessorWaitsNoLongerThanAMinute) {
  Listen();
  std::future<Sockets> taken = Ask();
  came_.get_future().wait();
  EXPECT_EQ(CountPatient(std::chrono::seconds(60)), 1);
  handover_.reset();
  EXPECT_THAT(taken.get().status(), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(HandoverTest, WaitsForAnotherSuccessorWhenTheFirstHasGone) {
  std::promise<void> came[2];
  int count = 0;
  auto handover =
      Handover::Listen(directory_, [&] { came[count++].set_value(); });
  ASSERT_THAT(handover, IsOk());
  {
    const UniqueFd client = Connect();
    ASSERT_GT(::send(client.get(), "corrald-handover 1 x", 20, 0), 0);
    came[0].get_future().wait();
  }
  std::future<Sockets> taken = Ask();
  came[1].get_future().wait();
  EXPECT_TRUE((*handover)->successor_waits());
  EXPECT_THAT((*handover)->Send({}), IsOk());
  EXPECT_THAT(taken.get(), IsOk());
}

TEST_F(HandoverTest, NeedsNoShortPath) {
  const std::string top = directory_;
  // The address of a Unix socket has 108 bytes.
  directory_ += "/" + std::string(120, 'd');
  std::filesystem::create_directory(directory_);
  Listen();
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/handover.sock"));
  std::future<Sockets> taken = Ask();
  came_.get_future().wait();
  EXPECT_THAT(handover_->Send({}), IsOk());
  EXPECT_THAT(taken.get(), IsOk());
  directory_ = top;
}

TEST_F(HandoverTest, NamesADirectoryThatIsMissing) {
  const std::string missing = directory_ + "/missing";
  EXPECT_THAT(Handover::Listen(missing, [] {}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
  EXPECT_THAT(TakeOver(missing).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
}

}  // namespace
}  // namespace server

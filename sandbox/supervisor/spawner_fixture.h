// A Spawner against a spawner that the test plays. The real one is in every
// test of a sandbox.

#ifndef SANDBOX_SUPERVISOR_SPAWNER_FIXTURE_H_
#define SANDBOX_SUPERVISOR_SPAWNER_FIXTURE_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/spawner.h"

namespace sandbox {

class SpawnerTest : public ::testing::Test {
 protected:
  SpawnerTest() {
    EXPECT_EQ(::ftruncate(file_.get(), kExchangeSize), 0);
    exchange_ = static_cast<char*>(
        ::mmap(nullptr, kExchangeSize, PROT_READ, MAP_SHARED, file_.get(), 0));
    command_.add_argv("/bin/true");
    command_.set_working_directory("/tmp");
    Connect();
  }
  ~SpawnerTest() override {
    ::munmap(exchange_, kExchangeSize);
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }

  // Makes a new spawner in place of the last one.
  void Connect() {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    spawner_.reset();
    theirs_.Reset(fds[1]);
    ours_ = fds[0];
    spawner_ = *Spawner::Create(
        loop_.get(), UniqueFd(fds[0]), file_, [](pid_t) { return false; },
        [this] {
          ++lost_;
          loop_->Stop();
        });
  }
  // A pidfd of the test's one child, which does nothing.
  UniqueFd Child() {
    if (child_ == 0) {
      child_ = ::fork();
      while (child_ == 0) {
        ::pause();
      }
    }
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
  }

  Spawner::Job Job(const wire::CommandSpec& command) {
    Spawner::Job job;
    job.command = &command;
    for (const int fd : {0, 1, 2}) {
      job.streams.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    }
    job.done = [this](UniqueFd pidfd, SpawnAnswer answer) {
      answers_.push_back(answer.error);
      pidfd_ = std::move(pidfd);
      loop_->Stop();
    };
    return job;
  }
  SpawnRequest Request() const {
    SpawnRequest request;
    std::memcpy(&request, exchange_, sizeof(request));
    return request;
  }
  // The strings of the request, with a '|' behind each.
  std::string Strings() const {
    std::string text(exchange_ + kExchangeStrings, Request().strings_size);
    for (char& c : text) {
      c = c == '\0' ? '|' : c;
    }
    return text;
  }
  size_t Requests() {
    size_t count = 0;
    char byte;
    while (::recv(theirs_.get(), &byte, 1, MSG_DONTWAIT) == 1) {
      ++count;
    }
    return count;
  }
  void Answer(int error, const std::vector<int>& fds) {
    const SpawnAnswer answer = {
        error == 0 ? SpawnStage::kNone : SpawnStage::kExec, error};
    ASSERT_TRUE(SendWithFds(theirs_.get(), &answer, sizeof(answer), fds).ok());
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  const UniqueFd file_ = UniqueFd(::memfd_create("exchange", MFD_CLOEXEC));
  pid_t child_ = 0;
  UniqueFd theirs_;
  // Owned by spawner_.
  int ours_ = -1;
  char* exchange_ = nullptr;
  std::unique_ptr<Spawner> spawner_;
  wire::CommandSpec command_;
  std::vector<int> answers_;
  UniqueFd pidfd_;
  int lost_ = 0;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SPAWNER_FIXTURE_H_

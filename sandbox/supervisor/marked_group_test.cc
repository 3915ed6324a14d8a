#include "sandbox/supervisor/marked_group.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/failure.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::FailsWith;
using ::tests::IsOk;

// A process that forks a child, which waits, for each byte that it is sent.
class PlayedSpawner {
 public:
  PlayedSpawner() {
    int requests[2];
    int answers[2];
    EXPECT_EQ(::pipe2(requests, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(answers, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(requests[1]);
      Serve(requests[0], answers[1]);
    }
    ::close(requests[0]);
    ::close(answers[1]);
    request_.Reset(requests[1]);
    answer_.Reset(answers[0]);
  }
  ~PlayedSpawner() {
    request_.Reset();
    ::waitpid(pid_, nullptr, 0);
  }
  PlayedSpawner(const PlayedSpawner&) = delete;
  PlayedSpawner& operator=(const PlayedSpawner&) = delete;

  pid_t pid() const { return pid_; }
  // Returns the pid of a new child.
  pid_t Fork() {
    pid_t child = -1;
    EXPECT_EQ(::write(request_.get(), "f", 1), 1);
    EXPECT_EQ(::read(answer_.get(), &child, sizeof(child)),
              static_cast<ssize_t>(sizeof(child)));
    return child;
  }

 private:
  // Ends with all children when the pipe is closed.
  [[noreturn]] static void Serve(int requests, int answers) {
    std::vector<pid_t> children;
    for (char byte; ::read(requests, &byte, 1) == 1;) {
      const pid_t child = ::fork();
      if (child == 0) {
        for (;;) {
          ::pause();
        }
      }
      children.push_back(child);
      if (::write(answers, &child, sizeof(child)) < 0) {
        break;
      }
    }
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    ::_exit(0);
  }

  pid_t pid_ = -1;
  UniqueFd request_;
  UniqueFd answer_;
};

class MarkedGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rlimit core = {};
    ::getrlimit(RLIMIT_CORE, &core);
    if (core.rlim_max != RLIM_INFINITY) {
      GTEST_SKIP() << "the hard limit of core dumps is not \"unlimited\"";
    }
    spawner_.emplace();
    absl::StatusOr<std::shared_ptr<Marks>> marks =
        Marks::Create(::getpid(), [this] { return spawner_->pid(); });
    ASSERT_THAT(marks.status(), IsOk());
    marks_ = *std::move(marks);
  }

  // Starts a command of a new group.
  std::pair<std::unique_ptr<MarkedGroup>, pid_t> Start() {
    auto group = std::make_unique<MarkedGroup>(marks_);
    EXPECT_EQ(group->BeginStart(), 0);
    return {std::move(group), spawner_->Fork()};
  }

  std::optional<PlayedSpawner> spawner_;
  std::shared_ptr<Marks> marks_;
};

TEST_F(MarkedGroupTest, HasTheProcessesOfItsCommandOnly) {
  MarkedGroup unborn(marks_);
  EXPECT_THAT(unborn.Pids(), IsEmpty());
  const auto [first, one] = Start();
  EXPECT_THAT(first->Pids(), ElementsAre(one));
  const auto [second, two] = Start();
  EXPECT_THAT(first->Pids(), ElementsAre(one));
  EXPECT_THAT(second->Pids(), ElementsAre(two));
  EXPECT_THAT(unborn.Pids(), IsEmpty());
}

TEST_F(MarkedGroupTest, KillsItsProcessesAndNoOthers) {
  const auto [first, one] = Start();
  const auto [second, two] = Start();
  while (!first->Kill()) {
  }
  EXPECT_THAT(first->Pids(), IsEmpty());
  EXPECT_THAT(first->Remove(), IsOk());
  EXPECT_THAT(second->Pids(), ElementsAre(two));
  EXPECT_TRUE(absl::IsFailedPrecondition(second->Remove()));
}

TEST_F(MarkedGroupTest, SignalsAProcessGroupOfItsOwn) {
  const auto [group, pid] = Start();
  group->SignalProcessGroup(SIGKILL, ::getpgid(0) + 1);
  EXPECT_THAT(group->Pids(), ElementsAre(pid));
  ASSERT_EQ(::setpgid(spawner_->pid(), spawner_->pid()), 0);
  const auto [other, child] = Start();
  other->SignalProcessGroup(SIGKILL, spawner_->pid());
  while (!other->Pids().empty()) {
  }
  EXPECT_THAT(group->Pids(), ElementsAre(pid));
}

TEST_F(MarkedGroupTest, GivesEachCommandALowerMark) {
  uint64_t before = marks_->MarkSpawner();
  ASSERT_NE(before, 0u);
  for (int i = 0; i < 5; ++i) {
    const uint64_t next = marks_->MarkSpawner();
    EXPECT_LT(next, before);
    EXPECT_TRUE(Marks::Has(spawner_->pid(), next));
    EXPECT_FALSE(Marks::Has(spawner_->pid(), before));
    before = next;
  }
}

TEST_F(MarkedGroupTest, FailsTheStartIfTheSpawnerHasGone) {
  absl::StatusOr<std::shared_ptr<Marks>> marks =
      Marks::Create(::getpid(), [] { return -1; });
  ASSERT_THAT(marks.status(), IsOk());
  MarkedGroup group(*marks);
  EXPECT_EQ(group.BeginStart(), ESRCH);
  EXPECT_THAT(group.Pids(), IsEmpty());
}

TEST_F(MarkedGroupTest, ServesOneCommandAndCountsNothing) {
  const auto [group, pid] = Start();
  EXPECT_FALSE(group->Recycle().ok());
  EXPECT_THAT(group->CpuTime().status(),
              FailsWith(wire::Reply::ISOLATION, HasSubstr("control groups")));
  EXPECT_EQ(group->Usage().oom_kills, 0u);
  EXPECT_THAT(group->EntryFds(), IsEmpty());
  EXPECT_FALSE(group->OomEvents()->valid());
}

TEST(MarksTest, NeedRoomBelowTheHardLimit) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    const auto marks = Marks::Create(::getpid(), [] { return ::getpid(); });
    ::_exit(FailureOf(marks.status()) == wire::Reply::ISOLATION ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sandbox

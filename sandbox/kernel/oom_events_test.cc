// Runs out of memory in groups of its own.

#include "sandbox/kernel/oom_events.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class OomEventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
    if (!host.ok()) {
      GTEST_SKIP() << host.status();
    }
    absl::StatusOr<Cgroup> group =
        Cgroup::Create(*host, absl::StrCat("oom-test-", ::getpid()));
    ASSERT_THAT(group.status(), IsOk());
    group_ = *std::move(group);
    CgroupLimits limits;
    limits.memory_bytes = uint64_t{32} << 20;
    ASSERT_THAT(group_.SetLimits(limits), IsOk());
  }

  bool v1() const { return group_.version() == CgroupVersion::kV1; }

  // Runs a process in the group that takes more memory than there is. Returns
  // its status.
  static int Exhaust(const Cgroup& group) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!group.Enter().ok()) {
        ::_exit(1);
      }
      const std::vector<char> memory(size_t{256} << 20, 1);
      ::_exit(memory.back() + 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }
  static bool IsReadable(const UniqueFd& events) {
    pollfd readable = {events.get(), POLLIN, 0};
    return ::poll(&readable, 1, 0) == 1;
  }

  Cgroup group_;
};

TEST_F(OomEventsTest, AnnounceThatTheLimitIsReached) {
  const absl::StatusOr<UniqueFd> events = group_.OomEvents();
  ASSERT_THAT(events.status(), IsOk());
  if (!v1()) {
    EXPECT_FALSE(events->valid()) << "the kernel kills the group itself";
    return;
  }
  EXPECT_NE(::fcntl(events->get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_FALSE(IsReadable(*events));
  EXPECT_EQ(Exhaust(group_), SIGKILL);
  EXPECT_TRUE(IsReadable(*events));
  eventfd_t count = 0;
  EXPECT_EQ(::eventfd_read(events->get(), &count), 0);
  EXPECT_FALSE(IsReadable(*events));
}

TEST_F(OomEventsTest, AnnounceALimitAboveTheGroup) {
  if (!v1()) {
    GTEST_SKIP() << "this host has v2";
  }
  const absl::StatusOr<Cgroup> one = group_.CreateChild("one");
  const absl::StatusOr<Cgroup> other = group_.CreateChild("other");
  ASSERT_THAT(one.status(), IsOk());
  ASSERT_THAT(other.status(), IsOk());
  const absl::StatusOr<UniqueFd> events = one->OomEvents();
  ASSERT_THAT(events.status(), IsOk());
  EXPECT_EQ(Exhaust(*other), SIGKILL);
  EXPECT_TRUE(IsReadable(*events));
  EXPECT_EQ(one->Usage().oom_kills, 0u) << "no process of it was killed";
}

TEST_F(OomEventsTest, OutliveTheGroup) {
  if (!v1()) {
    GTEST_SKIP() << "this host has v2";
  }
  const absl::StatusOr<UniqueFd> events = group_.OomEvents();
  ASSERT_THAT(events.status(), IsOk());
  EXPECT_THAT(group_.Remove(), IsOk());
  EXPECT_THAT(group_.OomEvents().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("there is no group")));
}

TEST_F(OomEventsTest, NameTheStepThatFails) {
  EXPECT_THAT(
      WatchOom("/nowhere").status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("memory.oom_control")));
  if (!v1()) {
    return;
  }
  const struct {
    int call;
    const char* step;
  } cases[] = {{SYS_eventfd2, "eventfd"}, {SYS_write, "cgroup.event_control"}};
  for (const auto& example : cases) {
    absl::Status failed;
    ASSERT_TRUE(tests::WithFailingCalls(
        {example.call}, EMFILE, [&] { failed = group_.OomEvents().status(); }));
    EXPECT_THAT(std::string(failed.message()), HasSubstr(example.step));
  }
}

}  // namespace
}  // namespace sandbox

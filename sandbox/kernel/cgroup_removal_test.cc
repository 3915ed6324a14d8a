// The kernel must not keep files of a group that is removed. Tests on the real
// kernel.

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstddef>
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
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::AnyOf;
using ::testing::SizeIs;
using ::tests::IsOk;

// Returns the events of inotify(7) so far, in their order.
std::vector<uint32_t> EventsOf(int inotify) {
  alignas(inotify_event) char bytes[4096];
  const ssize_t got = ::read(inotify, bytes, sizeof(bytes));
  std::vector<uint32_t> events;
  for (ssize_t at = 0; at < got;) {
    const auto* event = reinterpret_cast<const inotify_event*>(bytes + at);
    events.push_back(event->mask & ~uint32_t{IN_ISDIR});
    at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
  }
  return events;
}

class CgroupRemovalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    absl::StatusOr<CgroupHost> host = CgroupHost::Find();
    if (!host.ok()) {
      GTEST_SKIP() << host.status();
    }
    host_ = *std::move(host);
    absl::StatusOr<Cgroup> group =
        Cgroup::Create(host_, absl::StrCat("removal-", ::getpid()));
    ASSERT_THAT(group.status(), IsOk());
    group_ = *std::move(group);
  }

  CgroupHost host_;
  Cgroup group_;
};

// The kernel caches the others until memory is short.
TEST_F(CgroupRemovalTest, ClosesItsFilesBeforeItGoes) {
  ASSERT_THAT(group_.HandOn(), IsOk());
  absl::StatusOr<Cgroup> below = group_.CreateChild("below");
  ASSERT_THAT(below.status(), IsOk());
  // Opens what v2 counts.
  below->Usage();
  const std::string file =
      host_.version == CgroupVersion::kV2 ? "/memory.events" : "/tasks";
  const UniqueFd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(::inotify_add_watch(inotify.get(),
                                (below->Directories().front() + file).c_str(),
                                IN_CLOSE_WRITE | IN_CLOSE_NOWRITE),
            0);
  ASSERT_GE(::inotify_add_watch(
                inotify.get(), group_.Directories().front().c_str(), IN_DELETE),
            0);
  ASSERT_THAT(below->Remove(), IsOk());
  const std::vector<uint32_t> events = EventsOf(inotify.get());
  ASSERT_THAT(events, SizeIs(::testing::Ge(2)));
  EXPECT_THAT(events[0],
              AnyOf(uint32_t{IN_CLOSE_WRITE}, uint32_t{IN_CLOSE_NOWRITE}));
  EXPECT_EQ(events[1], uint32_t{IN_DELETE});
}

TEST_F(CgroupRemovalTest, KeepsTheEntriesOfAGroupThatIsInUse) {
  const absl::StatusOr<Cgroup> below = group_.CreateChild("below");
  ASSERT_THAT(below.status(), IsOk());
  const size_t entries = group_.EntryFds().size();
  EXPECT_EQ(group_.Remove().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(group_.EntryFds().size(), entries);
  for (const int entry : group_.EntryFds()) {
    EXPECT_GE(::fcntl(entry, F_GETFD), 0);
  }
}

}  // namespace
}  // namespace sandbox

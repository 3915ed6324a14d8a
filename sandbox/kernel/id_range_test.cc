#include "sandbox/kernel/id_range.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/namespaces.h"
#include "tests/failing_calls.h"
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

class IdRangeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }
};

TEST_F(IdRangeTest, GivesEachHolderARangeOfItsOwn) {
  std::vector<IdRange> held;
  std::set<uint32_t> seen;
  for (int i = 0; i < 20; ++i) {
    absl::StatusOr<IdRange> range = IdRange::Acquire();
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_TRUE(seen.insert(range->first_id()).second);
    held.push_back(*std::move(range));
  }
}

TEST_F(IdRangeTest, LiesAboveTheHostsUsersAndBelowTheSignBit) {
  absl::StatusOr<IdRange> range = IdRange::Acquire();
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_GE(range->first_id(), 0x70000000u);
  EXPECT_EQ(range->first_id() % kIdRange, 0u);
  EXPECT_LT(range->first_id(), 0x80000000u - kIdRange);
}

// Runs `test` in a thread with an empty /run of its own.
void WithEmptyRun(const std::function<void()>& test) {
  std::thread([&test] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("tmpfs", "/run", "tmpfs", 0, nullptr), 0);
    test();
  }).join();
}

mode_t ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST_F(IdRangeTest, IsTheNextThatIsFree) {
  WithEmptyRun([] {
    const auto number = static_cast<uint32_t>(::getpid()) % 4095;
    absl::StatusOr<IdRange> first = IdRange::Acquire();
    ASSERT_THAT(first.status(), IsOk());
    EXPECT_EQ(first->first_id(), 0x70000000 + number * kIdRange);
    const absl::StatusOr<IdRange> second = IdRange::Acquire();
    ASSERT_THAT(second.status(), IsOk());
    EXPECT_EQ(second->first_id(), 0x70000000 + (number + 1) % 4095 * kIdRange);
    const uint32_t id = first->first_id();
    first = IdRange();
    EXPECT_EQ(IdRange::Acquire()->first_id(), id);
    // Nobody else may hold a lock.
    EXPECT_EQ(ModeOf("/run/corral"), 0700u);
    EXPECT_EQ(ModeOf("/run/corral/ids"), 0700u);
    EXPECT_EQ(ModeOf(absl::StrCat("/run/corral/ids/", number)), 0600u);
  });
}

TEST_F(IdRangeTest, IsTakenAgainOnlyIfNobodyHoldsIt) {
  WithEmptyRun([] {
    absl::StatusOr<IdRange> range = IdRange::Acquire();
    ASSERT_THAT(range.status(), IsOk());
    const uint32_t id = range->first_id();
    EXPECT_TRUE(absl::IsUnavailable(IdRange::TryAcquire(id).status()));
    range = IdRange();
    const absl::StatusOr<IdRange> again = IdRange::TryAcquire(id);
    ASSERT_THAT(again.status(), IsOk());
    EXPECT_EQ(again->first_id(), id);
    EXPECT_TRUE(absl::IsUnavailable(IdRange::TryAcquire(id).status()));
    EXPECT_NE(IdRange::Acquire()->first_id(), id);
    // Those that nobody ever held.
    EXPECT_TRUE(
        absl::IsNotFound(IdRange::TryAcquire(id + 7 * kIdRange).status()));
    EXPECT_TRUE(absl::IsNotFound(IdRange::TryAcquire(1000).status()));
  });
}

TEST_F(IdRangeTest, LeavesItsFileUnlessItIsReleased) {
  WithEmptyRun([] {
    EXPECT_THAT(IdRange::List(), IsEmpty());
    absl::StatusOr<IdRange> range = IdRange::Acquire();
    ASSERT_THAT(range.status(), IsOk());
    const uint32_t id = range->first_id();
    EXPECT_THAT(IdRange::List(), ElementsAre(id));
    range = IdRange();
    EXPECT_THAT(IdRange::List(), ElementsAre(id));
    absl::StatusOr<IdRange> again = IdRange::TryAcquire(id);
    ASSERT_THAT(again.status(), IsOk());
    again->Release();
    again->Release();
    IdRange().Release();
    EXPECT_THAT(IdRange::List(), IsEmpty());
    EXPECT_TRUE(absl::IsNotFound(IdRange::TryAcquire(id).status()));
    EXPECT_EQ(IdRange::Acquire()->first_id(), id);
  });
}

// A file that was opened may be removed before it is locked.
TEST_F(IdRangeTest, IsHeldByOneThoughItsFileGoesAllTheTime) {
  WithEmptyRun([] {
    std::array<std::atomic<bool>, 4095> held = {};
    std::atomic<int> shared = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 2000; ++j) {
          absl::StatusOr<IdRange> range = IdRange::Acquire();
          ASSERT_THAT(range.status(), IsOk());
          std::atomic<bool>& mine =
              held.at((range->first_id() - 0x70000000) / kIdRange);
          shared += mine.exchange(true) ? 1 : 0;
          mine = false;
          range->Release();
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(shared, 0);
    EXPECT_THAT(IdRange::List(), IsEmpty());
  });
}

TEST_F(IdRangeTest, IsMissingOnceAllAreTaken) {
  absl::Status acquired;
  std::set<std::string> tried;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_flock}, EWOULDBLOCK, [&] {
    WithEmptyRun([&] {
      acquired = IdRange::Acquire().status();
      for (const auto& file :
           std::filesystem::directory_iterator("/run/corral/ids")) {
        tried.insert(file.path().filename());
      }
    });
  }));
  EXPECT_THAT(acquired, FailsWith(wire::Reply::SHORTAGE, HasSubstr("taken")));
  EXPECT_EQ(tried.size(), 4095u);
  EXPECT_EQ(tried.count("0"), 1u);
}

TEST_F(IdRangeTest, IsMissingWhereNoFileCanBeOpened) {
  absl::Status acquired;
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_openat}, EMFILE, [&] { acquired = IdRange::Acquire().status(); }));
  EXPECT_THAT(std::string(acquired.message()),
              HasSubstr("open /run/corral/ids/"));
}

TEST_F(IdRangeTest, IsFreeAgainWhenItsHolderHasGone) {
  std::set<uint32_t> seen;
  for (int i = 0; i < 5; ++i) {
    absl::StatusOr<IdRange> range = IdRange::Acquire();
    ASSERT_TRUE(range.ok()) << range.status();
    seen.insert(range->first_id());
  }
  // Another process of this host may take it meanwhile, but not each time.
  EXPECT_LT(seen.size(), 5u);
}

}  // namespace
}  // namespace sandbox

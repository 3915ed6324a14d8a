#include "sandbox/kernel/owner_map.h"

#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;

constexpr uint32_t kFirstId = 0x70000000;

bool HasNoChild() {
  return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

// The numbers of a map of ids: the first inside, the first outside, the count.
std::vector<std::string> ReadMap(const std::string& path) {
  return absl::StrSplit(tests::ReadFile(path), absl::ByAnyChar(" \n"),
                        absl::SkipEmpty());
}

class OwnerMapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }
};

TEST_F(OwnerMapTest, MapsTheOwnerAndTheGroupToOneId) {
  const absl::StatusOr<UniqueFd> map = OwnerMap(1234, 5678, kFirstId, 1000);
  ASSERT_THAT(map.status(), IsOk());
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string inside = absl::StrCat(kFirstId + 1000);
    ::_exit(::setns(map->get(), CLONE_NEWUSER) == 0 &&
                    ReadMap("/proc/self/uid_map") ==
                        std::vector<std::string>{"1234", inside, "1"} &&
                    ReadMap("/proc/self/gid_map") ==
                        std::vector<std::string>{"5678", inside, "1"}
                ? 0
                : 1);
  }
  EXPECT_EQ(tests::AwaitExit(child), 0);
}

TEST_F(OwnerMapTest, LeavesNoProcess) {
  const absl::StatusOr<UniqueFd> map = OwnerMap(1234, 5678, kFirstId, 1000);
  ASSERT_THAT(map.status(), IsOk());
  EXPECT_EQ(::ioctl(map->get(), NS_GET_NSTYPE), CLONE_NEWUSER);
  EXPECT_TRUE(HasNoChild());
  absl::Status failed;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_write}, EPERM, [&] {
    failed = OwnerMap(1234, 5678, kFirstId, 1000).status();
  }));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("uid_map"));
  EXPECT_TRUE(HasNoChild());
}

TEST_F(OwnerMapTest, SaysThatTheHostRefusesNamespaces) {
  absl::Status failed;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_clone}, ENOSPC, [&] {
    failed = OwnerMap(1234, 5678, kFirstId, 1000).status();
  }));
  EXPECT_THAT(std::string(failed.message()),
              HasSubstr("a limit in /proc/sys/user/ is reached"));
}

}  // namespace
}  // namespace sandbox

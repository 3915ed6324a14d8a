#include "sandbox/kernel/owner_map.h"

#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;

constexpr uint32_t kFirstId = 0x70000000;

bool HasNoChild() {
  return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

// A map of ids: "FIRST-INSIDE FIRST-OUTSIDE COUNT".
std::string ReadMap(const std::string& path) {
  std::ifstream map(path);
  std::string inside;
  std::string outside;
  std::string count;
  map >> inside >> outside >> count;
  return absl::StrCat(inside, " ", outside, " ", count);
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
    const std::string one = absl::StrCat(" ", kFirstId + 1000, " 1");
    ::_exit(::setns(map->get(), CLONE_NEWUSER) == 0 &&
                    ReadMap("/proc/self/uid_map") == "1234" + one &&
                    ReadMap("/proc/self/gid_map") == "5678" + one
                ? 0
                : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
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

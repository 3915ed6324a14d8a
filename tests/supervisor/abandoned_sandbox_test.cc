// A launcher removes what is left of sandboxes whose supervisors were killed.

#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/client/local_supervisor_launcher.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/kernel/id_range.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::tests::IsOk;

// The ids and the control group of a sandbox that nothing else is left of.
class AbandonedSandbox {
 public:
  // `host` must outlive it.
  explicit AbandonedSandbox(const CgroupHost* host)
      : host_(host), ids_(IdRange::Acquire()) {
    EXPECT_THAT(ids_.status(), IsOk());
    const absl::StatusOr<Cgroup> group = Cgroup::Create(*host, name_);
    EXPECT_THAT(group.status(), IsOk());
    // With a group below it, its owner cannot remove it.
    for (const std::string& directory : group->Directories()) {
      EXPECT_TRUE(std::filesystem::create_directory(directory + "/run"));
    }
  }

  uint32_t first_id() const { return first_id_; }
  // Its supervisor has ended.
  void GiveUpIds() { ids_ = IdRange(); }
  void AwaitRemoval() const {
    while (Cgroup::List(*host_).count(name_) != 0 ||
           IdRange::List().count(first_id_) != 0) {
      std::this_thread::yield();
    }
  }

 private:
  const CgroupHost* host_;
  absl::StatusOr<IdRange> ids_;
  const uint32_t first_id_ = ids_->first_id();
  const std::string name_ = absl::StrCat(kSandboxCgroup, first_id_ >> 16);
};

TEST(AbandonedSandboxTest, IsCleanedUpThoughNoSupervisorCanBePrepared) {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok()) {
    GTEST_SKIP() << host.status();
  }
  AbandonedSandbox abandoned(&*host);
  abandoned.GiveUpIds();
  std::unique_ptr<LocalSupervisorLauncher> launcher;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_socketpair}, EMFILE, [&] {
    launcher = LocalSupervisorLauncher::Create().value();
  }));
  abandoned.AwaitRemoval();
}

// A process that a killed supervisor had just made holds its ids for a moment.
TEST(AbandonedSandboxTest, IsCleanedUpThoughItsIdsWereStillHeld) {
  const absl::StatusOr<CgroupHost> host = CgroupHost::Find();
  if (!host.ok()) {
    GTEST_SKIP() << host.status();
  }
  AbandonedSandbox one(&*host);
  AbandonedSandbox other(&*host);
  // Ranges are tried in their order.
  const bool in_order = one.first_id() < other.first_id();
  AbandonedSandbox& first = in_order ? one : other;
  AbandonedSandbox& second = in_order ? other : one;
  second.GiveUpIds();
  std::unique_ptr<LocalSupervisorLauncher> launcher;
  ASSERT_TRUE(tests::WithFailingCalls({SYS_socketpair}, EMFILE, [&] {
    launcher = LocalSupervisorLauncher::Create().value();
  }));
  second.AwaitRemoval();
  first.GiveUpIds();
  first.AwaitRemoval();
}

}  // namespace
}  // namespace sandbox

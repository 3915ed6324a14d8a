// A workspace in a mount namespace of its own, for tests of its mounts.

#ifndef SANDBOX_KERNEL_OWN_MOUNTS_FIXTURE_H_
#define SANDBOX_KERNEL_OWN_MOUNTS_FIXTURE_H_

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/mount_api.h"

namespace sandbox {

class OwnMountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.Reset(::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC));
    // The mounts end with this process.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      GTEST_SKIP() << "needs root";
    }
    path_ = std::filesystem::canonical(::testing::TempDir()).string() +
            "/own_mounts_XXXXXX";
    ASSERT_NE(::mkdtemp(path_.data()), nullptr);
    absl::StatusOr<UniqueFd> tree = CopyTree(AT_FDCWD, path_);
    ASSERT_TRUE(tree.ok()) << tree.status();
    const UniqueFd place(
        ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(MoveTree(tree->get(), place.get(), "").ok());
    workspace_ = *std::move(tree);
  }

  void TearDown() override {
    if (!path_.empty()) {
      OnHost([this] { std::filesystem::remove_all(path_); });
    }
  }

  // Runs a function in another mount namespace, to which the mounts of the test
  // do not belong.
  void OnHost(const std::function<void()>& function) const {
    bool entered = false;
    std::thread thread([&] {
      entered =
          ::unshare(CLONE_FS) == 0 && ::setns(host_.get(), CLONE_NEWNS) == 0;
      if (entered) {
        function();
      }
    });
    thread.join();
    EXPECT_TRUE(entered);
  }

  std::string Path(const std::string& name) const { return path_ + "/" + name; }

  UniqueFd host_;
  std::string path_;
  // The mount of the workspace.
  UniqueFd workspace_;
};

}  // namespace sandbox

#endif  // SANDBOX_KERNEL_OWN_MOUNTS_FIXTURE_H_

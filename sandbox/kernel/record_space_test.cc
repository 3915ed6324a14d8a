#include "sandbox/kernel/record_space.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace sandbox {
namespace {

class RecordSpaceTest : public ::testing::Test {
 protected:
  RecordSpaceTest() {
    std::string path = ::testing::TempDir() + "/recordsXXXXXX";
    directory_ = ::mkdtemp(path.data());
  }
  ~RecordSpaceTest() override { std::filesystem::remove_all(directory_); }

  // Calls `look` in a thread whose mount namespace has a tmpfs at the
  // directory.
  void OnItsOwn(const std::function<void()>& look) const {
    std::thread([&] {
      ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
      ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr),
                0);
      ASSERT_EQ(::mount("tmpfs", directory_.c_str(), "tmpfs", 0, nullptr), 0);
      look();
    }).join();
  }

  std::string directory_;
};

TEST_F(RecordSpaceTest, IsSafeOnAFileSystemOfItsOwn) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  OnItsOwn([this] {
    EXPECT_EQ(FindRecordSpace(directory_), RecordSpace::kOwnFileSystem);
    // A workspace can be beside it.
    ASSERT_EQ(::mkdir((directory_ + "/state").c_str(), 0700), 0);
    EXPECT_EQ(FindRecordSpace(directory_ + "/state"), RecordSpace::kShared);
    EXPECT_EQ(FindRecordSpace(directory_ + "/made/later"),
              RecordSpace::kShared);
  });
}

TEST_F(RecordSpaceTest, IsNoneOfItsOwnBesideOthers) {
  EXPECT_NE(FindRecordSpace(directory_), RecordSpace::kOwnFileSystem);
  EXPECT_EQ(FindRecordSpace(directory_ + "/made/later"),
            FindRecordSpace(directory_));
}

TEST_F(RecordSpaceTest, IsFoundForAnyPath) {
  for (const char* path : {"/", "/nothing", "nothing", ""}) {
    EXPECT_NE(FindRecordSpace(path), RecordSpace::kOwnFileSystem) << path;
  }
}

}  // namespace
}  // namespace sandbox

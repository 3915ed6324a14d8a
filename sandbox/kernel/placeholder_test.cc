#include "sandbox/kernel/placeholder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/failing_calls.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class PlaceholderTest : public ::testing::Test {
 protected:
  PlaceholderTest() {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    directory_.Reset(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~PlaceholderTest() override { std::filesystem::remove_all(path_); }

  absl::StatusOr<Placeholder> Make(const std::string& name,
                                   const char* content = nullptr) {
    return Placeholder::Make(directory_.get(), name, content, ::getuid());
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(
        std::filesystem::symlink_status(path_ + "/" + name));
  }
  struct stat StatusOf(const std::string& name) const {
    struct stat status = {};
    EXPECT_EQ(::lstat((path_ + "/" + name).c_str(), &status), 0) << name;
    return status;
  }

  std::string path_ = ::testing::TempDir() + "/placeholder_XXXXXX";
  UniqueFd directory_;
};

TEST_F(PlaceholderTest, IsAnEmptyDirectoryOrAFileUntilItsEnd) {
  {
    const absl::StatusOr<Placeholder> directory = Make("dir");
    const absl::StatusOr<Placeholder> file = Make("file", ".\n");
    ASSERT_THAT(directory.status(), IsOk());
    ASSERT_THAT(file.status(), IsOk());
    EXPECT_EQ(StatusOf("dir").st_mode, mode_t{S_IFDIR | 01755});
    EXPECT_EQ(StatusOf("file").st_mode, mode_t{S_IFREG | 01644});
    EXPECT_EQ(tests::ReadFile(path_ + "/file"), ".\n");
    EXPECT_TRUE(directory->IsInPlace());
  }
  EXPECT_FALSE(Exists("dir"));
  EXPECT_FALSE(Exists("file"));
}

TEST_F(PlaceholderTest, HasItsModeWhateverTheUmask) {
  const mode_t before = ::umask(077);
  const absl::StatusOr<Placeholder> made = Make("dir");
  ::umask(before);
  ASSERT_THAT(made.status(), IsOk());
  EXPECT_EQ(StatusOf("dir").st_mode, mode_t{S_IFDIR | 01755});
}

TEST_F(PlaceholderTest, BelongsToItsOwnerAndNeedsTheOwnersRights) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  EXPECT_THAT(
      Placeholder::Make(directory_.get(), "x", nullptr, 1234).status(),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("directory x")));
  ASSERT_EQ(::chown(path_.c_str(), 1234, 1234), 0);
  const absl::StatusOr<Placeholder> made =
      Placeholder::Make(directory_.get(), "x", nullptr, 1234);
  ASSERT_THAT(made.status(), IsOk());
  EXPECT_EQ(StatusOf("x").st_uid, 1234u);
  EXPECT_EQ(StatusOf("x").st_gid, 1234u);
  // The thread is root again.
  EXPECT_EQ(::mkdirat(directory_.get(), "own", 0700), 0);
  EXPECT_EQ(StatusOf("own").st_uid, 0u);
}

TEST_F(PlaceholderTest, IsNotMadeWhereSomethingIs) {
  tests::WriteFile(path_ + "/file", "x");
  ASSERT_EQ(::symlinkat("/nowhere", directory_.get(), "link"), 0);
  for (const char* name : {"file", "link"}) {
    for (const char* content : {static_cast<const char*>(nullptr), ""}) {
      EXPECT_THAT(Make(name, content).status(),
                  StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(name)));
    }
    EXPECT_TRUE(Exists(name));
  }
}

TEST_F(PlaceholderTest, LeavesNoHalfOfAFileOnAFullDisk) {
  absl::Status failed;
  ASSERT_TRUE(tests::WithFailingCalls(
      {SYS_write}, ENOSPC, [&] { failed = Make("file", ".\n").status(); }));
  EXPECT_THAT(failed.ToString(), HasSubstr("make the file file"));
  EXPECT_FALSE(Exists("file"));
}

TEST_F(PlaceholderTest, StaysUntilTheLastSandboxEnds) {
  absl::StatusOr<Placeholder> made = Make("dir");
  ASSERT_THAT(made.status(), IsOk());
  std::optional<Placeholder> first(*std::move(made));
  std::optional<Placeholder> second =
      Placeholder::Find(directory_.get(), "dir");
  ASSERT_TRUE(second.has_value());
  first.reset();
  EXPECT_TRUE(Exists("dir"));
  second.reset();
  EXPECT_FALSE(Exists("dir"));
}

TEST_F(PlaceholderTest, IsFoundAfterItsSandboxWasKilled) {
  ASSERT_EQ(::mkdirat(directory_.get(), "dir", 0755), 0);
  ASSERT_EQ(::chmod((path_ + "/dir").c_str(), 01755), 0);
  {
    const std::optional<Placeholder> found =
        Placeholder::Find(directory_.get(), "dir");
    EXPECT_TRUE(found.has_value());
  }
  EXPECT_FALSE(Exists("dir"));
}

TEST_F(PlaceholderTest, FindsNothingElse) {
  ASSERT_EQ(::mkdirat(directory_.get(), "plain", 0755), 0);
  ASSERT_EQ(::mkdirat(directory_.get(), "public", 0755), 0);
  ASSERT_EQ(::chmod((path_ + "/public").c_str(), 01777), 0);
  ASSERT_EQ(::mkdirat(directory_.get(), "filled", 0755), 0);
  ASSERT_EQ(::mkdirat(directory_.get(), "filled/x", 0755), 0);
  ASSERT_EQ(::chmod((path_ + "/filled").c_str(), 01755), 0);
  tests::WriteFile(path_ + "/long", "abc");
  ASSERT_EQ(::chmod((path_ + "/long").c_str(), 01644), 0);
  tests::WriteFile(path_ + "/empty", "");
  ASSERT_EQ(::chmod((path_ + "/empty").c_str(), 0644), 0);
  ASSERT_EQ(::mkfifoat(directory_.get(), "fifo", 0644), 0);
  ASSERT_EQ(::symlinkat("plain", directory_.get(), "link"), 0);
  for (const char* name :
       {"plain", "public", "filled", "long", "empty", "fifo", "link"}) {
    EXPECT_FALSE(Placeholder::Find(directory_.get(), name).has_value()) << name;
    EXPECT_TRUE(Exists(name)) << name;
  }
  EXPECT_FALSE(Placeholder::Find(directory_.get(), "none").has_value());
}

TEST_F(PlaceholderTest, StaysIfTheHostHasFilledIt) {
  {
    const absl::StatusOr<Placeholder> directory = Make("dir");
    const absl::StatusOr<Placeholder> file = Make("file", "");
    ASSERT_THAT(directory.status(), IsOk());
    ASSERT_THAT(file.status(), IsOk());
    tests::WriteFile(path_ + "/dir/settings.json", "{}");
    tests::WriteFile(path_ + "/file", "text");
  }
  EXPECT_EQ(tests::ReadFile(path_ + "/dir/settings.json"), "{}");
  EXPECT_EQ(tests::ReadFile(path_ + "/file"), "text");
}

TEST_F(PlaceholderTest, RemovesNothingThatTookItsPlace) {
  {
    const absl::StatusOr<Placeholder> made = Make("dir");
    ASSERT_THAT(made.status(), IsOk());
    ASSERT_EQ(::renameat(directory_.get(), "dir", directory_.get(), "old"), 0);
    EXPECT_FALSE(made->IsInPlace());
    ASSERT_EQ(::mkdirat(directory_.get(), "dir", 0755), 0);
  }
  EXPECT_TRUE(Exists("dir"));
  EXPECT_TRUE(Exists("old"));
}

}  // namespace
}  // namespace sandbox

#include "sandbox/base/small_file.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failing_calls.h"
#include "tests/file_size_limit.h"
#include "tests/status_matchers.h"

// Called by fsync(2) before the system call.
std::function<void(int fd)> before_fsync;

// Takes the place of the C library's function.
extern "C" int fsync(int fd) {
  if (before_fsync) {
    before_fsync(fd);
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::tests::IsOk;
using ::tests::StatusIs;

class SmallFileTest : public ::testing::Test {
 protected:
  SmallFileTest() {
    std::string path = ::testing::TempDir() + "/smallXXXXXX";
    directory_ = ::mkdtemp(path.data());
    path_ = directory_ + "/file";
  }

  std::string directory_;
  std::string path_;
};

TEST_F(SmallFileTest, ReadsWhatWasWritten) {
  for (const auto durability : {Durability::kProcess, Durability::kMachine}) {
    const std::string data("a\0b", 3);
    ASSERT_THAT(ReplaceFile(path_, data, durability), IsOk());
    EXPECT_EQ(*ReadSmallFile(path_), data);
    ASSERT_THAT(ReplaceFile(path_, "", durability), IsOk());
    EXPECT_EQ(*ReadSmallFile(path_), "");
  }
}

TEST_F(SmallFileTest, ReadsFilesThatReportNoSize) {
  EXPECT_THAT(*ReadSmallFile("/proc/self/status"), HasSubstr("Name:"));
}

TEST_F(SmallFileTest, ReplacesAFileByOneForItsOwnerOnly) {
  ASSERT_THAT(ReplaceFile(path_, "old", Durability::kProcess), IsOk());
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  ASSERT_THAT(ReplaceFile(path_, "new", Durability::kProcess), IsOk());
  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_NE(::access((path_ + ".new").c_str(), F_OK), 0);
}

TEST_F(SmallFileTest, FollowsNoLinkAtTheTemporaryName) {
  ASSERT_EQ(::symlink("/nowhere", (path_ + ".new").c_str()), 0);
  EXPECT_THAT(ReplaceFile(path_, "x", Durability::kProcess).ToString(),
              HasSubstr(".new"));
}

TEST_F(SmallFileTest, NamesTheFileInItsErrors) {
  EXPECT_THAT(ReadSmallFile(path_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  EXPECT_THAT(WriteSmallFile(path_, "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  EXPECT_THAT(std::string(ReadSmallFile(directory_).status().message()),
              HasSubstr("read " + directory_));
  EXPECT_THAT(WriteSmallFile("/dev/full", "x").ToString(),
              HasSubstr("/dev/full"));
}

TEST_F(SmallFileTest, SyncsTheNewFileBeforeItsNameAndThenTheName) {
  // The files that are synced, and whether the new one has its name already.
  std::vector<std::string> synced;
  before_fsync = [&](int fd) {
    char name[256];
    const ssize_t size = ::readlink(
        ("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof(name));
    ASSERT_GT(size, 0);
    synced.push_back(std::string(name, static_cast<size_t>(size)) +
                     (::access(path_.c_str(), F_OK) == 0 ? " named" : ""));
  };
  EXPECT_THAT(ReplaceFile(path_, "x", Durability::kMachine), IsOk());
  EXPECT_THAT(synced, ElementsAre(HasSubstr("/file.new"),
                                  ::testing::EndsWith(" named")));
  EXPECT_THAT(synced.back(), ::testing::Not(HasSubstr("/file")));
  synced.clear();
  EXPECT_THAT(ReplaceFile(path_, "x", Durability::kProcess), IsOk());
  EXPECT_THAT(synced, IsEmpty());
  before_fsync = nullptr;
}

TEST_F(SmallFileTest, KeepsTheOldFileWhenTheDiskFails) {
  ASSERT_THAT(ReplaceFile(path_, "old", Durability::kProcess), IsOk());
  for (const int call : {SYS_write, SYS_fsync, SYS_rename}) {
    absl::Status replaced;
    ASSERT_TRUE(tests::WithFailingCalls({call}, ENOSPC, [&] {
      replaced = ReplaceFile(path_, "new", Durability::kMachine);
    }));
    EXPECT_THAT(replaced, StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr(path_ + ".new")));
    EXPECT_EQ(*ReadSmallFile(path_), "old");
  }
}

TEST_F(SmallFileTest, ReportsAWriteThatTheDiskTakesInPartOnly) {
  ASSERT_THAT(ReplaceFile(path_, "", Durability::kProcess), IsOk());
  absl::Status written;
  {
    const tests::FileSizeLimit limit(2);
    written = WriteSmallFile(path_, "abc");
  }
  EXPECT_EQ(written.message(), "write " + path_ + ": Input/output error");
}

TEST_F(SmallFileTest, RefusesAFileAboveEightMebibytes) {
  ASSERT_THAT(ReplaceFile(path_, "", Durability::kProcess), IsOk());
  ASSERT_EQ(::truncate(path_.c_str(), 8 << 20), 0);
  const absl::StatusOr<std::string> largest = ReadSmallFile(path_);
  ASSERT_THAT(largest.status(), IsOk());
  EXPECT_EQ(largest->size(), size_t{8} << 20);
  ASSERT_EQ(::truncate(path_.c_str(), (8 << 20) + 1), 0);
  EXPECT_THAT(ReadSmallFile(path_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)));
  EXPECT_THAT(ReadSmallFile("/dev/zero").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("8 MiB")));
}

}  // namespace
}  // namespace sandbox

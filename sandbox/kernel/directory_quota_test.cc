// On the file systems of this host, and on small ones in memory.

#include "sandbox/kernel/directory_quota.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
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
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/disk_protection.h"
#include "sandbox/kernel/project_quota.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

namespace wire = ::corral::supervisor::v1;

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

constexpr uint64_t kMiB = 1 << 20;
constexpr uid_t kNobody = 65534;

UniqueFd Open(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// A directory on a file system that enforces projects.
class DirectoryQuotaTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    const std::vector<std::string> places = FindDiskFileSystems().with_projects;
    if (places.size() <= GetParam()) {
      GTEST_SKIP() << "no file system here enforces project quotas";
    }
    std::string path = places[GetParam()] + "/quotaXXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
    ASSERT_EQ(::chown(path_.c_str(), kNobody, kNobody), 0);
    directory_ = Open(path_);
  }
  void TearDown() override {
    if (!path_.empty()) {
      std::filesystem::remove_all(path_);
    }
  }

  absl::StatusOr<DirectoryQuota> Impose(const SpaceLimits& limits) const {
    return DirectoryQuota::Impose(directory_.get(), "workspace /w", limits);
  }
  Project ReadBack() const { return *ReadProject(directory_.get()); }
  SpaceLimits Limits(uint32_t number) const {
    return *ReadProjectLimits(directory_.get(), number);
  }
  // Makes a file of this size as the directory's owner, and returns the errno.
  int WriteAsOwner(const std::string& name, uint64_t size) const {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
        ::_exit(255);
      }
      const int file = ::openat(directory_.get(), name.c_str(),
                                O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      const std::string piece(65536, 'x');
      for (uint64_t done = 0; file >= 0 && done < size; done += piece.size()) {
        if (::write(file, piece.data(), piece.size()) < 0) {
          ::_exit(errno);
        }
      }
      ::_exit(file < 0 ? errno : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }

  std::string path_;
  UniqueFd directory_;
};

// ext4 reports EDQUOT, xfs ENOSPC.
MATCHER(IsFull, "") { return arg == EDQUOT || arg == ENOSPC; }

TEST_P(DirectoryQuotaTest, MakesAnEmptyDirectoryAProject) {
  uint32_t number = 0;
  {
    const absl::StatusOr<DirectoryQuota> quota = Impose({2 * kMiB, 50});
    ASSERT_THAT(quota.status(), IsOk());
    EXPECT_TRUE(ReadBack().handed_on);
    number = ReadBack().number;
    EXPECT_GE(number, DirectoryQuota::kFirstProject);
    EXPECT_LT(number - DirectoryQuota::kFirstProject,
              DirectoryQuota::kProjects);
    EXPECT_EQ(Limits(number).bytes, 2 * kMiB);
    EXPECT_EQ(Limits(number).inodes, 50u);
  }
  // It stays a project, without limits.
  EXPECT_EQ(ReadBack().number, number);
  EXPECT_FALSE(Limits(number).limited());
  EXPECT_EQ(WriteAsOwner("large", 3 * kMiB), 0);
}

TEST_P(DirectoryQuotaTest, BoundsBytesAndFiles) {
  const absl::StatusOr<DirectoryQuota> quota = Impose({2 * kMiB, 20});
  ASSERT_THAT(quota.status(), IsOk());
  EXPECT_EQ(WriteAsOwner("small", kMiB), 0);
  EXPECT_THAT(WriteAsOwner("large", 4 * kMiB), IsFull());
  std::filesystem::remove(path_ + "/large");
  int made = 0;
  while (made < 100 && WriteAsOwner(absl::StrCat("file", made), 0) == 0) {
    ++made;
  }
  EXPECT_LT(made, 20);
  EXPECT_GT(made, 10);
}

TEST_P(DirectoryQuotaTest, RefusesADirectoryWhoseFilesItCouldNotCount) {
  ASSERT_EQ(WriteAsOwner("file", 0), 0);
  EXPECT_THAT(Impose({2 * kMiB, 0}).status(),
              FailsWith(wire::Reply::ISOLATION,
                        HasSubstr("workspace /w: it is not empty")));
  EXPECT_EQ(ReadBack().number, 0u);
  EXPECT_FALSE(ReadBack().handed_on);
}

TEST_P(DirectoryQuotaTest, CountsWhatAnEarlierSandboxLeft) {
  ASSERT_THAT(Impose({2 * kMiB, 0}).status(), IsOk());
  ASSERT_EQ(WriteAsOwner("file", kMiB), 0);
  const absl::StatusOr<DirectoryQuota> quota = Impose({2 * kMiB, 0});
  ASSERT_THAT(quota.status(), IsOk());
  EXPECT_THAT(WriteAsOwner("other", 2 * kMiB), IsFull());
}

TEST_P(DirectoryQuotaTest, StaysUntilTheLastSandboxOfTheDirectoryHasEnded) {
  absl::StatusOr<DirectoryQuota> first = Impose({2 * kMiB, 0});
  ASSERT_THAT(first.status(), IsOk());
  const uint32_t number = ReadBack().number;
  absl::StatusOr<DirectoryQuota> second = Impose({3 * kMiB, 0});
  ASSERT_THAT(second.status(), IsOk());
  EXPECT_EQ(ReadBack().number, number);
  EXPECT_EQ(Limits(number).bytes, 3 * kMiB);
  { const DirectoryQuota ended = *std::move(first); }
  EXPECT_EQ(Limits(number).bytes, 3 * kMiB);
  { const DirectoryQuota ended = *std::move(second); }
  EXPECT_FALSE(Limits(number).limited());
}

TEST_P(DirectoryQuotaTest, LeavesTheLimitsOfAProjectOfTheHost) {
  constexpr uint32_t kHosts = 7;
  ASSERT_THAT(WriteProject(directory_.get(), {kHosts, true}), IsOk());
  ASSERT_EQ(WriteAsOwner("file", 0), 0);
  EXPECT_THAT(Impose({2 * kMiB, 0}).status(),
              FailsWith(wire::Reply::ISOLATION, HasSubstr("project 7")));
  ASSERT_THAT(SetProjectLimits(directory_.get(), kHosts, {kMiB, 0}), IsOk());
  EXPECT_THAT(Impose({kMiB, 0}).status(), IsOk());
  EXPECT_THAT(Impose({2 * kMiB, 0}).status(), IsOk());
  EXPECT_THAT(Impose({kMiB / 2, 0}).status(),
              FailsWith(wire::Reply::ISOLATION, HasSubstr("project 7")));
  EXPECT_THAT(Impose({kMiB, 100}).status(),
              FailsWith(wire::Reply::ISOLATION, HasSubstr("project 7")));
  EXPECT_EQ(Limits(kHosts).bytes, kMiB);
  EXPECT_THAT(SetProjectLimits(directory_.get(), kHosts, {}), IsOk());
}

TEST_P(DirectoryQuotaTest, TakesAProjectOfItsOwnThatIsNotEmpty) {
  ASSERT_THAT(
      WriteProject(directory_.get(), {DirectoryQuota::kFirstProject + 5, true}),
      IsOk());
  ASSERT_EQ(WriteAsOwner("file", kMiB), 0);
  EXPECT_THAT(Impose({2 * kMiB, 0}).status(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(FileSystem, DirectoryQuotaTest,
                         ::testing::Values(size_t{0}, size_t{1}));

// Calls `look` with a directory on a tmpfs with these options.
void OnTmpfs(const char* options, const std::function<void(int)>& look) {
  std::string path = ::testing::TempDir() + "/smallXXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  // The thread has mounts of its own.
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("tmpfs", path.c_str(), "tmpfs", 0, options), 0);
    std::ofstream(path + "/file") << "x";
    look(Open(path).get());
  }).join();
  ::rmdir(path.c_str());
}

TEST(SmallFileSystemTest, NeedsNoQuota) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const auto impose = [](int directory, const SpaceLimits& limits) {
    return DirectoryQuota::Impose(directory, "mount /m", limits).status();
  };
  const auto refused =
      FailsWith(wire::Reply::ISOLATION,
                HasSubstr("mount /m: nothing enforces a limit of its space"));
  OnTmpfs("size=1m,nr_inodes=100", [&](int directory) {
    EXPECT_THAT(impose(directory, {kMiB, 0}), IsOk());
    EXPECT_THAT(impose(directory, {0, 100}), IsOk());
    EXPECT_THAT(impose(directory, {2 * kMiB, 200}), IsOk());
    EXPECT_THAT(impose(directory, {kMiB - 1, 0}), refused);
    EXPECT_THAT(impose(directory, {2 * kMiB, 99}), refused);
  });
  OnTmpfs("size=0,nr_inodes=0", [&](int directory) {
    EXPECT_THAT(impose(directory, {uint64_t{1} << 50, 0}), refused);
  });
}

TEST(SpaceLimitsTest, AreKeptByLowerOnes) {
  EXPECT_FALSE(SpaceLimits().limited());
  EXPECT_TRUE((SpaceLimits{1, 0}.limited()));
  EXPECT_TRUE((SpaceLimits{0, 1}.limited()));
  EXPECT_TRUE((SpaceLimits{5, 0}.AreKeptBy({5, 0})));
  EXPECT_TRUE((SpaceLimits{5, 6}.AreKeptBy({1, 6})));
  EXPECT_FALSE((SpaceLimits{5, 0}.AreKeptBy({6, 0})));
  EXPECT_FALSE((SpaceLimits{5, 6}.AreKeptBy({5, 7})));
  EXPECT_FALSE((SpaceLimits{5, 6}.AreKeptBy({5, 0})));
}

TEST(ProjectQuotaTest, IsEnforcedByNoDirectoryThatIsNone) {
  EXPECT_FALSE(EnforcesProjects(-1));
  EXPECT_FALSE(ReadProject(-1).ok());
  EXPECT_FALSE(WriteProject(-1, {1, true}).ok());
  EXPECT_FALSE(ReadProjectLimits(-1, 1).ok());
  EXPECT_FALSE(SetProjectLimits(-1, 1, {}).ok());
  EXPECT_FALSE(IsUnused(-1, 1).ok());
  const UniqueFd proc = Open("/proc");
  EXPECT_FALSE(EnforcesProjects(proc.get()));
  EXPECT_FALSE(DirectoryQuota::Impose(-1, "mount /m", {kMiB, 0}).ok());
}

}  // namespace
}  // namespace sandbox

#include "tests/chaos/census.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/chaos/host_lists.h"
#include "tests/chaos/kernel_objects.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(GrowthTest, ReportsOneThingMore) {
  Census before;
  before.things["mounts"] = {"/", "/proc"};
  Census after = before;
  EXPECT_THAT(Growth(before, after, 1000), IsEmpty());
  after.things["mounts"].insert("/left");
  EXPECT_THAT(Growth(before, after, 1000),
              ElementsAre("mounts: 3 instead of 2, for example /left"));
}

TEST(GrowthTest, DoesNotReportWhatWasReplaced) {
  Census before;
  before.things["processes"] = {"12 corrald"};
  Census after;
  after.things["processes"] = {"13 corrald"};
  EXPECT_THAT(Growth(before, after, 0), IsEmpty());
}

TEST(GrowthTest, ToleratesMoreOfTheKernelForMoreSandboxes) {
  Census before;
  before.memory["Percpu"] = 1000;
  Census after;
  after.memory["Percpu"] = 1000 + (32 << 10) + 32 * 10;
  EXPECT_THAT(Growth(before, after, 10), IsEmpty());
  EXPECT_THAT(Growth(before, after, 9), ElementsAre(HasSubstr("Percpu: ")));
  before.objects["net_namespace"] = 1;
  after.memory.clear();
  after.objects["net_namespace"] = 1'000'000;
  EXPECT_THAT(Growth(before, after, 1000),
              ElementsAre(HasSubstr("net_namespace: 1000000 instead of 1; ")));
}

TEST(GrowthTest, DoesNotReportWhatTheKernelDidNotShowBefore) {
  Census after;
  after.objects["net_namespace"] = 1'000'000;
  EXPECT_THAT(Growth(Census(), after, 0), IsEmpty());
}

// Runs `live` in a child, then `look` while the child lives.
void WithChild(const std::function<void()>& live,
               const std::function<void(pid_t)>& look) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const sandbox::UniqueFd reader(ready[0]);
  const sandbox::UniqueFd writer(ready[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    live();
    const bool told = ::write(writer.get(), "r", 1) == 1;
    ::pause();
    ::_exit(told ? 0 : 1);
  }
  char byte;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
  look(child);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(HostListsTest, ShowsAProcessOfCorral) {
  WithChild([] { ::prctl(PR_SET_NAME, "corral-left"); },
            [](pid_t child) {
              EXPECT_THAT(ListCorralProcesses(),
                          Contains(absl::StrCat(child, " corral-left")));
            });
  WithChild([] {},
            [](pid_t child) {
              EXPECT_THAT(ListCorralProcesses(),
                          Not(Contains(StartsWith(absl::StrCat(child, " ")))));
            });
}

TEST(HostListsTest, ShowsANamespaceOfAProcessOrOfADescriptor) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  sandbox::UniqueFd kept;
  std::string name;
  WithChild([] { ::unshare(CLONE_NEWUTS); },
            [&](pid_t child) {
              const std::string link = absl::StrCat("/proc/", child, "/ns/uts");
              name = std::filesystem::read_symlink(link);
              EXPECT_THAT(ListNamespaces(), Contains(name));
              kept.Reset(::open(link.c_str(), O_RDONLY | O_CLOEXEC));
            });
  EXPECT_THAT(ListNamespaces(), Contains(name));
}

TEST(HostListsTest, ShowsFilesAndDescriptors) {
  const std::string directory =
      std::filesystem::canonical(::testing::TempDir()).string() + "/census";
  std::filesystem::create_directories(directory + "/below");
  WriteFile(directory + "/below/file", "");
  EXPECT_THAT(ListFiles({directory, "/nowhere"}),
              ElementsAre(directory + "/below", directory + "/below/file"));
  const sandbox::UniqueFd open(
      ::open((directory + "/below/file").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(ListDescriptors(::getpid()),
              Contains(HasSubstr(directory + "/below/file")));
  std::filesystem::remove_all(directory);
}

TEST(KernelObjectsTest, ReadsTheMemoryOfTheKernel) {
  EXPECT_THAT(ReadKernelMemory(), Contains(Pair("SUnreclaim", Gt(0))));
  EXPECT_THAT(ReadKernelMemory(), Contains(Pair("KernelStack", Gt(0))));
}

TEST(KernelObjectsTest, CountsWhatRootSees) {
  if (::access("/proc/slabinfo", R_OK) != 0) {
    GTEST_SKIP() << "this kernel or this user has no /proc/slabinfo";
  }
  EXPECT_THAT(CountKernelObjects(), Contains(Key("kernfs_node_cache")));
}

}  // namespace
}  // namespace tests

#include "sandbox/kernel/visit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/kernel/namespaces.h"
#include "tests/child_process.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uint32_t kFirstId = 0x70000000;

// The namespaces of a process, `pid` or "self": "net:[4026531840]".
template <typename Pid>
std::vector<std::string> Namespaces(Pid pid) {
  std::vector<std::string> names;
  for (const char* kind : {"user", "mnt", "net", "ipc", "uts", "cgroup"}) {
    names.push_back(std::filesystem::read_symlink(
        absl::StrCat("/proc/", pid, "/ns/", kind)));
  }
  return names;
}

class VisitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    const tests::Pipe pipe;
    absl::StatusOr<Child> child = CloneIntoNamespaces(-1, kFirstId);
    ASSERT_THAT(child.status(), IsOk());
    if (child->pid == 0) {
      const char made = ::unshare(CLONE_NEWCGROUP) == 0 ? 'y' : 'n';
      [[maybe_unused]] const ssize_t sent =
          ::write(pipe.writer.get(), &made, 1);
      for (;;) {
        ::pause();
      }
    }
    init_ = *std::move(child);
    char made = 'n';
    EXPECT_EQ(::read(pipe.reader.get(), &made, 1), 1);
    EXPECT_EQ(made, 'y');
    ASSERT_THAT(MapIds(init_.pid, kFirstId), IsOk());
  }
  void TearDown() override { End(); }

  void End() { tests::KillAndReap(std::exchange(init_.pid, 0)); }

  Child init_;
};

TEST_F(VisitTest, WorksInTheNamespacesOfTheProcess) {
  std::vector<std::string> seen;
  const absl::Status visited = Visit(init_.pidfd.get(), [&] {
    seen = Namespaces("self");
    return BecomeSandboxRoot(kFirstId);
  });
  EXPECT_THAT(visited, IsOk());
  EXPECT_EQ(seen, Namespaces(init_.pid));
}

TEST_F(VisitTest, ReturnsTheResultOfTheWork) {
  EXPECT_THAT(Visit(init_.pidfd.get(),
                    [] { return absl::DataLossError("no such luck"); }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("such luck")));
}

TEST_F(VisitTest, LeavesTheCallerWhereItWas) {
  const std::vector<std::string> own = Namespaces("self");
  const std::string place = std::filesystem::current_path();
  const mode_t mask = ::umask(027);
  const int kept = init_.pidfd.get();
  const absl::Status visited = Visit(kept, [kept] {
    ::umask(0);
    ::close(kept);
    return ::chdir("/proc") == 0 ? BecomeSandboxRoot(kFirstId)
                                 : absl::ErrnoToStatus(errno, "chdir");
  });
  EXPECT_THAT(visited, IsOk());
  EXPECT_GE(::fcntl(kept, F_GETFD), 0) << "the descriptor was closed";
  EXPECT_EQ(::geteuid(), 0u);
  EXPECT_EQ(Namespaces("self"), own);
  EXPECT_EQ(std::filesystem::current_path(), place);
  EXPECT_EQ(::umask(mask), 027u);
}

TEST_F(VisitTest, FailsWhenTheProcessHasEnded) {
  End();
  EXPECT_THAT(Visit(init_.pidfd.get(), [] { return absl::OkStatus(); }),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("setns")));
}

TEST_F(VisitTest, IsAbortedWhenTheChildIsKilled) {
  const absl::Status visited = Visit(init_.pidfd.get(), [] {
    ::kill(::getpid(), SIGKILL);
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsAborted(visited)) << visited;
  End();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace sandbox

// Spare supervisors that die or hang before or while they make a sandbox.

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/supervisor_connection.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/text_file.h"

// True while no supervisor can be started for want of descriptors.
std::atomic<bool> no_sockets = false;
// How often one could not.
std::atomic<int> refusals = 0;

// Takes the place of the C library's function.
extern "C" int socketpair(int domain, int type, int protocol,
                          int fds[2]) noexcept {
  if (no_sockets) {
    ++refusals;
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(
      ::syscall(SYS_socketpair, domain, type, protocol, fds));
}

namespace sandbox {
namespace {

using ::testing::IsSupersetOf;
using ::tests::IsOk;

// Waits for the end of the supervisors of an earlier test.
class NoChildren {
 public:
  NoChildren() {
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  }
};

std::vector<pid_t> ReadChildren(const std::filesystem::path& task) {
  std::ifstream file(task / "children");
  return {std::istream_iterator<pid_t>(file), {}};
}

UniqueFd OpenProcess(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void Send(const UniqueFd& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

// False if it lives or is invalid.
bool HasEnded(const UniqueFd& process) {
  pollfd ended = {process.get(), POLLIN, 0};
  return process.valid() && ::poll(&ended, 1, 0) > 0;
}

void AwaitEnd(const UniqueFd& process) {
  ASSERT_TRUE(process.valid());
  pollfd ended = {process.get(), POLLIN, 0};
  while (::poll(&ended, 1, -1) <= 0) {
  }
}

// A supervisor of this process, and its init and spawner.
struct Family {
  pid_t pid = 0;
  UniqueFd supervisor;
  std::vector<UniqueFd> inside;
};

Family FindFamily(pid_t other) {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    for (const pid_t pid : ReadChildren(task.path())) {
      Family family = {pid, OpenProcess(pid), {}};
      for (const pid_t child :
           ReadChildren(absl::StrCat("/proc/", pid, "/task/", pid))) {
        family.inside.push_back(OpenProcess(child));
      }
      if (pid != other && family.inside.size() >= 2 &&
          !HasEnded(family.supervisor)) {
        return family;
      }
    }
  }
  return {};
}

// Waits for a supervisor whose pid is not `other`. Before a sandbox is made,
// the spare is the only child of this process.
Family AwaitFamily(pid_t other = 0) {
  Family family;
  while (family.pid == 0) {
    family = FindFamily(other);
  }
  return family;
}

// Waits until this process has `count` supervisors of sandboxes with `profile`.
// Returns their pids.
std::set<pid_t> AwaitProfile(const std::string& profile, size_t count) {
  std::set<pid_t> found;
  while (found.size() != count) {
    found.clear();
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/self/task")) {
      for (const pid_t pid : ReadChildren(task.path())) {
        if (absl::StrContains(
                tests::ReadFile(absl::StrCat("/proc/", pid, "/cmdline")),
                profile)) {
          found.insert(pid);
        }
      }
    }
  }
  return found;
}

void Stop(const Family& family) {
  Send(family.supervisor, SIGSTOP);
  siginfo_t info;
  ::waitid(P_PIDFD, static_cast<id_t>(family.supervisor.get()), &info,
           WSTOPPED | WNOWAIT);
}

// Kills the supervisor and waits for it and the processes inside: until these
// execute, they hold its socket.
void Kill(const Family& family) {
  Send(family.supervisor, SIGKILL);
  AwaitEnd(family.supervisor);
  for (const UniqueFd& process : family.inside) {
    AwaitEnd(process);
  }
}

// One more sandbox of the same launcher, equal to `first` but for its
// directory.
class FurtherSandbox {
 public:
  FurtherSandbox(TestSandbox& first, const std::string& name) {
    wire::SandboxSpec spec = first.spec();
    spec.set_directory(first.directory() + "/" + name);
    EXPECT_EQ(::mkdir(spec.directory().c_str(), 0755), 0);
    Outcome created;
    connection_ = first.launcher().Create(spec, &recorder_, created.Callback());
    created_ = created.Wait();
  }
  ~FurtherSandbox() {
    Outcome deleted;
    connection_->DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                               deleted.Callback());
    EXPECT_THAT(deleted.Wait(), IsOk());
  }
  FurtherSandbox(const FurtherSandbox&) = delete;
  FurtherSandbox& operator=(const FurtherSandbox&) = delete;

  const absl::Status& created() const { return created_; }
  wire::SandboxTrace trace() { return recorder_.trace(); }
  wire::ExecutionRecord Run(const wire::StartExecution& start) {
    Outcome started;
    connection_->Start(start, started.Callback());
    EXPECT_THAT(started.Wait(), IsOk());
    return recorder_.WaitForEnd(start.id());
  }

 private:
  Recorder recorder_;
  std::unique_ptr<SupervisorConnection> connection_;
  absl::Status created_;
};

class SpareSupervisorTest : public ::testing::Test {
 protected:
  absl::Status Create() { return sandbox_.Create(); }
  wire::StartExecution Shell(const std::string& id, const std::string& script) {
    return sandbox_.Shell(id, script);
  }
  wire::ExecutionRecord Run(const wire::StartExecution& start) {
    return sandbox_.Run(start);
  }

  const NoChildren no_children_;
  TestSandbox sandbox_;
};

TEST_F(SpareSupervisorTest, MakesASandboxWhenTheSpareHasDied) {
  Kill(AwaitFamily());
  ASSERT_THAT(Create(), IsOk());
  EXPECT_EQ(Run(Shell("e1", "exit 4")).exit().wait_status(), 4 << 8);
}

TEST_F(SpareSupervisorTest, PreparesAnotherSpareAfterOneThatDied) {
  Kill(AwaitFamily());
  ASSERT_THAT(Create(), IsOk());
  const Family first = AwaitFamily();
  const Family prepared = AwaitFamily(first.pid);
  {
    FurtherSandbox second(sandbox_, "second");
    EXPECT_THAT(second.created(), IsOk());
    EXPECT_EQ(second.Run(Shell("e1", "exit 5")).exit().wait_status(), 5 << 8);
  }
  // One of the two served the second sandbox. The first sandbox lives on.
  pollfd ended[] = {{first.supervisor.get(), POLLIN, 0},
                    {prepared.supervisor.get(), POLLIN, 0}};
  EXPECT_EQ(::poll(ended, 2, -1), 1);
  EXPECT_EQ(Run(Shell("e1", "exit 4")).exit().wait_status(), 4 << 8);
}

TEST(ShortageTest, PreparesASpareAgainOnceASupervisorCanBeStarted) {
  const NoChildren no_children;
  no_sockets = true;
  TestSandbox sandbox;
  while (refusals == 0) {
    std::this_thread::yield();
  }
  no_sockets = false;
  ASSERT_THAT(sandbox.Create(), IsOk());
  const Family first = AwaitFamily();
  EXPECT_NE(AwaitFamily(first.pid).pid, first.pid);
  EXPECT_EQ(sandbox.Run(sandbox.Shell("e1", "exit 4")).exit().wait_status(),
            4 << 8);
}

TEST_F(SpareSupervisorTest, PreparesSparesWithAProfileThatWasAskedForTwice) {
  sandbox_.spec().set_profile(wire::SandboxSpec::STRICT);
  ASSERT_THAT(Create(), IsOk());
  FurtherSandbox second(sandbox_, "second");
  ASSERT_THAT(second.created(), IsOk());
  // Their own ones, a spare with the profile, and one that is complete.
  const std::set<pid_t> first = AwaitProfile("STRICT", 4);
  FurtherSandbox third(sandbox_, "third");
  ASSERT_THAT(third.created(), IsOk());
  EXPECT_EQ(third.Run(Shell("e1", "exit 5")).exit().wait_status(), 5 << 8);
  // A spare serves it, and there is another one.
  EXPECT_THAT(AwaitProfile("STRICT", 5), IsSupersetOf(first));
}

TEST_F(SpareSupervisorTest, CompletesASandboxThatIsAskedForAgainAndAgain) {
  ASSERT_THAT(Create(), IsOk());
  bool ahead = false;
  for (int i = 0; i < 100 && !ahead; ++i) {
    FurtherSandbox next(sandbox_, absl::StrCat("next-", i));
    ASSERT_THAT(next.created(), IsOk());
    ahead = next.trace().completed_ahead();
    EXPECT_EQ(next.Run(Shell("e1", absl::StrCat("echo ", i, " > seen; exit 5")))
                  .exit()
                  .wait_status(),
              5 << 8);
    std::ifstream seen(sandbox_.workspace() + "/seen");
    int number = -1;
    EXPECT_TRUE(seen >> number && number == i);
  }
  EXPECT_TRUE(ahead);
}

TEST_F(SpareSupervisorTest, ShowsNoWorkspaceThatWasReplacedSinceItWasLent) {
  ASSERT_THAT(Create(), IsOk());
  for (int i = 0; i < 10; ++i) {
    const std::string name = absl::StrCat("next-", i);
    std::filesystem::rename(sandbox_.workspace(), sandbox_.workspace() + name);
    std::filesystem::create_directory(sandbox_.workspace());
    std::ofstream(sandbox_.workspace() + "/name") << name;
    FurtherSandbox next(sandbox_, name);
    ASSERT_THAT(next.created(), IsOk());
    EXPECT_EQ(next.Run(Shell("e1", absl::StrCat("test `cat name` = ", name)))
                  .exit()
                  .wait_status(),
              0)
        << name;
  }
}

TEST_F(SpareSupervisorTest, ReplacesASpareThatDoesNotAnswer) {
  const Family family = AwaitFamily();
  Stop(family);
  ASSERT_THAT(Create(), IsOk());
  AwaitEnd(family.supervisor);
  EXPECT_EQ(Run(Shell("e1", "exit 4")).exit().wait_status(), 4 << 8);
}

enum Victim { kInit, kSpawner, kSupervisor };

class KilledCreationTest : public SpareSupervisorTest,
                           public ::testing::WithParamInterface<Victim> {};

TEST_P(KilledCreationTest, SucceedsWithAnotherSupervisor) {
  const Family family = AwaitFamily();
  // When it continues it has the request, and has not noticed the death.
  Stop(family);
  sandbox_.BeginCreation();
  Send(
      GetParam() == kSupervisor ? family.supervisor : family.inside[GetParam()],
      SIGKILL);
  // The spawner dies with each victim; init waits to be reaped after it.
  AwaitEnd(family.inside[kSpawner]);
  Send(family.supervisor, SIGCONT);
  ASSERT_THAT(sandbox_.FinishCreation(), IsOk());
  AwaitEnd(family.supervisor);
  EXPECT_EQ(Run(Shell("e1", "exit 4")).exit().wait_status(), 4 << 8);
}

INSTANTIATE_TEST_SUITE_P(Processes, KilledCreationTest,
                         ::testing::Values(kInit, kSpawner, kSupervisor));

}  // namespace
}  // namespace sandbox

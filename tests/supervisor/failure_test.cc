// Real sandboxes whose init, spawner or supervisor is killed.

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/storage/record_file.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::SizeIs;
using ::tests::IsOk;

// Each round kills at another moment of the supervisor.
constexpr int kRounds = 6;
constexpr int kCommands = 5;
// The children of a supervisor without commands, in the order in which they are
// started: init, the spawner, and the process that changes modes for commands.
constexpr size_t kIdle = 3;

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/task"))) {
    std::ifstream file(task.path() / "children");
    children.insert(children.end(), std::istream_iterator<pid_t>(file), {});
  }
  return children;
}

UniqueFd OpenProcess(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void AwaitEnd(const UniqueFd& process) {
  pollfd ended = {process.get(), POLLIN, 0};
  while (::poll(&ended, 1, -1) <= 0) {
  }
}

// Returns the name of the control group of the process's sandbox.
std::string CgroupOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/cgroup"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t at = text.find(kSandboxCgroup);
  return at == std::string::npos ? ""
                                 : text.substr(at, text.find('/', at) - at);
}

void AwaitNoCgroup(const std::string& name) {
  while (Cgroup::List(*CgroupHost::Find()).count(name) != 0) {
    std::this_thread::yield();
  }
}

pid_t PeerOf(const PacketSocket& socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  EXPECT_EQ(::getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size),
            0);
  return peer.pid;
}

// Returns the start time that the disk holds.
int64_t StartTime(const TestSandbox& sandbox, const std::string& id) {
  const absl::StatusOr<OutputLogReader> log = OutputLogReader::Open(
      absl::StrCat(sandbox.directory(), "/executions/", id), wire::STDOUT);
  return log.ok() ? log->state()->start_time_ns : 0;
}

enum Victim { kInit, kSpawner, kSupervisor };

wire::SandboxEnd::Cause CauseOf(Victim victim) {
  switch (victim) {
    case kInit:
      return wire::SandboxEnd::INIT_DIED;
    case kSpawner:
      return wire::SandboxEnd::SPAWNER_DIED;
    case kSupervisor:
      return wire::SandboxEnd::SUPERVISOR_DIED;
  }
  return wire::SandboxEnd::CAUSE_UNSPECIFIED;
}

class FailureTest : public ::testing::TestWithParam<Victim> {
 protected:
  // Starts commands, each with descendants, and finds the sandbox's processes.
  void Fill(TestSandbox& sandbox) {
    ASSERT_THAT(sandbox.Create(), IsOk());
    for (int i = 0; i < kCommands; ++i) {
      const std::string id = absl::StrCat("e", i);
      ASSERT_THAT(sandbox.Start(sandbox.Shell(
                      id, "sleep 1000 & setsid sleep 1000 & echo ready; wait")),
                  IsOk());
      ASSERT_TRUE(sandbox.WaitForText(id, "stdout", "ready"));
    }
    processes_.clear();
    for (const pid_t child : ChildrenOf(::getpid())) {
      // A spare supervisor has no more.
      const std::vector<pid_t> below = ChildrenOf(child);
      if (below.size() > kIdle) {
        supervisor_ = OpenProcess(child);
        cgroup_ = CgroupOf(below.back());
        for (const pid_t pid : below) {
          processes_.push_back(OpenProcess(pid));
        }
      }
    }
    ASSERT_THAT(processes_, SizeIs(kIdle + kCommands));
    ASSERT_EQ(Cgroup::List(*CgroupHost::Find()).count(cgroup_), 1u);
  }

  UniqueFd supervisor_;
  // The sandbox's control group.
  std::string cgroup_;
  // Those of an idle sandbox, then the commands.
  std::vector<UniqueFd> processes_;
};

TEST_P(FailureTest, EndsTheWholeSandboxAndInventsNoEnd) {
  for (int round = 0; round < kRounds; ++round) {
    TestSandbox sandbox;
    ASSERT_NO_FATAL_FAILURE(Fill(sandbox));
    const UniqueFd& victim =
        GetParam() == kSupervisor ? supervisor_ : processes_[GetParam()];
    ::syscall(SYS_pidfd_send_signal, victim.get(), SIGKILL, nullptr, 0);
    const wire::SandboxEnd end = sandbox.recorder().WaitForGone();
    EXPECT_EQ(end.cause(), CauseOf(GetParam())) << end.message();
    AwaitEnd(supervisor_);
    for (const UniqueFd& process : processes_) {
      AwaitEnd(process);
    }
    for (int i = 0; i < kCommands; ++i) {
      const std::string id = absl::StrCat("e", i);
      const wire::ExecutionRecord last = sandbox.WaitForEnd(id);
      EXPECT_EQ(last.state(), wire::ExecutionRecord::RUNNING);
      EXPECT_EQ(last.start_time_ns(), StartTime(sandbox, id));
      EXPECT_EQ(sandbox.Output(id, "stdout"), "ready\n");
      wire::ExecutionRecord recorded;
      EXPECT_FALSE(ExecutionRecords::Open(
                       absl::StrCat(sandbox.directory(), "/executions/", id))
                       ->ReadEnd(&recorded)
                       .ok());
    }
    AwaitNoCgroup(cgroup_);
    wire::SandboxEnd kept;
    const bool is_kept =
        ReadRecord(sandbox.directory() + "/failure.pb", &kept).ok();
    EXPECT_EQ(is_kept, GetParam() != kSupervisor);
    if (is_kept) {
      EXPECT_EQ(kept.SerializeAsString(), end.SerializeAsString());
    }
    sandbox.Forget();
  }
}

TEST(DeletionTest, IsReportedToAServerThatReadsLate) {
  TestSandbox sandbox;
  ASSERT_THAT(sandbox.Create(), IsOk());
  sandbox.Forget();
  absl::StatusOr<PacketSocket> server =
      PacketSocket::Connect(sandbox.directory(), "control.sock");
  ASSERT_THAT(server.status(), IsOk());
  const std::string cgroup = CgroupOf(ChildrenOf(PeerOf(*server)).front());
  const auto wait = [&server](int16_t events) {
    pollfd ready = {server->fd(), events, 0};
    ::poll(&ready, 1, -1);
  };
  // The replies are more than the socket holds; the last one is for the
  // deletion.
  constexpr uint64_t kRequests = 2000;
  for (uint64_t id = 1; id <= kRequests; ++id) {
    wire::ToSupervisor request;
    request.set_request_id(id);
    if (id == kRequests) {
      request.mutable_delete_sandbox();
    } else {
      request.mutable_signal()->set_execution_id("none");
    }
    while (absl::IsUnavailable(server->Send(request))) {
      wait(POLLOUT);
    }
  }
  // Everything has ended but the supervisor, which waits for its reader.
  AwaitNoCgroup(cgroup);
  uint64_t answered = 0;
  absl::StatusOr<bool> got = true;
  while (got.ok()) {
    wait(POLLIN);
    wire::FromSupervisor message;
    got = server->Receive(&message);
    answered = std::max(answered, message.reply().request_id());
  }
  EXPECT_EQ(answered, kRequests);
}

INSTANTIATE_TEST_SUITE_P(Processes, FailureTest,
                         ::testing::Values(kInit, kSpawner, kSupervisor));

// The supervisor must distinguish this from the kernel killing all processes of
// a sandbox whose init dies.
TEST(CommandTest, KillingItselfDoesNotFailTheSandbox) {
  TestSandbox sandbox;
  ASSERT_THAT(sandbox.Create(), IsOk());
  const wire::ExecutionRecord end =
      sandbox.Run(sandbox.Shell("e1", "kill -9 $$"));
  EXPECT_EQ(end.state(), wire::ExecutionRecord::EXITED);
  EXPECT_EQ(end.exit().wait_status(), SIGKILL);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::NORMAL);
}

}  // namespace
}  // namespace sandbox

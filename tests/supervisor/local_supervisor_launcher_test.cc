// Real supervisors, real sandboxes, real commands.

#include "sandbox/client/local_supervisor_launcher.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/client/supervisor_connection.h"
#include "tests/failing_calls.h"
#include "tests/failure_matchers.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::FailsWith;
using ::tests::IsOk;

class LocalSupervisorLauncherTest : public ::testing::Test {
 protected:
  absl::Status Create() { return sandbox_.Create(); }
  wire::StartExecution Shell(const std::string& id, const std::string& script) {
    return sandbox_.Shell(id, script);
  }
  wire::ExecutionRecord Run(const wire::StartExecution& start) {
    return sandbox_.Run(start);
  }
  std::string Output(const std::string& id, const std::string& stream) {
    return sandbox_.Output(id, stream);
  }
  absl::Status Write(const std::string& id, uint64_t offset,
                     const std::string& data, bool eof) {
    wire::WriteInput input;
    input.set_execution_id(id);
    input.set_offset(offset);
    input.set_data(data);
    input.set_eof(eof);
    Outcome outcome;
    sandbox_.connection().WriteInput(
        input, [done = outcome.Callback()](absl::Status status,
                                           const wire::InputState&) mutable {
          done(std::move(status));
        });
    return outcome.Wait();
  }

  TestSandbox sandbox_;
};

TEST_F(LocalSupervisorLauncherTest, RunsACommandAndKeepsItsOutputAndItsEnd) {
  ASSERT_THAT(Create(), IsOk());
  const wire::ExecutionRecord end =
      Run(Shell("e1", "echo out; echo err >&2; exit 7"));
  EXPECT_EQ(end.state(), wire::ExecutionRecord::EXITED);
  EXPECT_TRUE(WIFEXITED(end.exit().wait_status()));
  EXPECT_EQ(WEXITSTATUS(end.exit().wait_status()), 7);
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::NORMAL);
  EXPECT_FALSE(end.exit().output_open());
  EXPECT_EQ(Output("e1", "stdout"), "out\n");
  EXPECT_EQ(Output("e1", "stderr"), "err\n");
}

TEST_F(LocalSupervisorLauncherTest, ReportsHowLongTheStepsOfACreationTook) {
  ASSERT_THAT(Create(), IsOk());
  const wire::SandboxTrace trace = sandbox_.recorder().trace();
  EXPECT_GT(trace.prepare_unix_ns(), 0);
  EXPECT_GT(trace.filter_ns(), 0);
  EXPECT_GT(trace.workspaces_ns(), 0);
}

TEST_F(LocalSupervisorLauncherTest,
       AnswersEachCallOfASandboxWhoseSupervisorCannotBeStarted) {
  Recorder recorder;
  Outcome created;
  std::unique_ptr<LocalSupervisorLauncher> launcher;
  std::unique_ptr<SupervisorConnection> connection;
  // No spare is started either: the launcher's threads are those of this one.
  ASSERT_TRUE(tests::WithFailingCalls({SYS_socketpair}, EMFILE, [&] {
    // TSan does not see that abseil makes its texts of errors only once.
    (void)absl::ErrnoToStatus(EMFILE, "");
    launcher = LocalSupervisorLauncher::Create().value();
    connection =
        launcher->Create(sandbox_.spec(), &recorder, created.Callback());
  }));
  EXPECT_THAT(created.Wait(),
              FailsWith(wire::Reply::SHORTAGE, HasSubstr("socketpair")));
  EXPECT_EQ(recorder.WaitForGone().cause(), wire::SandboxEnd::SUPERVISOR_DIED);
  EXPECT_THAT(recorder.WaitForGone().message(), HasSubstr("socketpair"));
  Outcome outcomes[8];
  connection->Start({}, outcomes[0].Callback());
  connection->Signal({}, outcomes[1].Callback());
  connection->Resize({}, outcomes[2].Callback());
  connection->WriteInput(
      {}, [done = outcomes[3].Callback()](absl::Status status,
                                          const wire::InputState&) mutable {
        done(std::move(status));
      });
  connection->AllowHosts({}, outcomes[4].Callback());
  connection->MakeSockets(
      [done = outcomes[5].Callback()](
          const absl::StatusOr<std::vector<UniqueFd>>& sockets) mutable {
        done(sockets.status());
      });
  connection->DeleteExecution("e1", outcomes[6].Callback());
  connection->DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                            outcomes[7].Callback());
  connection->Acknowledge({});
  for (Outcome& outcome : outcomes) {
    EXPECT_THAT(outcome.Wait(), FailsWith(wire::Reply::SUPERVISOR_GONE,
                                          HasSubstr("supervisor is gone")));
  }
}

TEST_F(LocalSupervisorLauncherTest, FindsNoSupervisorWhereNoneLives) {
  Recorder recorder;
  EXPECT_TRUE(absl::IsNotFound(
      sandbox_.launcher().Adopt(sandbox_.spec(), &recorder).status()));
}

TEST_F(LocalSupervisorLauncherTest, ReportsAtWhichStageAStartFailed) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "");
  start.mutable_command()->set_argv(0, "no-such-program");
  wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.state(), wire::ExecutionRecord::FAILED_TO_START);
  EXPECT_EQ(end.failure().stage(), wire::StartFailure::EXEC);
  EXPECT_EQ(end.failure().errno_value(), ENOENT);
  start.set_id("e2");
  start.mutable_command()->set_argv(0, "/usr");
  EXPECT_EQ(Run(start).failure().errno_value(), EACCES);
  start = Shell("e3", "true");
  start.mutable_command()->set_working_directory("/nowhere");
  end = Run(start);
  EXPECT_EQ(end.failure().stage(), wire::StartFailure::CHDIR);
  EXPECT_EQ(end.failure().errno_value(), ENOENT);
}

TEST_F(LocalSupervisorLauncherTest, ConfinesCommands) {
  ASSERT_THAT(Create(), IsOk());
  Run(Shell("e1",
            "id; grep -E '^(Cap|NoNew|Seccomp)' /proc/self/status; "
            "ls /; ls /proc | grep -c '^[0-9]'; ls -l /proc/self/fd; "
            "cat /proc/1/status; cat /proc/self/cgroup"));
  const std::string out = Output("e1", "stdout");
  EXPECT_THAT(out, HasSubstr("uid=1000(corral) gid=1000(corral)"));
  EXPECT_THAT(out, HasSubstr("CapPrm:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("CapBnd:\t0000000000000000"));
  EXPECT_THAT(out, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(out, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(Output("e1", "stderr"), HasSubstr("/proc/1/status: No such"));
}

TEST_F(LocalSupervisorLauncherTest, WritesToTheWorkspaceAsItsOwner) {
  ASSERT_EQ(::chown(sandbox_.workspace().c_str(), 1234, 2345), 0);
  ASSERT_THAT(Create(), IsOk());
  const wire::ExecutionRecord end =
      Run(Shell("e1", absl::StrCat("cd ", sandbox_.workspace(),
                                   " && echo hi > file && mkdir d && id -u && "
                                   "stat -c %u file")));
  EXPECT_EQ(end.exit().wait_status(), 0) << Output("e1", "stderr");
  EXPECT_EQ(Output("e1", "stdout"), "1000\n1000\n");
  struct stat status;
  ASSERT_EQ(::stat((sandbox_.workspace() + "/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 2345u);
}

TEST_F(LocalSupervisorLauncherTest, GivesACommandATerminal) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start =
      Shell("e1",
            "tty; stty size; test -t 0 && test -t 1 && echo yes; "
            "echo > /dev/tty; : < $(tty) && echo opened");
  start.mutable_command()->set_terminal_rows(30);
  start.mutable_command()->set_terminal_columns(100);
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.exit().wait_status(), 0);
  const std::string out = Output("e1", "terminal");
  EXPECT_THAT(out, HasSubstr("/dev/pts/0\r\n30 100\r\nyes\r\n"));
  EXPECT_THAT(out, HasSubstr("opened"));
}

TEST_F(LocalSupervisorLauncherTest, LetsACommandReopenItsStreams) {
  ASSERT_THAT(Create(), IsOk());
  EXPECT_EQ(Run(Shell("e1",
                      "echo out > /dev/stdout; echo err > /dev/stderr; "
                      "echo more >> /proc/self/fd/1"))
                .exit()
                .wait_status(),
            0);
  EXPECT_EQ(Output("e1", "stdout"), "out\nmore\n");
  EXPECT_EQ(Output("e1", "stderr"), "err\n");
  wire::StartExecution start = Shell("e2", "exec cat /dev/stdin");
  start.mutable_command()->set_open_stdin(true);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  EXPECT_THAT(Write("e2", 0, "in", true), IsOk());
  EXPECT_EQ(sandbox_.WaitForEnd("e2").exit().wait_status(), 0);
  EXPECT_EQ(Output("e2", "stdout"), "in");
}

TEST_F(LocalSupervisorLauncherTest, PassesInputByOffset) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "cat");
  start.mutable_command()->set_open_stdin(true);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  EXPECT_THAT(Write("e1", 0, "hello", false), IsOk());
  EXPECT_THAT(Write("e1", 2, "llo wor", false), IsOk());
  EXPECT_THAT(Write("e1", 100, "x", false),
              FailsWith(wire::Reply::OFFSET_GAP, HasSubstr("gap")));
  EXPECT_THAT(Write("e1", 9, "ld", true), IsOk());
  sandbox_.WaitForEnd("e1");
  EXPECT_EQ(Output("e1", "stdout"), "hello world");
}

TEST_F(LocalSupervisorLauncherTest, NeverStartsTheSameIdTwice) {
  ASSERT_THAT(Create(), IsOk());
  const wire::StartExecution start = Shell("e1", "echo once; read x");
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  EXPECT_THAT(sandbox_.Start(start),
              FailsWith(wire::Reply::EXECUTION_EXISTS, HasSubstr("e1")));
  sandbox_.WaitForEnd("e1");
  EXPECT_THAT(sandbox_.Start(start),
              FailsWith(wire::Reply::EXECUTION_EXISTS, HasSubstr("e1")));
  EXPECT_EQ(Output("e1", "stdout"), "once\n");
}

TEST_F(LocalSupervisorLauncherTest, KeepsTheIdentityOfARequest) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "true");
  start.mutable_request()->set_request_id("r1");
  start.mutable_request()->set_digest("d1");
  const wire::ExecutionRecord end = Run(start);
  EXPECT_EQ(end.request().request_id(), "r1");
  EXPECT_EQ(end.request().digest(), "d1");
}

TEST_F(LocalSupervisorLauncherTest, AppendsInputAtItsEnd) {
  ASSERT_THAT(Create(), IsOk());
  wire::StartExecution start = Shell("e1", "cat");
  start.mutable_command()->set_open_stdin(true);
  ASSERT_THAT(sandbox_.Start(start), IsOk());
  for (const char* data : {"one ", "two ", "one "}) {
    wire::WriteInput input;
    input.set_execution_id("e1");
    input.set_data(data);
    input.set_append(true);
    input.set_eof(data == std::string("two "));
    Outcome outcome;
    sandbox_.connection().WriteInput(
        input, [done = outcome.Callback()](absl::Status status,
                                           const wire::InputState&) mutable {
          done(std::move(status));
        });
    EXPECT_THAT(outcome.Wait(), IsOk());
  }
  sandbox_.WaitForEnd("e1");
  EXPECT_EQ(Output("e1", "stdout"), "one two ");
}

TEST_F(LocalSupervisorLauncherTest, ReportsTheEndOfACommandBeforeItsDeletion) {
  ASSERT_THAT(Create(), IsOk());
  ASSERT_THAT(sandbox_.Start(Shell("e1", "sleep 1000 & sleep 1000")), IsOk());
  EXPECT_THAT(sandbox_.DeleteExecution("e1"), IsOk());
  const wire::ExecutionRecord end = sandbox_.WaitForEnd("e1");
  EXPECT_EQ(end.exit().cause(), wire::ExitRecord::CLIENT_SIGNAL);
  EXPECT_NE(::access((sandbox_.directory() + "/executions/e1").c_str(), F_OK),
            0);
}

TEST_F(LocalSupervisorLauncherTest, ReportsExecutionsAgainToALaterServer) {
  ASSERT_THAT(Create(), IsOk());
  Run(Shell("e1", "exit 3"));
  sandbox_.launcher().LetGo();
  const auto successor = LocalSupervisorLauncher::Create();
  ASSERT_THAT(successor.status(), IsOk());
  Recorder second;
  absl::StatusOr<std::unique_ptr<SupervisorConnection>> adopted =
      (*successor)->Adopt(sandbox_.spec(), &second);
  ASSERT_THAT(adopted.status(), IsOk());
  const wire::Snapshot snapshot = second.WaitForSnapshot();
  EXPECT_TRUE(snapshot.ready());
  ASSERT_EQ(snapshot.executions_size(), 1);
  EXPECT_EQ(snapshot.executions(0).exit().wait_status(), 3 << 8);
  sandbox_.Forget();
  Outcome outcome;
  (*adopted)->DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                            outcome.Callback());
  EXPECT_THAT(outcome.Wait(), IsOk());
  EXPECT_EQ(second.WaitForGone().cause(), wire::SandboxEnd::DELETED);
}

TEST_F(LocalSupervisorLauncherTest, KeepsSandboxesRunningWhenTheServerLetsGo) {
  ASSERT_THAT(Create(), IsOk());
  ASSERT_THAT(sandbox_.Start(Shell(
                  "e1", "while [ ! -e go ]; do sleep 0.01; done; exit 3")),
              IsOk());
  sandbox_.launcher().LetGo();
  Outcome never;
  sandbox_.connection().DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                                      never.Callback());
  const auto successor = LocalSupervisorLauncher::Create();
  ASSERT_THAT(successor.status(), IsOk());
  Recorder second;
  absl::StatusOr<std::unique_ptr<SupervisorConnection>> adopted =
      (*successor)->Adopt(sandbox_.spec(), &second);
  ASSERT_THAT(adopted.status(), IsOk());
  EXPECT_EQ(second.WaitForSnapshot().executions_size(), 1);
  std::ofstream(sandbox_.workspace() + "/go") << "go";
  EXPECT_EQ(second.WaitForEnd("e1").exit().wait_status(), 3 << 8);
  EXPECT_FALSE(sandbox_.recorder().Ended("e1"));
  sandbox_.Forget();
  Outcome outcome;
  (*adopted)->DeleteSandbox(wire::ExitRecord::SANDBOX_DELETED,
                            outcome.Callback());
  EXPECT_THAT(outcome.Wait(), IsOk());
  EXPECT_EQ(second.WaitForGone().cause(), wire::SandboxEnd::DELETED);
}

}  // namespace
}  // namespace sandbox

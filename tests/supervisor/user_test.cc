// Sandboxes of a user without privileges, on a host that gives the user no
// control groups.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/failure_matchers.h"
#include "tests/network/name_server.h"
#include "tests/network/upstream_server.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/supervisor/unprivileged_fixture.h"
#include "tests/supervisor/unprivileged_process.h"

namespace sandbox {
namespace {

using ::corral::egress::v1::Rule;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::tests::FailsWith;
using ::tests::IsOk;

std::string Become() { return tests::BecomeUser(tests::Groups::kOfOthers); }

class UserTest : public UnprivilegedTest {};

TEST_F(UserTest, RunsCommandsAsTheUsualUser) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("id -un; id -u; id -g; echo ~corral; exit 7"),
            "corral\n1000\n1000\n/home/corral\n");
  EXPECT_EQ(exit_code(), 7);
  EXPECT_EQ(Shell("grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):' "
                  "/proc/self/status | tr -d '\\t '"),
            "CapPrm:0000000000000000\nCapEff:0000000000000000\n"
            "CapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n");
}

TEST_F(UserTest, OffersItsCommandsToTheOomKillerFirst) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("cat /proc/self/oom_score_adj"), "1000\n");
}

TEST_F(UserTest, WritesToTheWorkspaceAsTheUser) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("echo text > file && mkdir -p a/b && cat file"), "text\n");
  struct stat file = {};
  ASSERT_EQ(::stat((sandbox_->workspace() + "/file").c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, tests::kUser);
  EXPECT_EQ(file.st_gid, tests::kUser);
}

TEST_F(UserTest, CannotWriteToAReadOnlyWorkspace) {
  sandbox_->spec().set_workspace_read_only(true);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_THAT(Shell("echo text > file"), HasSubstr("Read-only file system"));
}

TEST_F(UserTest, HasAFileSystemAndNamespacesOfItsOwn) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("cat /proc/sys/kernel/hostname; tail -n +3 /proc/net/dev | "
                  "cut -d: -f1 | tr -d ' '"),
            "corral\nlo\n");
  EXPECT_THAT(Shell("echo > /usr/x"), HasSubstr("Read-only file system"));
  EXPECT_THAT(Shell("echo > /x"), HasSubstr("Read-only file system"));
  EXPECT_EQ(Shell("echo 1 > /tmp/x && echo 2 > /dev/shm/x && "
                  "echo 3 > ~corral/x && cat /tmp/x /dev/shm/x ~corral/x"),
            "1\n2\n3\n");
}

TEST_F(UserTest, HasATerminal) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  wire::StartExecution start =
      sandbox_->Shell("t", "tty; stty size; echo > /dev/tty");
  start.mutable_command()->set_terminal_rows(30);
  start.mutable_command()->set_terminal_columns(90);
  EXPECT_EQ(sandbox_->Run(start).exit().wait_status(), 0);
}

TEST_F(UserTest, ReportsAtWhichStageAStartFailed) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  const wire::ExecutionRecord record =
      sandbox_->Run(sandbox_->Command("n", {"nosuch"}));
  EXPECT_EQ(record.failure().stage(), wire::StartFailure::EXEC);
  EXPECT_EQ(record.failure().errno_value(), ENOENT);
}

// Prints how many processes have this argument, but not those that count.
std::string Count(const std::string& argument) {
  return absl::StrCat(
      "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | "
      "grep -cx '[",
      argument.substr(0, 1), "]", argument.substr(1), "'");
}

TEST_F(UserTest, KillsATreeWhateverSessionsItMade) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  Shell("setsid sleep 1001 > /dev/null 2>&1 &");
  ASSERT_THAT(
      sandbox_->Start(sandbox_->Shell(
          "tree", absl::StrCat("for i in 1 2 3; do setsid sh -c 'sleep 1002; "
                               "true' & done; (setsid sleep 1002 &); until [ "
                               "\"$(",
                               Count("1002"),
                               ")\" = 4 ]; do :; done; echo ready; wait"))),
      IsOk());
  ASSERT_TRUE(sandbox_->WaitForText("tree", "stdout", "ready"));
  ASSERT_THAT(sandbox_->Signal("tree", SIGKILL), IsOk());
  // It ends when nobody holds its output any more.
  const wire::ExecutionRecord ended = sandbox_->WaitForEnd("tree");
  EXPECT_EQ(ended.exit().wait_status(), SIGKILL);
  EXPECT_FALSE(ended.exit().output_open());
  EXPECT_GE(ended.exit().killed_count(), 4u);
  EXPECT_EQ(Shell(Count("1002")), "0\n");
  // Another command left it.
  EXPECT_EQ(Shell(Count("1001")), "1\n");
}

TEST_F(UserTest, EndsATreeByItsTimeout) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  wire::StartExecution start = sandbox_->Shell(
      "slow", "trap '' TERM; (setsid sleep 1003 &); while :; do sleep 1; done");
  start.mutable_command()->set_wall_timeout_ns(300'000'000);
  start.mutable_command()->set_kill_grace_ns(1'000'000);
  const wire::ExecutionRecord ended = sandbox_->Run(start);
  EXPECT_EQ(ended.exit().cause(), wire::ExitRecord::WALL_TIMEOUT);
  EXPECT_FALSE(ended.exit().output_open());
  EXPECT_EQ(Shell(Count("1003")), "0\n");
}

TEST_F(UserTest, LimitsTheProcessesOfASandboxTogether) {
  sandbox_->spec().set_pids(20);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_THAT(
      Shell("for i in $(seq 40); do sleep 1000 > /dev/null 2>&1 & done; "
            "echo done"),
      AllOf(HasSubstr("fork"), Not(HasSubstr("done"))));
}

TEST_F(UserTest, LimitsTheMemoryOfEachProcess) {
  sandbox_->spec().set_memory_bytes(64 << 20);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_THAT(Shell("python3 -c 'x = b\"x\" * (200 << 20); print(\"got it\")'"),
              AllOf(HasSubstr("MemoryError"), Not(HasSubstr("got it"))));
  EXPECT_EQ(Shell("python3 -c 'x = b\"x\" * (20 << 20); print(\"got it\")'"),
            "got it\n");
}

TEST_F(UserTest, RefusesLimitsThatNothingEnforces) {
  sandbox_->spec().set_cpu_millis(500);
  EXPECT_THAT(sandbox_->Create(),
              FailsWith(wire::Reply::ISOLATION,
                        StartsWith("a limit of CPUs needs control groups")));
}

TEST_F(UserTest, RefusesLimitsOfDisksThatNothingEnforces) {
  sandbox_->spec().set_disk_bytes_per_second(1 << 20);
  EXPECT_THAT(sandbox_->Create(),
              FailsWith(wire::Reply::ISOLATION,
                        StartsWith("a limit of the speed of disks needs")));
  sandbox_.emplace();
  sandbox_->spec().set_disk_bytes(1 << 20);
  EXPECT_THAT(sandbox_->Create(),
              FailsWith(wire::Reply::ISOLATION, StartsWith("workspace ")));
}

TEST_F(UserTest, HasOneUserOnly) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  wire::StartExecution start = sandbox_->Shell("other", "id -u");
  start.mutable_command()->set_user_id(2001);
  EXPECT_THAT(sandbox_->Start(start),
              FailsWith(wire::Reply::ISOLATION, StartsWith("user id 2001: ")));
  start = sandbox_->Shell("same", "id -u");
  start.mutable_command()->set_user_id(1000);
  EXPECT_EQ(sandbox_->Run(start).exit().wait_status(), 0);
  EXPECT_EQ(sandbox_->Output("same", "stdout"), "1000\n");
}

TEST_F(UserTest, SetsTheBitOfADirectoryAndNotOfAFile) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("mkdir d && chmod 2755 d && stat -c %a d"), "2755\n");
  EXPECT_THAT(Shell("umask 022; touch f; chmod 2755 f; stat -c %a f"),
              AllOf(HasSubstr("not permitted"), HasSubstr("644\n")));
}

TEST_F(UserTest, RefusesATimeoutOfCpuTime) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  wire::StartExecution start = sandbox_->Shell("c", "true");
  start.mutable_command()->set_cpu_timeout_ns(1'000'000'000);
  EXPECT_THAT(sandbox_->Start(start),
              FailsWith(wire::Reply::ISOLATION, HasSubstr("CPU time")));
}

TEST_F(UserTest, ReachesTheHostsOfAnAllowList) {
  tests::NameServer names;
  names.Set("api.example", {"127.0.0.1"});
  tests::UpstreamServer upstream(tests::Echo);
  wire::Egress& egress = *sandbox_->spec().mutable_egress();
  egress.add_name_servers(names.address());
  egress.mutable_policy()->add_private_networks("127.0.0.1");
  Rule* const rule = egress.mutable_policy()->add_rules();
  rule->set_host("api.example");
  rule->add_ports(upstream.port());
  rule->set_protocol(Rule::TCP);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  const auto talk = [&](const std::string& host) {
    wire::StartExecution start = sandbox_->Command(
        "to-" + host, {"/bin/bash", "-c",
                       absl::StrCat("(echo hello >&3; read -r line <&3 && echo "
                                    "\"$line\") 3<>/dev/tcp/",
                                    host, "/", upstream.port())});
    sandbox_->Run(start);
    return sandbox_->Output("to-" + host, "stdout");
  };
  EXPECT_EQ(talk("api.example"), "hello\n");
  EXPECT_EQ(talk("127.0.0.1"), "");
}

TEST_F(UserTest, ProtectsReadOnlyPaths) {
  std::filesystem::create_directory(sandbox_->workspace() + "/ci");
  std::ofstream(sandbox_->workspace() + "/ci/build") << "true\n";
  sandbox_->spec().add_read_only_paths("ci");
  sandbox_->spec().add_read_only_paths("hooks/pre");
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_THAT(Shell("echo evil > ci/build"), HasSubstr("Read-only"));
  EXPECT_NE(Shell("mv ci other; mkdir -p hooks/pre"), "");
  EXPECT_EQ(Shell("cat ci/build; echo fine > free && cat free"),
            "true\nfine\n");
}

TEST_F(UserTest, MakesNamespacesInTheProfileNested) {
  sandbox_->spec().set_profile(wire::SandboxSpec::NESTED);
  ASSERT_THAT(sandbox_->Create(), IsOk());
  EXPECT_EQ(Shell("unshare --user --map-root-user --mount --pid --fork "
                  "--mount-proc sh -c 'id -u; ls -d /proc/[0-9]* | head -1'"),
            "0\n/proc/1\n");
}

TEST_F(UserTest, RunsManyCommandsOneAfterTheOther) {
  ASSERT_THAT(sandbox_->Create(), IsOk());
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(Shell(absl::StrCat("echo ", i)), absl::StrCat(i, "\n"));
  }
}

}  // namespace
}  // namespace sandbox

int main(int argc, char** argv) {
  return tests::RunTests(argc, argv, sandbox::Become);
}

// Attacks in sandboxes of a user without privileges. Commands have the user id
// of corrald, the supervisor and the spawner there, and of all that belongs to
// the user: only namespaces and mounts are between them.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/supervisor/sandbox_fixture.h"
#include "tests/supervisor/unprivileged_process.h"

namespace tests {
namespace {

using ::sandbox::TestSandbox;
using ::sandbox::wire::SandboxSpec;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Becomes the user, with the attacking program in OwnDirectory(). Returns why
// it cannot.
std::string Begin() {
  // Its directory may be closed to the user.
  const std::string program = ReadAll("tests/payloads/attack");
  std::string why = BecomeUser(Groups::kOfOthers);
  if (why.empty()) {
    const std::string copy = OwnDirectory() + "/attack";
    std::ofstream(copy, std::ios::binary) << program;
    ::chmod(copy.c_str(), 0755);
  }
  return why;
}

class UnprivilegedAttackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!WhySkipped().empty()) {
      GTEST_SKIP() << WhySkipped();
    }
    sandbox_.emplace();
  }

  SandboxSpec& spec() { return sandbox_->spec(); }
  void Create() {
    std::filesystem::copy(OwnDirectory() + "/attack",
                          sandbox_->workspace() + "/attack");
    ASSERT_THAT(sandbox_->Create(), IsOk());
  }
  // Runs a shell line and returns what it printed.
  std::string Shell(const std::string& script) {
    const std::string id = absl::StrCat("e", ++runs_);
    sandbox_->Run(sandbox_->Shell(id, script));
    return absl::StrCat(sandbox_->Output(id, "stdout"),
                        sandbox_->Output(id, "stderr"));
  }
  void ExpectUsable() { EXPECT_EQ(Shell("echo usable"), "usable\n"); }

  std::optional<TestSandbox> sandbox_;

 private:
  int runs_ = 0;
};

TEST_F(UnprivilegedAttackTest, SeesNoProcessOfCorral) {
  Create();
  EXPECT_THAT(Shell("cat /proc/[0-9]*/comm"), Not(HasSubstr("corral")));
  EXPECT_EQ(Shell("cat /proc/1/status 2>&1 | head -n 1"),
            "cat: /proc/1/status: No such file or directory\n");
}

TEST_F(UnprivilegedAttackTest, KillsNeitherTheSpawnerNorInit) {
  Create();
  Shell("exec ./attack kill-all");
  ExpectUsable();
  Shell("kill -9 1; kill -19 1");
  ExpectUsable();
  // Pids that the host's processes have.
  Shell(
      "for pid in $(seq 2 40000); do [ $pid = $$ ] || kill -9 $pid; done "
      "2>/dev/null");
  ExpectUsable();
}

// A command may signal init, since it has its user id. Init ignores that.
TEST_F(UnprivilegedAttackTest, NeitherTracesNorReadsInit) {
  Create();
  EXPECT_THAT(Shell("exec ./attack assault 1"),
              StartsWith("seize: EPERM\nattach: EPERM\nreadv: EPERM\n"
                         "writev: EPERM\n"));
  ExpectUsable();
}

TEST_F(UnprivilegedAttackTest, LeavesNoStartUnanswered) {
  Create();
  ASSERT_THAT(
      sandbox_->Start(sandbox_->Shell("stopper", "exec ./attack stop-all")),
      IsOk());
  ASSERT_TRUE(sandbox_->WaitForText("stopper", "stdout", "stopping"));
  sandbox::Outcome outcomes[5];
  for (int i = 0; i < 5; ++i) {
    sandbox_->connection().Start(
        sandbox_->Shell(absl::StrCat("s", i), "echo hi"),
        outcomes[i].Callback());
  }
  for (sandbox::Outcome& outcome : outcomes) {
    EXPECT_THAT(outcome.Wait(), IsOk());
  }
  EXPECT_THAT(sandbox_->Delete(), IsOk());
}

TEST_F(UnprivilegedAttackTest, ShedsNotTheMarkByWhichItIsKilled) {
  Create();
  ASSERT_THAT(sandbox_->Start(sandbox_->Shell(
                  "hidden",
                  "ulimit -Sc 0; ulimit -Hc 0; setsid sh -c 'ulimit -Hc 0; "
                  "echo ready; exec sleep 1005' & wait")),
              IsOk());
  ASSERT_TRUE(sandbox_->WaitForText("hidden", "stdout", "ready"));
  Shell("./attack core-limit");
  ASSERT_THAT(sandbox_->Signal("hidden", SIGKILL), IsOk());
  EXPECT_FALSE(sandbox_->WaitForEnd("hidden").exit().output_open());
  EXPECT_EQ(Shell("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -cx "
                  "'100[5]'"),
            "0\n");
}

TEST_F(UnprivilegedAttackTest, ChangesNoSettingOfTheKernel) {
  const std::string setting = "/proc/sys/kernel/printk_ratelimit_burst";
  const std::string before = ReadAll(setting);
  for (const auto profile : {SandboxSpec::DEFAULT, SandboxSpec::NESTED}) {
    sandbox_.emplace();
    spec().set_profile(profile);
    Create();
    const std::string write = "echo 11 > " + setting;
    Shell(write);
    Shell(
        "unshare --user --map-root-user --mount --pid --fork --mount-proc "
        "sh -c '" +
        write + "'");
    EXPECT_EQ(ReadAll(setting), before);
  }
}

TEST_F(UnprivilegedAttackTest, FindsNoFileOfTheUser) {
  const std::string secret = OwnDirectory() + "/secret";
  std::ofstream(secret) << "a secret";
  Create();
  EXPECT_THAT(Shell("cat " + secret), HasSubstr("No such file"));
  EXPECT_THAT(Shell("cat /proc/self/root" + secret + " /proc/1/root" + secret +
                    " /proc/self/cwd/../../" + secret),
              Not(HasSubstr("a secret")));
  EXPECT_THAT(Shell("ls " + sandbox_->directory() + "/executions"),
              HasSubstr("No such file"));
}

// No server allows such a mount. If it did, the supervisor would still not take
// a command for the server.
TEST_F(UnprivilegedAttackTest, CommandsNoSupervisorThroughItsSocket) {
  auto* const mount = spec().add_mounts();
  mount->set_source(sandbox_->directory());
  mount->set_target("/opt/state");
  mount->set_writable(true);
  Create();
  EXPECT_EQ(Shell("ls -d /opt/state/control.sock"),
            "/opt/state/control.sock\n");
  EXPECT_THAT(Shell("python3 -c 'import socket\n"
                    "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                    "s.connect(\"/opt/state/control.sock\")\n"
                    "print(\"connected\", flush=True)\n"
                    "print(\"got\", len(s.recv(1000)))'"),
              StartsWith("connected\n"));
  ExpectUsable();
}

TEST_F(UnprivilegedAttackTest, ReachesNoOtherSandboxOfTheUser) {
  Create();
  TestSandbox victim;
  ASSERT_THAT(victim.Create(), IsOk());
  ASSERT_THAT(victim.Start(victim.Shell(
                  "v", "echo mine > /tmp/file; echo ready; sleep 1000")),
              IsOk());
  ASSERT_TRUE(victim.WaitForText("v", "stdout", "ready"));
  Shell("exec ./attack kill-all");
  EXPECT_THAT(Shell("cat /tmp/file"), HasSubstr("No such file"));
  EXPECT_THAT(Shell("ls " + victim.workspace()), HasSubstr("No such file"));
  EXPECT_EQ(victim.Run(victim.Shell("w", "cat /tmp/file")).exit().wait_status(),
            0);
  EXPECT_EQ(victim.Output("w", "stdout"), "mine\n");
  ASSERT_THAT(victim.Signal("v", SIGTERM), IsOk());
  EXPECT_EQ(victim.WaitForEnd("v").exit().wait_status(), SIGTERM);
}

TEST_F(UnprivilegedAttackTest, TakesNoMoreProcessesThanItMay) {
  spec().set_pids(50);
  Create();
  ASSERT_THAT(
      sandbox_->Start(sandbox_->Shell("bomb", "exec ./attack fork-bomb")),
      IsOk());
  TestSandbox victim;
  ASSERT_THAT(victim.Create(), IsOk());
  EXPECT_EQ(victim.Run(victim.Shell("v", "echo fine")).exit().wait_status(), 0);
  ASSERT_THAT(sandbox_->Delete(), IsOk());
}

}  // namespace
}  // namespace tests

int main(int argc, char** argv) {
  return tests::RunTests(argc, argv, tests::Begin);
}

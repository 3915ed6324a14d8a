// Attacks of commands on commands of other users in the same sandbox.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"
#include "tests/attack/host_processes.h"
#include "tests/status_matchers.h"

namespace tests {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// 0 is the sandbox's user.
constexpr uint32_t kOne = 2001;
constexpr uint32_t kOther = 2002;
constexpr std::pair<uint32_t, uint32_t> kPairs[] = {
    {0, kOne}, {kOne, 0}, {kOther, kOne}};

class UserAttackTest : public AttackTest {
 protected:
  sandbox::wire::StartExecution RequestAs(uint32_t user, const std::string& id,
                                          const std::string& script) const {
    sandbox::wire::StartExecution start = sandbox_.Shell(id, script);
    start.mutable_command()->set_user_id(user);
    return start;
  }
  // Runs a shell line as a user and returns what it printed.
  std::string As(uint32_t user, const std::string& script) {
    const std::string id = absl::StrCat("as", ++commands_);
    last_ = sandbox_.Run(RequestAs(user, id, script));
    return absl::StrCat(sandbox_.Output(id, "stdout"),
                        sandbox_.Output(id, "stderr"));
  }
  // Returns those of the shell lines that succeed for a user. They have no
  // single quotes.
  std::string Succeeding(uint32_t user, const std::vector<std::string>& lines) {
    std::string script;
    for (const std::string& line : lines) {
      absl::StrAppend(&script, "(", line, ") </dev/null >/dev/null 2>&1 && ",
                      "echo '", line, "'\n");
    }
    return As(user, script);
  }
  // Starts a command that stays, whose id is `id`. Returns its pid inside.
  std::string StartVictim(uint32_t user, const std::string& id) {
    sandbox::wire::StartExecution start =
        RequestAs(user, id, "echo $$ ready; exec sleep 1000");
    start.mutable_command()->add_environment("SECRET=hidden");
    EXPECT_THAT(sandbox_.Start(start), IsOk());
    EXPECT_TRUE(sandbox_.WaitForText(id, "stdout", "ready"));
    const std::string text = sandbox_.Output(id, "stdout");
    return text.substr(0, text.find(' '));
  }
  bool Runs(const std::string& id) { return !sandbox_.recorder().Ended(id); }

 private:
  int commands_ = 0;
};

TEST_F(UserAttackTest, NeitherSignalsNorTracesACommandOfAnotherUser) {
  Create();
  for (const auto& [attacker, victim] : kPairs) {
    const std::string id = absl::StrCat("victim-", attacker, "-", victim);
    const std::string pid = StartVictim(victim, id);
    EXPECT_EQ(As(attacker, absl::StrCat("exec ./attack assault ", pid)),
              RefusedAssault() + "affinity: EPERM\nsetpgid: ESRCH\n")
        << attacker << " attacks " << victim;
    EXPECT_TRUE(Runs(id));
    // Its own user does reach it.
    EXPECT_EQ(As(victim, absl::StrCat("kill -0 ", pid, " && echo reached")),
              "reached\n");
  }
}

TEST_F(UserAttackTest, SeesNothingOfACommandOfAnotherUser) {
  Create();
  for (const auto& [attacker, victim] : kPairs) {
    const std::string pid =
        StartVictim(victim, absl::StrCat("victim-", attacker, "-", victim));
    std::vector<std::string> looks = {absl::StrCat("ls /proc | grep -x ", pid)};
    for (const char* file : {"", "/environ", "/cmdline", "/mem", "/maps",
                             "/status", "/fd", "/cwd/", "/root/tmp", "/exe"}) {
      looks.push_back(absl::StrCat("ls -d /proc/", pid, file));
    }
    EXPECT_EQ(Succeeding(attacker, looks), "")
        << attacker << " looks at " << victim;
    EXPECT_THAT(As(victim, absl::StrCat("cat /proc/", pid, "/environ")),
                HasSubstr("SECRET=hidden"));
  }
}

TEST_F(UserAttackTest, KillsOnlyCommandsOfItsOwnUser) {
  Create();
  StartVictim(0, "ordinary");
  StartVictim(kOne, "one");
  As(kOther, "exec ./attack kill-all");
  EXPECT_TRUE(Runs("ordinary"));
  EXPECT_TRUE(Runs("one"));
  As(0, "exec ./attack kill-all");
  EXPECT_EQ(sandbox_.WaitForEnd("ordinary").exit().wait_status(), SIGKILL);
  EXPECT_TRUE(Runs("one"));
  ExpectUsable();
}

TEST_F(UserAttackTest, ReplacesNoFileOfAnotherUser) {
  Create();
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    const auto in = [place](const char* line) {
      return absl::StrReplaceAll(line, {{"@", place}});
    };
    EXPECT_EQ(As(kOne, in("umask 022; mkdir @/dir && echo mine > @/dir/file && "
                          "echo mine > @/file && echo mine > @/secret && "
                          "chmod 600 @/secret && echo done")),
              "done\n");
    std::vector<std::string> attempts;
    for (const char* attempt :
         {"rm -f @/file", "mv @/file @/moved", "ln -sfT /etc/passwd @/file",
          "echo x > @/file", "echo x >> @/file", "truncate -s 0 @/file",
          "chmod 777 @/file", "touch @/file", "rm -r @/dir", "mv @/dir @/d",
          "rm -f @/dir/file", "touch @/dir/new", "cat @/secret",
          "rm -f @/secret", "chmod 777 @", "mv -T $(mktemp) @/file"}) {
      attempts.push_back(in(attempt));
    }
    EXPECT_EQ(Succeeding(0, attempts), "");
    EXPECT_EQ(Succeeding(kOther, attempts), "");
    EXPECT_EQ(As(kOne, in("cat @/file @/dir/file @/secret; ls @/dir")),
              "mine\nmine\nmine\nfile\n");
    EXPECT_EQ(As(kOther, in("cat @/file")), "mine\n") << "its mode allows it";
  }
}

TEST_F(UserAttackTest, BecomesNoOtherUser) {
  Create();
  const std::filesystem::path program = sandbox_.workspace() + "/id";
  std::filesystem::copy("/usr/bin/id", program);
  std::filesystem::permissions(program, std::filesystem::perms::all |
                                            std::filesystem::perms::set_uid |
                                            std::filesystem::perms::set_gid);
  EXPECT_EQ(As(kOne, "./id"), "uid=2001 gid=2001 groups=2001\n");
  EXPECT_THAT(As(kOne, "exec ./attack identity"),
              HasSubstr("setuid(0): EPERM\n"
                        "setuid(1): EPERM\n"
                        "setresuid(-1,0,-1): EPERM\n"
                        "setresgid(0,0,0): EPERM\n"
                        "setgroups: EPERM\n"
                        "setfsuid(0): 2001\n"
                        "setfsuid(again): 2001\n"));
  EXPECT_EQ(
      Succeeding(kOne,
                 {"python3 -c \"import os; os.setresuid(1000, 1000, 1000)\"",
                  "python3 -c \"import os; os.setresgid(1000, 1000, 1000)\"",
                  "python3 -c \"import os; os.setuid(2002)\"",
                  "python3 -c \"import os; os.setgid(2002)\"",
                  "test $(python3 -c \"print(1)\") = 1"}),
      "test $(python3 -c \"print(1)\") = 1\n")
      << "only the last one works";
  EXPECT_EQ(As(kOne, "grep Cap /proc/self/status | grep -v 0000000000000000"),
            "");
}

TEST_F(UserAttackTest, OwnsItsStreams) {
  Create();
  EXPECT_EQ(As(kOne,
               "echo out > /dev/stdout; echo err > /dev/stderr; "
               "stat -L -c %u:%g /proc/self/fd/1"),
            "out\n2001:2001\nerr\n");
}

TEST_F(UserAttackTest, OpensNoTerminalOfAnotherUser) {
  Create();
  for (const auto& [attacker, victim] : kPairs) {
    const std::string id = absl::StrCat("terminal-", attacker, "-", victim);
    sandbox::wire::StartExecution start =
        RequestAs(victim, id,
                  "echo own > $(tty); stat -c %u:%a $(tty); echo ready; "
                  "exec sleep 1000");
    start.mutable_command()->set_terminal_rows(24);
    start.mutable_command()->set_terminal_columns(80);
    ASSERT_THAT(sandbox_.Start(start), IsOk());
    ASSERT_TRUE(sandbox_.WaitForText(id, "terminal", "ready\r\n"));
    EXPECT_EQ(sandbox_.Output(id, "terminal"),
              absl::StrCat("own\r\n", victim == 0 ? 1000 : victim,
                           ":600\r\nready\r\n"));
    EXPECT_THAT(As(attacker, "for t in /dev/pts/[0-9]*; do echo x > $t; done"),
                HasSubstr("Permission denied"));
    EXPECT_THAT(As(attacker, "for t in /dev/pts/[0-9]*; do cat $t; done"),
                HasSubstr("Permission denied"));
    EXPECT_THAT(sandbox_.DeleteExecution(id), IsOk());
  }
  // A terminal that it makes itself.
  EXPECT_EQ(As(kOne,
               "python3 -c 'import os; "
               "print(os.fstat(os.openpty()[1]).st_uid)'"),
            "2001\n");
}

TEST_F(UserAttackTest, HasTheRightsOfOthersInAWorkspace) {
  Create();
  const std::string workspace = sandbox_.workspace();
  EXPECT_EQ(Shell("umask 022; echo text > readable; echo text > shared; "
                  "chmod 666 shared; umask 077; echo text > secret"),
            "");
  EXPECT_EQ(As(kOne, "cat readable shared"), "text\ntext\n");
  EXPECT_EQ(As(kOne, "echo more >> shared && echo wrote"), "wrote\n");
  EXPECT_EQ(Succeeding(kOne, {"cat secret", "echo x > readable", "rm readable",
                              "mv readable x", "chmod 777 shared", "touch new",
                              "mkdir new", "touch /home/corral/new"}),
            "");
  ASSERT_EQ(::chmod(workspace.c_str(), 0777), 0);
  EXPECT_THAT(As(kOne, "touch new"), HasSubstr("Value too large"));
  EXPECT_THAT(As(kOne, "mkdir new"), HasSubstr("Value too large"));
  EXPECT_FALSE(std::filesystem::exists(workspace + "/new"));
  std::ifstream shared(workspace + "/shared");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(shared), {}),
            "text\nmore\n");
}

TEST_F(UserAttackTest, SharesNoMemoryWithAnotherUser) {
  Create();
  ASSERT_THAT(sandbox_.Start(RequestAs(kOne, "victim",
                                       "exec ./attack hold-shared-memory")),
              IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("victim", "stdout", "hold: 0"));
  const std::string find = "exec ./attack find-shared-memory";
  EXPECT_EQ(As(kOther, find), "find: EACCES\n");
  EXPECT_EQ(As(0, find), "find: EACCES\n");
  EXPECT_EQ(As(kOne, find), "find: 0\n");
  ASSERT_THAT(sandbox_.DeleteExecution("victim"), IsOk());
  EXPECT_EQ(As(kOne, find), "find: ENOENT\n") << "it is gone with its command";
}

TEST_F(UserAttackTest, LeavesNoProcessBehind) {
  Create();
  const std::string mark = absl::StrCat("corral-user-", ::getpid());
  ASSERT_THAT(sandbox_.Start(RequestAs(
                  kOne, "victim", "./attack daemon; sleep 1000; : " + mark)),
              IsOk());
  ASSERT_TRUE(sandbox_.WaitForText("victim", "stdout", "daemon"));
  const std::optional<HostProcess> victim = FindProcess(mark);
  ASSERT_TRUE(victim.has_value());
  EXPECT_EQ(victim->user % 65536, kOne);
  ASSERT_THAT(sandbox_.DeleteExecution("victim"), IsOk());
  // Init and the spawner.
  EXPECT_THAT(ProcessesOfSandbox(victim->user), SizeIs(2));
}

}  // namespace
}  // namespace tests

// The real program: how the spawner starts commands and reports that it
// cannot, and what init does with orphans.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "sandbox/base/instant.h"
#include "sandbox/base/small_file.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/init/program_fixture.h"

namespace sandbox {
namespace {

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    program_.emplace();
  }
  // A command that a shell runs.
  static TestCommand Shell(const std::string& script) {
    return {{"/bin/sh", "-c", script}};
  }
  StartedProgram::Started Start(const TestCommand& command) {
    program_->Write(command);
    return program_->Start(program_->Fds());
  }
  // Starts the command and returns its wait status.
  int Run(const TestCommand& command) {
    const StartedProgram::Started started = Start(command);
    EXPECT_EQ(started.answer.stage, SpawnStage::kNone);
    EXPECT_EQ(started.answer.error, 0);
    return WaitFor(started.pidfd);
  }
  // Returns a child of this process that is none of `others`, when there is
  // one.
  static pid_t AwaitChildBeside(const std::set<pid_t>& others) {
    for (;;) {
      const std::string children = *ReadSmallFile(
          absl::StrCat("/proc/self/task/", ::getpid(), "/children"));
      for (const absl::string_view text :
           absl::StrSplit(children, ' ', absl::SkipEmpty())) {
        pid_t child = 0;
        if (absl::SimpleAtoi(text, &child) && others.count(child) == 0) {
          return child;
        }
      }
      ::sched_yield();
    }
  }
  // The spawner may have this many descriptors.
  void LimitDescriptors(rlim_t count) {
    const rlimit limit = {count, 64};
    ASSERT_EQ(
        ::prlimit(program_->spawner().pid, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
  // The command failed before it executed, in a process that has ended.
  void ExpectFailure(const StartedProgram::Started& started, SpawnStage stage,
                     int error) {
    EXPECT_EQ(started.answer.stage, stage);
    EXPECT_EQ(started.answer.error, error);
    ASSERT_TRUE(started.pidfd.valid());
    EXPECT_EQ(WaitFor(started.pidfd), 1 << 8);
  }
  // The request was refused without a process.
  void ExpectRefusal(const StartedProgram::Started& started, int error) {
    EXPECT_EQ(started.answer.stage, SpawnStage::kPrepare);
    EXPECT_EQ(started.answer.error, error);
    EXPECT_FALSE(started.pidfd.valid());
  }

  std::optional<StartedProgram> program_;
};

TEST_F(ProgramTest, RunsACommandWithItsArgumentsEnvironmentAndDirectory) {
  TestCommand command = {{"/bin/sh", "-c", "echo $# \"$1\" $A $(pwd)", "x", ""},
                         {"A=b c", "PATH=/usr/bin:/bin"},
                         "/usr"};
  EXPECT_EQ(Run(command), 0);
  EXPECT_EQ(program_->Output(), "1  b c /usr\n");
  EXPECT_EQ(program_->Tasks(), "0") << "it has not joined its cgroup";
}

TEST_F(ProgramTest, LeavesTheExitStatusOfACommandToTheSupervisor) {
  EXPECT_EQ(Run(Shell("exit 7")), 7 << 8);
  EXPECT_EQ(Run(Shell("kill -TERM $$")), SIGTERM);
}

TEST_F(ProgramTest, SearchesThePathOnlyWhenAsked) {
  TestCommand command = {{"true"}, {"PATH=/nowhere:/usr/bin:/bin"}};
  ExpectFailure(Start(command), SpawnStage::kExec, ENOENT);
  command.search = true;
  EXPECT_EQ(Run(command), 0);
  command.argv = {"no-such-program"};
  ExpectFailure(Start(command), SpawnStage::kExec, ENOENT);
}

TEST_F(ProgramTest, ReportsTheStepThatFailedAndItsErrno) {
  ExpectFailure(Start({{"/etc/passwd"}}), SpawnStage::kExec, EACCES);
  TestCommand nowhere = Shell("true");
  nowhere.working_directory = "/nowhere";
  ExpectFailure(Start(nowhere), SpawnStage::kChdir, ENOENT);
  program_->Write(Shell("true")).terminal = 1;
  ExpectFailure(program_->Start(program_->Fds()), SpawnStage::kPrepare, ENOTTY);
}

TEST_F(ProgramTest, NotesWhenATracedStartReachedItsStages) {
  program_->Write(Shell("true")).traced = 1;
  const int64_t before = MonotonicNanoseconds();
  const StartedProgram::Started started = program_->Start(program_->Fds());
  const int64_t after = MonotonicNanoseconds();
  EXPECT_EQ(WaitFor(started.pidfd), 0);
  const SpawnTimes& times = started.answer.times;
  EXPECT_LE(before, times.taken_ns);
  EXPECT_LE(times.taken_ns, times.executing_ns);
  EXPECT_LE(times.executing_ns, times.executed_ns);
  EXPECT_LE(times.executed_ns, after);
}

TEST_F(ProgramTest, NotesNoStageThatAStartHasNotReached) {
  program_->Write({{"/nowhere"}}).traced = 1;
  StartedProgram::Started started = program_->Start(program_->Fds());
  EXPECT_GT(started.answer.times.executing_ns, 0);
  EXPECT_EQ(started.answer.times.executed_ns, 0);
  ExpectFailure(started, SpawnStage::kExec, ENOENT);
  TestCommand nowhere = Shell("true");
  nowhere.working_directory = "/nowhere";
  program_->Write(nowhere).traced = 1;
  started = program_->Start(program_->Fds());
  EXPECT_GT(started.answer.times.taken_ns, 0);
  EXPECT_EQ(started.answer.times.executing_ns, 0);
  ExpectFailure(started, SpawnStage::kChdir, ENOENT);
  started = Start(Shell("true"));
  EXPECT_EQ(started.answer.times.taken_ns, 0) << "nobody asked for it";
  EXPECT_EQ(started.answer.times.executing_ns, 0);
  EXPECT_EQ(started.answer.times.executed_ns, 0);
  EXPECT_EQ(WaitFor(started.pidfd), 0);
}

TEST_F(ProgramTest, LimitsTheSizeOfTheFilesOfACommand) {
  program_
      ->Write(Shell("ulimit -S -f; ulimit -H -f; "
                    "ulimit -f unlimited 2>/dev/null || echo kept"))
      .file_bytes = 8192;
  EXPECT_EQ(WaitFor(program_->Start(program_->Fds()).pidfd), 0);
  // In blocks of 512 bytes.
  EXPECT_EQ(program_->Output(), "16\n16\nkept\n");
}

TEST_F(ProgramTest, LeavesALowerLimitOfFilesThatItHasInherited) {
  const rlimit limit = {4096, 4096};
  ASSERT_EQ(::prlimit(program_->spawner().pid, RLIMIT_FSIZE, &limit, nullptr),
            0);
  program_->Write(Shell("ulimit -S -f; ulimit -H -f")).file_bytes = 8192;
  EXPECT_EQ(WaitFor(program_->Start(program_->Fds()).pidfd), 0);
  EXPECT_EQ(program_->Output(), "8\n8\n");
}

TEST_F(ProgramTest, RunsNoCommandThatCannotJoinItsCgroup) {
  const UniqueFd read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<int> fds = program_->Fds();
  fds.push_back(read_only.get());
  program_->Write(Shell("echo ran"));
  ExpectFailure(program_->Start(fds), SpawnStage::kCgroup, EBADF);
  EXPECT_EQ(program_->Output(), "");
  // With v2 there is no process at all.
  program_->Write(Shell("echo ran")).group = SpawnGroup::kDirectory;
  const StartedProgram::Started started = program_->Start(program_->Fds());
  EXPECT_EQ(started.answer.stage, SpawnStage::kClone);
  EXPECT_EQ(started.answer.error, EBADF);
  EXPECT_FALSE(started.pidfd.valid());
  EXPECT_EQ(program_->Output(), "");
}

TEST_F(ProgramTest, ReportsACommandThatWasKilledBeforeItExecuted) {
  // It waits for room in the pipe that plays the `tasks` file.
  int tasks[2];
  ASSERT_EQ(::pipe2(tasks, O_CLOEXEC), 0);
  const UniqueFd read(tasks[0]);
  const UniqueFd write(tasks[1]);
  const int size = ::fcntl(write.get(), F_GETPIPE_SZ);
  const std::string full(static_cast<size_t>(size), 'x');
  ASSERT_EQ(::write(write.get(), full.data(), full.size()), size);
  std::vector<int> fds = program_->Fds();
  fds.push_back(write.get());
  program_->Write(Shell("echo ran"));
  std::thread killer([this] {
    const std::set<pid_t> others = {program_->init().pid,
                                    program_->spawner().pid};
    ::kill(AwaitChildBeside(others), SIGKILL);
  });
  const StartedProgram::Started started = program_->Start(fds);
  killer.join();
  EXPECT_EQ(started.answer.stage, SpawnStage::kCgroup);
  EXPECT_EQ(started.answer.error, EINTR);
  ASSERT_TRUE(started.pidfd.valid());
  EXPECT_EQ(WaitFor(started.pidfd), SIGKILL);
  EXPECT_EQ(program_->Output(), "");
  EXPECT_EQ(Run(Shell("exit 3")), 3 << 8);
}

TEST_F(ProgramTest, RefusesAMalformedRequestAndServesTheNext) {
  ++program_->Write(Shell("echo ran")).argument_count;
  ExpectRefusal(program_->Start(program_->Fds()), EINVAL);
  program_->Write(Shell("echo ran"));
  ExpectRefusal(program_->Start({}), EINVAL);
  ExpectRefusal(program_->Start({0, 1, 2}), EINVAL);
  EXPECT_EQ(program_->Output(), "");
  EXPECT_EQ(Run(Shell("exit 3")), 3 << 8);
}

TEST_F(ProgramTest, RefusesARequestWhoseCgroupTheKernelDropped) {
  // The spawner has descriptors 0 to 3, so there is room for the three streams
  // only.
  LimitDescriptors(7);
  ExpectRefusal(Start(Shell("echo ran")), EMFILE);
  EXPECT_EQ(program_->Output(), "");
  // The streams were closed: there is room for four and a pidfd.
  LimitDescriptors(9);
  EXPECT_EQ(Run(Shell("exit 3")), 3 << 8);
  // The descriptors of that command were closed, too, and its pidfd.
  EXPECT_EQ(Run(Shell("exit 3")), 3 << 8);
}

TEST_F(ProgramTest, RefusesARequestWithoutRoomForAnyDescriptor) {
  LimitDescriptors(4);
  ExpectRefusal(Start(Shell("echo ran")), EMFILE);
  EXPECT_EQ(program_->Output(), "");
}

TEST_F(ProgramTest, LeavesACommandNoPrivilegeAndNoDescriptor) {
  EXPECT_EQ(Run(Shell("id -u; id -g; id -G; ls /proc/self/fd;"
                      "grep -E 'CapPrm|CapEff|CapBnd' "
                      "/proc/self/status")),
            0);
  // ls has the directory open.
  EXPECT_EQ(program_->Output(),
            "1000\n1000\n1000\n0\n1\n2\n3\n"
            "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
            "CapBnd:\t0000000000000000\n");
}

TEST_F(ProgramTest, GivesACommandTheUserOfTheRequestAndNeverRoot) {
  program_
      ->Write(Shell("id -u; id -g; id -G; kill -0 1 2>/dev/null || echo kept"))
      .user_id = 2001;
  EXPECT_EQ(WaitFor(program_->Start(program_->Fds()).pidfd), 0);
  EXPECT_EQ(program_->Output(), "2001\n2001\n2001\nkept\n");
  for (const uint32_t root : {0U, ~0U}) {
    program_->Write(Shell("id -u")).user_id = root;
    ExpectRefusal(program_->Start(program_->Fds()), EINVAL);
  }
  // The sandbox has 65536 ids.
  program_->Write(Shell("id -u")).user_id = 65536;
  ExpectFailure(program_->Start(program_->Fds()), SpawnStage::kPrepare, EINVAL);
}

TEST_F(ProgramTest, GivesACommandASessionOfItsOwn) {
  EXPECT_EQ(Run(Shell("exec cut -d' ' -f1,6 /proc/self/stat")), 0);
  const std::pair<std::string, std::string> process_and_session =
      absl::StrSplit(absl::StripSuffix(program_->Output(), "\n"), ' ');
  EXPECT_NE(process_and_session.first, "");
  EXPECT_EQ(process_and_session.first, process_and_session.second);
}

TEST_F(ProgramTest, TheSpawnerKeepsOnlyTheCapabilitiesThatCommandsNeed) {
  const std::string status = *ReadSmallFile(
      absl::StrCat("/proc/", program_->spawner().pid, "/status"));
  // SETGID and SETUID.
  EXPECT_TRUE(absl::StrContains(status, "CapPrm:\t00000000000000c0")) << status;
  EXPECT_TRUE(absl::StrContains(status, "CapEff:\t00000000000000c0")) << status;
  EXPECT_TRUE(absl::StrContains(status, "CapBnd:\t0000000000000000")) << status;
}

TEST_F(ProgramTest, InitGivesUpItsSystemCalls) {
  // It does so after its execution, which the fixture waits for.
  const std::string path =
      absl::StrCat("/proc/", program_->init().pid, "/status");
  while (!absl::StrContains(*ReadSmallFile(path), "Seccomp:\t1\n")) {
    ::sched_yield();
  }
}

TEST_F(ProgramTest, TheSpawnerEndsWithItsSupervisor) {
  program_->CloseSocket();
  EXPECT_EQ(WaitFor(program_->spawner().pidfd), 0);
}

TEST_F(ProgramTest, TheSpawnerEndsIfItCannotAnswer) {
  program_->StartWithoutAnswer();
  EXPECT_EQ(WaitFor(program_->spawner().pidfd), 1 << 8);
}

TEST_F(ProgramTest, InitReapsOrphansAndSurvivesSignalsFromInside) {
  int hold[2];
  ASSERT_EQ(::pipe2(hold, O_CLOEXEC), 0);
  const UniqueFd read(hold[0]);
  UniqueFd write(hold[1]);
  std::vector<int> fds = program_->Fds();
  fds[0] = read.get();
  // A shell gives a background command another standard input.
  program_->Write(Shell("exec 3<&0; cat <&3 >/dev/null 2>&1 & printf $!"));
  StartedProgram::Started started = program_->Start(fds);
  EXPECT_EQ(WaitFor(started.pidfd), 0);
  const std::string orphan = program_->Output();
  EXPECT_EQ(Run(Shell(absl::StrCat("kill -0 ", orphan))), 0);
  write.Reset();
  // A zombie could still be signalled, and this would never return.
  EXPECT_EQ(Run(Shell(absl::StrCat("while kill -0 ", orphan,
                                   "; do :; done 2>/dev/null"))),
            0);
  EXPECT_NE(Run(Shell("kill -KILL 1 2>/dev/null")), 0);
  EXPECT_EQ(Run(Shell("exit 4")), 4 << 8);
}

}  // namespace
}  // namespace sandbox

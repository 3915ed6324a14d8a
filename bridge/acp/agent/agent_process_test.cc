#include "bridge/acp/agent/agent_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace bridge {
namespace {

// Reads to the end of the stream: until no process holds the other end.
std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t size = 0; (size = ::read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, size);
  }
  return text;
}

std::string ReadLine(int fd) {
  std::string line;
  for (char c = 0; c != '\n' && ::read(fd, &c, 1) == 1;) {
    line.push_back(c);
  }
  return line;
}

void AwaitEnd(const AgentProcess& agent) {
  pollfd ended = {agent.ended(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, -1), 1);
}

// Makes a shell that looks like a server to the keeper.
constexpr char kCopyServer[] =
    "cp --remove-destination \"$(readlink -f /bin/sh)\" "
    "\"$TEST_TMPDIR/corrald\" && ";

int CountFiles(const std::string& directory) {
  const std::filesystem::directory_iterator files(directory);
  return std::distance(begin(files), end(files));
}

absl::StatusOr<AgentProcess> Shell(const std::string& script) {
  return AgentProcess::Start({"sh", "-c", script});
}

TEST(AgentProcessTest, ConnectsStandardInputAndOutput) {
  auto agent = Shell("read -r line; echo \"got $line\"; exit 3");
  ASSERT_TRUE(agent.ok());
  ASSERT_EQ(::write(agent->input(), "it\n", 3), 3);
  EXPECT_EQ(ReadAll(agent->output()), "got it\n");
  AwaitEnd(*agent);
  EXPECT_EQ(agent->Finish(), 3);
}

TEST(AgentProcessTest, ReportsWhyTheAgentDidNotStart) {
  EXPECT_EQ(AgentProcess::Start({"/nonexistent"}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(AgentProcess::Start({"/"}).status().code(),
            absl::StatusCode::kPermissionDenied);
  // No keeper is left behind.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(AgentProcessTest, TerminatesTheProcessGroup) {
  auto agent = Shell("sleep 1000 & echo up; wait");
  ASSERT_TRUE(agent.ok());
  EXPECT_EQ(ReadLine(agent->output()), "up\n");
  agent->Terminate();
  EXPECT_EQ(ReadAll(agent->output()), "");
  EXPECT_EQ(agent->Finish(), 128 + SIGTERM);
}

TEST(AgentProcessTest, KillsDescendantsThatLeftTheProcessGroup) {
  auto agent = Shell(
      "setsid sh -c 'echo up; sleep 1000 & sleep 1000' & "
      "trap '' TERM; wait; sleep 1000");
  ASSERT_TRUE(agent.ok());
  EXPECT_EQ(ReadLine(agent->output()), "up\n");
  agent->Kill();
  // The end of the stream: no descendant holds it any more.
  EXPECT_EQ(ReadAll(agent->output()), "");
  EXPECT_EQ(agent->Finish(), 128 + SIGKILL);
}

TEST(AgentProcessTest, KillsDaemonsAfterTheAgentHasEnded) {
  auto agent = Shell("(setsid sleep 1000 &) ; echo up; exit 4");
  ASSERT_TRUE(agent.ok());
  EXPECT_EQ(ReadLine(agent->output()), "up\n");
  AwaitEnd(*agent);
  agent->Kill();
  EXPECT_EQ(ReadAll(agent->output()), "");
  EXPECT_EQ(agent->Finish(), 4);
}

TEST(AgentProcessTest, FinishesAnAgentThatStillRuns) {
  auto agent = Shell("exec sleep 1000");
  ASSERT_TRUE(agent.ok());
  EXPECT_EQ(agent->Finish(), 128 + SIGKILL);
  EXPECT_EQ(ReadAll(agent->output()), "");
}

TEST(AgentProcessTest, KillsEveryDescendantWhenItsOwnerIsGone) {
  sandbox::UniqueFd output;
  {
    auto agent = Shell("setsid sh -c 'echo up; sleep 1000' & wait");
    ASSERT_TRUE(agent.ok());
    EXPECT_EQ(ReadLine(agent->output()), "up\n");
    output.Reset(::dup(agent->output()));
    // Closes the socket to the keeper, as the end of this process would.
  }
  EXPECT_EQ(ReadAll(output.get()), "");
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0);
}

TEST(AgentProcessTest, KillsEveryDescendantWhenTheKeeperWasKilled) {
  auto agent = Shell("(setsid sleep 1000 &); echo $PPID; setsid sleep 1000");
  ASSERT_TRUE(agent.ok());
  const pid_t keeper = std::stoi(ReadLine(agent->output()));
  EXPECT_EQ(::kill(keeper, SIGKILL), 0);
  AwaitEnd(*agent);
  EXPECT_EQ(agent->Finish(), 128 + SIGKILL);
  EXPECT_EQ(ReadAll(agent->output()), "");
}

TEST(AgentProcessTest, DiesWithItsKeeper) {
  auto agent = Shell("echo $$ $PPID; exec sleep 1000");
  ASSERT_TRUE(agent.ok());
  const std::string pids = ReadLine(agent->output());
  const pid_t pid = std::stoi(pids);
  EXPECT_EQ(::kill(std::stoi(pids.substr(pids.find(' '))), SIGKILL), 0);
  // This process adopts it.
  int status = 0;
  while (::waitpid(pid, &status, 0) != pid) {
    std::this_thread::yield();
  }
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(agent->Finish(), 128 + SIGKILL);
}

// Runs an agent that starts a daemon, the shell with this path, and returns
// true if the daemon outlives the agent.
bool Outlives(const std::string& preparation, const std::string& daemon) {
  // The pipe shows whether it is alive: it inherits the end for writing.
  int alive[2];
  EXPECT_EQ(::pipe(alive), 0);
  const sandbox::UniqueFd reader(alive[0]);
  sandbox::UniqueFd writer(alive[1]);
  auto agent = Shell(absl::StrCat(preparation, " (setsid ", daemon,
                                  " -c 'echo $$; kill -STOP $$' &)"));
  EXPECT_TRUE(agent.ok());
  const pid_t pid = std::stoi(ReadLine(agent->output()));
  AwaitEnd(*agent);
  EXPECT_EQ(agent->Finish(), 0);
  writer.Reset();
  pollfd ended = {reader.get(), POLLIN, 0};
  const bool outlives = ::poll(&ended, 1, 0) == 0;
  if (outlives) {
    EXPECT_EQ(::kill(pid, SIGKILL), 0);
  }
  EXPECT_EQ(ReadAll(reader.get()), "");
  return outlives;
}

TEST(AgentProcessTest, SparesAServerThatTheAgentStarted) {
  EXPECT_TRUE(Outlives(kCopyServer, "\"$TEST_TMPDIR/corrald\""));
}

TEST(AgentProcessTest, SparesAServerWhoseProgramWasReplaced) {
  // Opens the program, which has lost its name.
  EXPECT_TRUE(Outlives(absl::StrCat(kCopyServer,
                                    "exec 9<\"$TEST_TMPDIR/corrald\" && "
                                    "rm \"$TEST_TMPDIR/corrald\" && "),
                       "/proc/self/fd/9"));
}

TEST(AgentProcessTest, SparesTheSupervisorsOfAServerAndNoOtherProgram) {
  std::ifstream shell("/bin/sh", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(shell)),
                         std::istreambuf_iterator<char>());
  const auto outlives = [&text](const char* name) {
    const sandbox::UniqueFd program(::memfd_create(name, 0));
    EXPECT_EQ(::write(program.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    return Outlives("", absl::StrCat("/proc/self/fd/", program.get()));
  };
  EXPECT_TRUE(outlives("corral-supervisor"));
  EXPECT_FALSE(outlives("other"));
}

TEST(AgentProcessTest, TerminatesNothingAfterTheAgentHasEnded) {
  ::signal(SIGPIPE, SIG_IGN);
  // The server is in the agent's process group, whose number another group may
  // have by now.
  auto agent = Shell(absl::StrCat(
      kCopyServer,
      "exec 3<&0; \"$TEST_TMPDIR/corrald\" -c "
      "'echo up; read -r line; echo \"got $line\"' <&3 & exec sleep 0"));
  ASSERT_TRUE(agent.ok());
  EXPECT_EQ(ReadLine(agent->output()), "up\n");
  AwaitEnd(*agent);
  agent->Terminate();
  EXPECT_EQ(agent->Finish(), 0);
  ASSERT_EQ(::write(agent->input(), "it\n", 3), 3);
  EXPECT_EQ(ReadAll(agent->output()), "got it\n");
}

TEST(AgentProcessTest, IsKeptByAProcessThatHoldsNoStreamOfItsOwner) {
  auto agent = Shell("echo $PPID");
  ASSERT_TRUE(agent.ok());
  const pid_t keeper = std::stoi(ReadLine(agent->output()));
  AwaitEnd(*agent);
  // The socket and the signals.
  EXPECT_EQ(CountFiles(absl::StrCat("/proc/", keeper, "/fd")), 2);
  EXPECT_EQ(::getpgid(keeper), keeper);
  std::string name;
  std::getline(std::ifstream(absl::StrCat("/proc/", keeper, "/comm")), name);
  EXPECT_EQ(name, "corral-keeper");
  EXPECT_EQ(agent->Finish(), 0);
}

}  // namespace
}  // namespace bridge

// The requests that the supervisor sends to a spawner, and the end of one.

#include "sandbox/supervisor/spawner.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/init/exchange.h"
#include "sandbox/supervisor/spawner_fixture.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;

TEST_F(SpawnerTest, SendsTheCommandAndItsDescriptors) {
  command_.add_argv("");
  command_.add_environment("A=1");
  command_.set_terminal_rows(24);
  Spawner::Job job = Job(command_);
  job.file_bytes = 8192;
  job.traced = true;
  spawner_->Spawn(std::move(job));
  char byte;
  const absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(theirs_.get(), &byte, 1);
  ASSERT_TRUE(packet.ok()) << packet.status();
  EXPECT_EQ(packet->fds.size(), 3u);
  EXPECT_EQ(Strings(), "/tmp|/bin/true||A=1|");
  EXPECT_EQ(Request().argument_count, 2u);
  EXPECT_EQ(Request().environment_count, 1u);
  EXPECT_EQ(Request().path_offset, 0u);
  EXPECT_EQ(Request().terminal, 1u);
  EXPECT_EQ(Request().traced, 1u);
  EXPECT_EQ(Request().file_bytes, 8192u);
  EXPECT_EQ(Request().user_id, kCommandId);
}

TEST_F(SpawnerTest, SendsTheUserOfACommandThatHasAnIdOfItsOwn) {
  command_.set_user_id(2001);
  spawner_->Spawn(Job(command_));
  EXPECT_EQ(Request().user_id, 2001u);
}

TEST_F(SpawnerTest, GivesACommandWithoutInputTheEndOfAFile) {
  Spawner::Job job = Job(command_);
  job.streams.erase(job.streams.begin());
  spawner_->Spawn(std::move(job));
  char byte;
  const absl::StatusOr<ReceivedPacket> packet =
      ReceiveWithFds(theirs_.get(), &byte, 1);
  ASSERT_TRUE(packet.ok()) << packet.status();
  ASSERT_EQ(packet->fds.size(), 3u);
  struct stat status;
  ASSERT_EQ(::fstat(packet->fds[0].get(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_EQ(::read(packet->fds[0].get(), &byte, 1), 0);
  EXPECT_EQ(::write(packet->fds[0].get(), "x", 1), -1);
}

TEST_F(SpawnerTest, SendsTheSearchPathForAProgramWithoutASlash) {
  command_.set_argv(0, "true");
  command_.add_environment("XPATH=/no");
  command_.add_environment("PATH=/a:/b");
  spawner_->Spawn(Job(command_));
  EXPECT_STREQ(exchange_ + Request().path_offset, "/a:/b");
  Answer(ENOENT, {});
  loop_->Run();
  EXPECT_THAT(answers_, ElementsAre(ENOENT));
  EXPECT_FALSE(pidfd_.valid());
}

TEST_F(SpawnerTest, SendsTheDefaultSearchPathWithoutPATH) {
  command_.set_argv(0, "true");
  spawner_->Spawn(Job(command_));
  EXPECT_STREQ(exchange_ + Request().path_offset,
               "/usr/local/bin:/usr/bin:/bin");
}

TEST_F(SpawnerTest, SendsOneRequestAtATime) {
  wire::CommandSpec second = command_;
  second.set_argv(0, "/bin/second");
  spawner_->Spawn(Job(command_));
  spawner_->Spawn(Job(second));
  EXPECT_EQ(Requests(), 1u);
  EXPECT_EQ(Strings(), "/tmp|/bin/true|");
  Answer(0, {Child().get()});
  loop_->Run();
  EXPECT_TRUE(pidfd_.valid());
  EXPECT_EQ(Requests(), 1u);
  EXPECT_EQ(Strings(), "/tmp|/bin/second|");
}

TEST_F(SpawnerTest, RefusesACommandThatIsTooLargeAndContinues) {
  wire::CommandSpec large = command_;
  large.add_argv(std::string(kExchangeSize, 'x'));
  wire::CommandSpec many = command_;
  for (int i = 0; i < 700'000; ++i) {
    many.add_argv("");
  }
  spawner_->Spawn(Job(large));
  spawner_->Spawn(Job(many));
  EXPECT_THAT(answers_, ElementsAre(E2BIG, E2BIG));
  EXPECT_EQ(Requests(), 0u);
  spawner_->Spawn(Job(command_));
  EXPECT_EQ(Requests(), 1u);
}

TEST_F(SpawnerTest, ReleasesTheMemoryOfALargeRequest) {
  command_.add_argv(std::string(1 << 20, 'x'));
  spawner_->Spawn(Job(command_));
  constexpr size_t kInside = 512 << 10;
  EXPECT_EQ(exchange_[kInside], 'x');
  Answer(ENOENT, {});
  loop_->Run();
  EXPECT_EQ(exchange_[kInside], '\0');
}

TEST_F(SpawnerTest, ReportsTheEndOfTheSpawner) {
  spawner_->Spawn(Job(command_));
  theirs_.Reset();
  loop_->Run();
  EXPECT_EQ(lost_, 1);
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, ReportsTheEndOfASpawnerThatCannotBeAsked) {
  // Sending fails before the loop reports the end of the socket.
  ASSERT_EQ(::shutdown(theirs_.get(), SHUT_RD), 0);
  spawner_->Spawn(Job(command_));
  loop_->Run();
  EXPECT_EQ(lost_, 1);
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, ReportsTheEndOfTheSpawnerOnce) {
  theirs_.Reset();
  // Sending fails, and then the loop finds the end of the socket, too.
  spawner_->Spawn(Job(command_));
  for (int turn = 0; turn < 3; ++turn) {
    loop_->After(absl::ZeroDuration(), [this] { loop_->Stop(); });
    loop_->Run();
  }
  EXPECT_EQ(lost_, 1);
}

TEST_F(SpawnerTest, ContinuesAProcessThatWasStoppedBeforeItExecuted) {
  spawner_->Spawn(Job(command_));
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    ::raise(SIGSTOP);
    Answer(ENOENT, {});
    ::_exit(0);
  }
  loop_->Run();
  EXPECT_THAT(answers_, ElementsAre(ENOENT));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(SpawnerTest, NamesTheVersionOfTheCgroups) {
  Spawner::Job job = Job(command_);
  job.group = SpawnGroup::kDirectory;
  spawner_->Spawn(std::move(job));
  EXPECT_EQ(Request().group, SpawnGroup::kDirectory);
  EXPECT_EQ(Request().terminal, 0u);
  Answer(ENOENT, {});
  loop_->Run();
  spawner_->Spawn(Job(command_));
  EXPECT_EQ(Request().group, SpawnGroup::kTasks);
}

TEST_F(SpawnerTest, BeginsAStartOnlyWhenTheOneBeforeIsOver) {
  std::string begun;
  for (const char* name : {"a", "b"}) {
    Spawner::Job job = Job(command_);
    job.begin = [&begun, name] {
      begun += name;
      return 0;
    };
    spawner_->Spawn(std::move(job));
  }
  EXPECT_EQ(begun, "a");
  Answer(ENOENT, {});
  loop_->Run();
  EXPECT_EQ(begun, "ab");
}

TEST_F(SpawnerTest, FailsAStartThatDoesNotBegin) {
  Spawner::Job job = Job(command_);
  job.begin = [] { return ESRCH; };
  spawner_->Spawn(std::move(job));
  EXPECT_THAT(answers_, ElementsAre(ESRCH));
}

TEST_F(SpawnerTest, CallsAfterTheAnswerThatIsAwaited) {
  std::vector<size_t> called;
  EXPECT_FALSE(spawner_->AfterAnswer([&] { called.push_back(9); }));
  spawner_->Spawn(Job(command_));
  spawner_->Spawn(Job(command_));
  EXPECT_TRUE(
      spawner_->AfterAnswer([&] { called.push_back(answers_.size()); }));
  EXPECT_THAT(called, ElementsAre());
  for (int i = 0; i < 2; ++i) {
    Answer(ENOENT, {});
    loop_->Run();
  }
  EXPECT_THAT(called, ElementsAre(1));
  EXPECT_FALSE(spawner_->AfterAnswer([] {}));
}

TEST_F(SpawnerTest, ReportsARequestThatCannotBeSentAndContinues) {
  wire::CommandSpec second = command_;
  second.set_argv(0, "/bin/second");
  Spawner::Job job = Job(command_);
  job.group_fds = {-1};
  spawner_->Spawn(std::move(job));
  EXPECT_THAT(answers_, ElementsAre(EBADF));
  spawner_->Spawn(Job(second));
  EXPECT_EQ(Requests(), 1u);
  EXPECT_EQ(Strings(), "/tmp|/bin/second|");
}

TEST_F(SpawnerTest, SearchesTheLastPathOfTheEnvironment) {
  command_.set_argv(0, "true");
  command_.add_environment("PATH=/a");
  command_.add_environment("PATH=/b");
  spawner_->Spawn(Job(command_));
  EXPECT_STREQ(exchange_ + Request().path_offset, "/b");
  EXPECT_EQ(lost_, 0);
}

TEST_F(SpawnerTest, LetsTheLoopRestAfterTheEndOfTheSpawner) {
  theirs_.Reset();
  loop_->Run();
  ASSERT_EQ(lost_, 1);
  bool rests = false;
  loop_->WhenIdle([&rests] { rests = true; });
  for (int turn = 0; turn < 5 && !rests; ++turn) {
    loop_->After(absl::ZeroDuration(), [this] { loop_->Stop(); });
    loop_->Run();
  }
  EXPECT_TRUE(rests);
}

TEST_F(SpawnerTest, LeavesItsLoopNothingWhenItIsDestroyed) {
  loop_->SetEvents(ours_, 0);
  spawner_.reset();
  EXPECT_DEATH(loop_->SetEvents(ours_, 0), "is not watched");
}

TEST_F(SpawnerTest, LeavesStoppedProcessesAloneWhenNoStartIsUnderWay) {
  for (const bool lost : {false, true}) {
    spawner_->Spawn(Job(command_));
    if (lost) {
      theirs_.Reset();
    } else {
      Answer(ENOENT, {});
    }
    loop_->Run();
    const pid_t child = ::fork();
    if (child == 0) {
      ::raise(SIGSTOP);
      ::_exit(3);
    }
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT);
    // A look at the start would be due before.
    loop_->After(absl::Milliseconds(40), [this] { loop_->Stop(); });
    loop_->Run();
    info = {};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG);
    EXPECT_EQ(info.si_pid, child) << "another has found the stop";
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  }
  EXPECT_EQ(lost_, 1);
}

}  // namespace
}  // namespace sandbox

// The supervisor's end, against a spawner that the test plays. The real one is
// in every test of a sandbox.

#include "sandbox/supervisor/spawner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "tests/no_descriptors.h"

namespace sandbox {
namespace {

using ::testing::ElementsAre;

class SpawnerTest : public ::testing::Test {
 protected:
  SpawnerTest() {
    EXPECT_EQ(::ftruncate(file_.get(), kExchangeSize), 0);
    exchange_ = static_cast<char*>(
        ::mmap(nullptr, kExchangeSize, PROT_READ, MAP_SHARED, file_.get(), 0));
    command_.add_argv("/bin/true");
    command_.set_working_directory("/tmp");
    Connect();
  }
  ~SpawnerTest() override {
    ::munmap(exchange_, kExchangeSize);
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }

  // Makes a new spawner in place of the last one.
  void Connect() {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    spawner_.reset();
    theirs_.Reset(fds[1]);
    ours_ = fds[0];
    spawner_ = *Spawner::Create(
        loop_.get(), UniqueFd(fds[0]), file_, [](pid_t) { return false; },
        [this] {
          ++lost_;
          loop_->Stop();
        });
  }
  // A pidfd of the test's one child, which does nothing.
  UniqueFd Child() {
    if (child_ == 0) {
      child_ = ::fork();
      while (child_ == 0) {
        ::pause();
      }
    }
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
  }

  Spawner::Job Job(const wire::CommandSpec& command) {
    Spawner::Job job;
    job.command = &command;
    for (const int fd : {0, 1, 2}) {
      job.streams.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    }
    job.done = [this](UniqueFd pidfd, SpawnAnswer answer) {
      answers_.push_back(answer.error);
      pidfd_ = std::move(pidfd);
      loop_->Stop();
    };
    return job;
  }
  SpawnRequest Request() const {
    SpawnRequest request;
    std::memcpy(&request, exchange_, sizeof(request));
    return request;
  }
  // The strings of the request, with a '|' behind each.
  std::string Strings() const {
    std::string text(exchange_ + kExchangeStrings, Request().strings_size);
    for (char& c : text) {
      c = c == '\0' ? '|' : c;
    }
    return text;
  }
  size_t Requests() {
    size_t count = 0;
    char byte;
    while (::recv(theirs_.get(), &byte, 1, MSG_DONTWAIT) == 1) {
      ++count;
    }
    return count;
  }
  void Answer(int error, const std::vector<int>& fds) {
    const SpawnAnswer answer = {
        error == 0 ? SpawnStage::kNone : SpawnStage::kExec, error};
    ASSERT_TRUE(SendWithFds(theirs_.get(), &answer, sizeof(answer), fds).ok());
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
  const UniqueFd file_ = UniqueFd(::memfd_create("exchange", MFD_CLOEXEC));
  pid_t child_ = 0;
  UniqueFd theirs_;
  // Owned by spawner_.
  int ours_ = -1;
  char* exchange_ = nullptr;
  std::unique_ptr<Spawner> spawner_;
  wire::CommandSpec command_;
  std::vector<int> answers_;
  UniqueFd pidfd_;
  int lost_ = 0;
};

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

TEST_F(SpawnerTest, ReceivesAPidfdWhenNoOtherDescriptorIsLeft) {
  spawner_->Spawn(Job(command_));
  Answer(0, {Child().get()});
  {
    const tests::NoDescriptors none;
    loop_->Run();
  }
  EXPECT_THAT(answers_, ElementsAre(0));
  EXPECT_TRUE(pidfd_.valid());
}

TEST_F(SpawnerTest, TreatsASuccessWithoutAPidfdAsTheEndOfTheSpawner) {
  spawner_->Spawn(Job(command_));
  Answer(0, {});
  loop_->Run();
  EXPECT_EQ(lost_, 1);
  EXPECT_THAT(answers_, ElementsAre());
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

TEST_F(SpawnerTest, TreatsAnUnexpectedAnswerAsTheEndOfTheSpawner) {
  Answer(0, {});
  loop_->Run();
  EXPECT_EQ(lost_, 1);
}

TEST_F(SpawnerTest, NamesTheVersionOfTheCgroups) {
  Spawner::Job job = Job(command_);
  job.cgroup_v2 = true;
  spawner_->Spawn(std::move(job));
  EXPECT_EQ(Request().cgroup_v2, 1u);
  EXPECT_EQ(Request().terminal, 0u);
  Answer(ENOENT, {});
  loop_->Run();
  spawner_->Spawn(Job(command_));
  EXPECT_EQ(Request().cgroup_v2, 0u);
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

TEST_F(SpawnerTest, PassesTheProcessOfAFailureOn) {
  spawner_->Spawn(Job(command_));
  Answer(ENOENT, {Child().get()});
  loop_->Run();
  EXPECT_THAT(answers_, ElementsAre(ENOENT));
  EXPECT_TRUE(pidfd_.valid());
}

TEST_F(SpawnerTest, SearchesTheLastPathOfTheEnvironment) {
  command_.set_argv(0, "true");
  command_.add_environment("PATH=/a");
  command_.add_environment("PATH=/b");
  spawner_->Spawn(Job(command_));
  EXPECT_STREQ(exchange_ + Request().path_offset, "/b");
  EXPECT_EQ(lost_, 0);
}

TEST_F(SpawnerTest, TreatsAFailureThatNobodyAwaitsAsTheEndOfTheSpawner) {
  Answer(ENOENT, {});
  loop_->Run();
  EXPECT_EQ(lost_, 1);
}

TEST_F(SpawnerTest, TreatsAShortAnswerAsTheEndOfTheSpawner) {
  spawner_->Spawn(Job(command_));
  ASSERT_TRUE(SendWithFds(theirs_.get(), "", 1, {0}).ok());
  loop_->Run();
  EXPECT_EQ(lost_, 1);
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, TreatsAnAnswerThatCannotBeAsTheEndOfTheSpawner) {
  const UniqueFd child = Child();
  struct Wrong {
    int stage;
    int error;
    std::vector<int> fds;
  };
  const Wrong answers[] = {
      // It executes, but there is an error.
      {0, ENOENT, {child.get()}},
      // It does not execute, but there is none, or one that no call has.
      {6, 0, {child.get()}},
      {6, -1, {}},
      {6, 4096, {}},
      // There is no such stage.
      {1, ENOENT, {}},
      {7, ENOENT, {}},
      {-1, ENOENT, {}},
      // A command is one process.
      {0, 0, {child.get(), child.get()}},
  };
  for (const Wrong& wrong : answers) {
    Connect();
    lost_ = 0;
    spawner_->Spawn(Job(command_));
    const SpawnAnswer answer = {static_cast<SpawnStage>(wrong.stage),
                                wrong.error};
    ASSERT_TRUE(
        SendWithFds(theirs_.get(), &answer, sizeof(answer), wrong.fds).ok());
    loop_->Run();
    EXPECT_EQ(lost_, 1) << wrong.stage << ", " << wrong.error;
  }
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, TreatsALongAnswerAsTheEndOfTheSpawner) {
  spawner_->Spawn(Job(command_));
  const SpawnAnswer answers[] = {{SpawnStage::kExec, ENOENT},
                                 {SpawnStage::kNone, 0}};
  ASSERT_TRUE(SendWithFds(theirs_.get(), answers, sizeof(answers), {}).ok());
  loop_->Run();
  EXPECT_EQ(lost_, 1);
  EXPECT_THAT(answers_, ElementsAre());
}

TEST_F(SpawnerTest, TakesNoDescriptorButThatOfAChild) {
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd other(
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  for (const UniqueFd* fd : {&file, &other}) {
    for (const int error : {0, ENOENT}) {
      Connect();
      lost_ = 0;
      spawner_->Spawn(Job(command_));
      Answer(error, {fd->get()});
      loop_->Run();
      EXPECT_EQ(lost_, 1) << error;
    }
  }
  EXPECT_THAT(answers_, ElementsAre());
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

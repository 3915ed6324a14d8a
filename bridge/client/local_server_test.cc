#include "bridge/client/local_server.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/ignored_signal.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

std::string Message(const absl::Status& status) {
  return static_cast<std::string>(status.message());
}

std::string Content(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

class LocalServerTest : public ::testing::Test {
 protected:
  LocalServerTest() {
    char directory[] = "/tmp/local_server_test.XXXXXX";
    directory_ = ::mkdtemp(directory);
    socket_ = directory_ + "/corral/corrald.sock";
    char cwd[4096];
    program_ = absl::StrCat(::getcwd(cwd, sizeof cwd),
                            "/bridge/client/listening_program");
  }
  ~LocalServerTest() override {
    ::unlink(socket_.c_str());  // ends the program
    for (const char* name : {".starts", ".fail"}) {
      ::unlink((socket_ + name).c_str());
    }
    ::unlink((directory_ + "/corral/corrald.lock").c_str());
    ::unlink((directory_ + "/corral/corrald.log").c_str());
    ::rmdir((directory_ + "/corral").c_str());
    ::rmdir(directory_.c_str());
  }

  absl::Status Ensure() {
    return EnsureLocalServer(socket_, program_,
                             absl::Now() + absl::Seconds(60));
  }

  ptrdiff_t CountStarts() const {
    const std::string starts = Content(socket_ + ".starts");
    return std::count(starts.begin(), starts.end(), '\n');
  }

  // Makes the program print a text and end.
  void Fail(const std::string& text) const {
    std::ofstream(socket_ + ".fail") << text;
  }

  // A socket to which nothing listens yet.
  sandbox::UniqueFd Bind() const {
    ::mkdir((directory_ + "/corral").c_str(), 0700);
    sandbox::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_.c_str(),
                 sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address),
                     sizeof address),
              0);
    return socket;
  }

  std::string directory_;
  std::string socket_;
  std::string program_;
};

mode_t ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST_F(LocalServerTest, StartsADaemonThatInheritsNothing) {
  const int extra = ::dup(STDERR_FILENO);  // inheritable on purpose
  const int former = ::dup(STDIN_FILENO);
  int input[2];
  ASSERT_EQ(::pipe(input), 0);
  ::dup2(input[0], STDIN_FILENO);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const tests::IgnoredSignal first(SIGHUP);
  const tests::IgnoredSignal library(tests::kLibrarySignal);
  const tests::IgnoredSignal last(SIGRTMAX);
  ASSERT_THAT(Ensure(), IsOk());
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::dup2(former, STDIN_FILENO);
  for (const int fd : {extra, former, input[0], input[1]}) {
    ::close(fd);
  }
  EXPECT_TRUE(*IsListening(socket_));
  const std::string start = Content(socket_ + ".starts");
  EXPECT_THAT(start,
              StartsWith(absl::StrCat(
                  "--idle-exit-seconds 600 leader=0 fds=3 cwd=/ signals=0,0 "
                  "files=/dev/null,",
                  directory_, "/corral/corrald.log session=")));
  // The terminal of this session would take the daemon with it.
  EXPECT_THAT(start,
              Not(EndsWith(absl::StrCat("session=", ::getsid(0), "\n"))));
}

TEST_F(LocalServerTest, PassesOnTheConfigurationThatTheEnvironmentNames) {
  // The server runs in another directory.
  std::ofstream(directory_ + "/c.conf") << "x";
  char before[4096];
  ASSERT_NE(::getcwd(before, sizeof before), nullptr);
  ASSERT_EQ(::chdir(directory_.c_str()), 0);
  ::setenv("CORRAL_CONFIG", "c.conf", 1);
  const absl::Status found = Ensure();
  ASSERT_EQ(::chdir(before), 0);
  ::unlink((directory_ + "/c.conf").c_str());
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(
      Content(socket_ + ".starts"),
      HasSubstr(absl::StrCat("600 --config ", directory_, "/c.conf leader=")));
  ::unlink(socket_.c_str());
  ::setenv("CORRAL_CONFIG", "no/such.conf", 1);
  ASSERT_THAT(Ensure(), IsOk());
  EXPECT_THAT(Content(socket_ + ".starts"),
              HasSubstr("--config no/such.conf "));
  ::unlink(socket_.c_str());
  ::setenv("CORRAL_CONFIG", "", 1);
  ASSERT_THAT(Ensure(), IsOk());
  ::unsetenv("CORRAL_CONFIG");
  EXPECT_THAT(Content(socket_ + ".starts"), HasSubstr("600 leader="));
}

TEST_F(LocalServerTest, LeavesNoChild) {
  ASSERT_THAT(Ensure(), IsOk());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(LocalServerTest, MakesFilesThatOnlyTheUserMayRead) {
  const mode_t mask = ::umask(0);
  ASSERT_THAT(Ensure(), IsOk());
  ::umask(mask);
  EXPECT_EQ(ModeOf(directory_ + "/corral"), 0700);
  EXPECT_EQ(ModeOf(directory_ + "/corral/corrald.lock"), 0600);
  EXPECT_EQ(ModeOf(directory_ + "/corral/corrald.log"), 0600);
}

TEST_F(LocalServerTest, FollowsNoSymbolicLink) {
  const std::string log = directory_ + "/corral/corrald.log";
  ::mkdir((directory_ + "/corral").c_str(), 0700);
  ASSERT_EQ(::symlink("/nowhere/log", log.c_str()), 0);
  EXPECT_FALSE(Ensure().ok());
  EXPECT_EQ(CountStarts(), 0);
}

TEST_F(LocalServerTest, MakesTheDirectoryOfTheSocketOnly) {
  socket_ = directory_ + "/none/corral/corrald.sock";
  EXPECT_THAT(Ensure(), StatusIs(absl::StatusCode::kNotFound,
                                 HasSubstr("mkdir(" + directory_ + "/none")));
}

TEST_F(LocalServerTest, StartsNoServerWhenOneListens) {
  ASSERT_THAT(Ensure(), IsOk());
  ASSERT_THAT(Ensure(), IsOk());
  EXPECT_EQ(CountStarts(), 1);
}

TEST_F(LocalServerTest, StartsOneServerForManyClients) {
  std::vector<pid_t> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(::fork());
    if (clients.back() == 0) {
      ::_exit(Ensure().ok() ? 0 : 1);
    }
  }
  int failures = 0;
  for (const pid_t client : clients) {
    int status = -1;
    ::waitpid(client, &status, 0);
    failures += status == 0 ? 0 : 1;
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(CountStarts(), 1);
}

TEST_F(LocalServerTest, ReportsThatNothingListens) {
  EXPECT_FALSE(*IsListening(directory_ + "/none"));
  const sandbox::UniqueFd socket = Bind();
  EXPECT_FALSE(*IsListening(socket_));
}

TEST_F(LocalServerTest,
       KnowsAServerWithoutRoomForConnectionsForOneThatListens) {
  const sandbox::UniqueFd socket = Bind();
  ASSERT_EQ(::listen(socket.get(), 0), 0);
  const sandbox::UniqueFd first(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(first.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof address),
            0);
  EXPECT_TRUE(*IsListening(socket_));
}

TEST_F(LocalServerTest, ReportsThatAPathCannotBeThatOfASocket) {
  const std::string file = directory_ + "/corral";
  std::ofstream(file).flush();
  EXPECT_THAT(Message(IsListening(file + "/x").status()),
              HasSubstr("connect(" + file + "/x)"));
  ::unlink(file.c_str());
  EXPECT_FALSE(*IsListening("/" + std::string(106, 'x')));
  EXPECT_THAT(IsListening("/" + std::string(107, 'x')).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("too long for the path of a socket")));
}

TEST_F(LocalServerTest, SaysWhichNeighbourIsMissing) {
  EXPECT_THAT(NeighbouringServer().status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("/bridge/client/corrald): "),
                             HasSubstr("No such file"))));
}

TEST_F(LocalServerTest, ShowsTheServersLogWhenItEnded) {
  ASSERT_THAT(Ensure(), IsOk());
  ::unlink(socket_.c_str());
  const std::string log = directory_ + "/corral/corrald.log";
  Fail("no luck today \n\n");
  EXPECT_THAT(Ensure(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(program_), HasSubstr("it ended"),
                             EndsWith("see " + log + "\nno luck today"))));
  Fail("nor now");
  EXPECT_THAT(Message(Ensure()), EndsWith("see " + log + "\nnor now"));
}

TEST_F(LocalServerTest, ShowsTheEndOfALongLog) {
  ASSERT_THAT(Ensure(), IsOk());
  ::unlink(socket_.c_str());
  Fail(std::string(3000, 'a') + std::string(2000, 'b'));
  EXPECT_THAT(Message(Ensure()), EndsWith("\n" + std::string(2000, 'b')));
}

TEST_F(LocalServerTest, SaysThatTheServerDoesNotListenInTime) {
  ASSERT_THAT(Ensure(), IsOk());
  ::unlink(socket_.c_str());
  Fail("");
  EXPECT_THAT(EnsureLocalServer(socket_, program_, absl::InfinitePast()),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("it did not begin to listen in time")));
}

TEST_F(LocalServerTest, SaysWhatItHasNoDescriptorFor) {
  int unused[3];
  for (int& fd : unused) {
    fd = ::dup(STDIN_FILENO);
  }
  for (const int fd : unused) {
    ::close(fd);
  }
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const char* const expected[] = {"corrald.lock): Too many open files",
                                  "socket: Too many open files",
                                  "socketpair: Too many open files"};
  for (int left = 0; left < 3; ++left) {
    const rlimit few = {static_cast<rlim_t>(unused[left]), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const absl::Status status = Ensure();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_THAT(Message(status), HasSubstr(expected[left]));
  }
  EXPECT_EQ(CountStarts(), 0);
}

TEST_F(LocalServerTest, ReportsWhyTheProgramCannotBeStarted) {
  program_ = "/nowhere/corrald";
  EXPECT_THAT(Ensure(), StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("exec(/nowhere/corrald)")));
}

}  // namespace
}  // namespace client

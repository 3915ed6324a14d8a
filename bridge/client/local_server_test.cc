#include "bridge/client/local_server.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

  std::string directory_;
  std::string socket_;
  std::string program_;
};

TEST_F(LocalServerTest, StartsADaemonThatInheritsNothing) {
  const int extra = ::dup(STDERR_FILENO);  // inheritable on purpose
  ASSERT_THAT(Ensure(), IsOk());
  ::close(extra);
  EXPECT_TRUE(*IsListening(socket_));
  const std::string start = Content(socket_ + ".starts");
  EXPECT_THAT(start, StartsWith("--idle-exit-seconds 600 leader=0 fds=3 cwd=/ "
                                "session="));
  // The terminal of this session would take the daemon with it.
  EXPECT_THAT(start,
              Not(EndsWith(absl::StrCat("session=", ::getsid(0), "\n"))));
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
}

TEST_F(LocalServerTest, ShowsTheServersLogWhenItEnded) {
  ASSERT_THAT(Ensure(), IsOk());
  ::unlink(socket_.c_str());
  std::ofstream fail(socket_ + ".fail");
  EXPECT_THAT(Ensure(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(program_), HasSubstr("it ended"),
                             HasSubstr("no luck today"))));
}

TEST_F(LocalServerTest, ReportsWhyTheProgramCannotBeStarted) {
  program_ = "/nowhere/corrald";
  EXPECT_THAT(Ensure(), StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("exec(/nowhere/corrald)")));
}

}  // namespace
}  // namespace client

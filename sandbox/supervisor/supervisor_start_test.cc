// Starts that come faster than the spawner carries them out.

#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/supervisor/supervisor_fixture.h"

namespace sandbox {
namespace {

class SupervisorStartTest : public SupervisorTest {
 protected:
  static constexpr int kStarts = 5;

  // Sends the starts of e0 to e4 while the spawner does nothing, and returns
  // when the supervisor has read them.
  void SendStarts() {
    ASSERT_EQ(Create().failure(), wire::Reply::NONE);
    spawner_ = AwaitChild("corral-spawner");
    ::kill(spawner_, SIGSTOP);
    for (int i = 0; i < kStarts; ++i) {
      wire::ToSupervisor request;
      request.set_request_id(1000 + i);
      wire::StartExecution& start = *request.mutable_start_execution();
      start.set_id(absl::StrCat("e", i));
      start.mutable_command()->add_argv("/bin/true");
      start.mutable_command()->set_working_directory("/tmp");
      start.mutable_command()->set_retain_bytes(1 << 20);
      start.set_report_answers(1000 + i);
      Send(request);
    }
    int unread = 1;
    while (::ioctl(server_.fd(), SIOCOUTQ, &unread) == 0 && unread > 0) {
      ::sched_yield();
    }
  }
  void Continue() const { ::kill(spawner_, SIGCONT); }
  // The number of starts that were recorded.
  auto Recorded() const {
    const std::filesystem::directory_iterator all(directory_ + "/executions");
    return std::count_if(begin(all), end(all), [](const auto& entry) {
      return entry.path().filename().string()[0] == 'e';
    });
  }
  void ExpectAllToEnd() {
    for (int i = 0; i < kStarts; ++i) {
      EXPECT_EQ(AwaitEnd(absl::StrCat("e", i)).exit().wait_status(), 0);
    }
  }

  pid_t spawner_ = 0;
};

TEST_F(SupervisorStartTest, PreparesFewCommandsAheadOfTheSpawner) {
  SendStarts();
  EXPECT_LE(Recorded(), 2);
  Continue();
  ExpectAllToEnd();
}

TEST_F(SupervisorStartTest, CarriesOutAStartBeforeWhatFollowsItsExecution) {
  SendStarts();
  EXPECT_EQ(Ask([](wire::ToSupervisor& request) {
              request.mutable_signal()->set_execution_id("e3");
              request.mutable_signal()->set_signal(SIGURG);
              request.mutable_signal()->set_kill_after_ns(-1);
            }).failure(),
            wire::Reply::NONE);
  EXPECT_EQ(Recorded(), 4);
  Continue();
  ExpectAllToEnd();
}

TEST_F(SupervisorStartTest, AnswersOthersWhileStartsWait) {
  SendStarts();
  AwaitService();
  EXPECT_EQ(Ask([](wire::ToSupervisor& request) {
              request.mutable_delete_execution()->set_execution_id("none");
            }).failure(),
            wire::Reply::NO_SUCH_EXECUTION);
  EXPECT_LE(Recorded(), 2);
  Continue();
  ExpectAllToEnd();
}

TEST_F(SupervisorStartTest, ALaterServerLearnsOfStartsThatWait) {
  SendStarts();
  PacketSocket later = *PacketSocket::Connect(directory_, "control.sock");
  wire::FromSupervisor message;
  while (Receive(&message)) {
  }
  server_ = std::move(later);
  created_ = true;
  ASSERT_TRUE(Receive(&message));
  EXPECT_EQ(message.snapshot().executions_size(), kStarts);
  Continue();
  ExpectAllToEnd();
}

TEST_F(SupervisorStartTest, StartsThatWaitAreRefusedAtTheEndOfTheSandbox) {
  SendStarts();
  wire::ToSupervisor request;
  request.set_request_id(2000);
  request.mutable_delete_sandbox();
  Send(request);
  std::set<uint64_t> refused;
  wire::FromSupervisor message;
  while (Receive(&message)) {
    if (message.has_reply() &&
        message.reply().failure() == wire::Reply::SANDBOX_NOT_READY) {
      refused.insert(message.reply().request_id());
    }
  }
  EXPECT_THAT(refused, ::testing::ElementsAre(1002, 1003, 1004));
}

}  // namespace
}  // namespace sandbox

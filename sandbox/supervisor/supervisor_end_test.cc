// The ends of sandboxes and of their processes.

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/storage/execution_file.h"
#include "sandbox/storage/record_file.h"
#include "sandbox/supervisor/supervisor.h"
#include "sandbox/supervisor/supervisor_fixture.h"
#include "tests/network/name_server.h"
#include "tests/network/upstream_server.h"

namespace sandbox {
namespace {

using Record = wire::ExecutionRecord;
class SupervisorEndTest : public SupervisorTest {
 protected:
  wire::Reply NextReply() {
    wire::FromSupervisor message;
    do {
      if (!Receive(&message)) {
        ADD_FAILURE() << "the supervisor is gone without a reply";
        break;
      }
    } while (!message.has_reply());
    return message.reply();
  }
  // True if the supervisor closes the connection and answers nothing more.
  bool IsLeft() {
    wire::FromSupervisor message;
    while (Receive(&message)) {
      if (message.has_reply()) {
        return false;
      }
    }
    return true;
  }
  // Stops the supervisor. When it continues, it finds all that happened
  // meanwhile.
  void Stop() const {
    ASSERT_EQ(::kill(pid_, SIGSTOP), 0);
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT);
  }
  wire::ToSupervisor Creation() const {
    wire::ToSupervisor request;
    request.set_request_id(1000);
    request.mutable_create_sandbox()->set_directory(directory_);
    return request;
  }
  // A supervisor that has nothing of the last one.
  void StartAnew() {
    EXPECT_EQ(End(), 7 << 8);
    std::filesystem::remove_all(directory_);
    records_.clear();
    SetUp();
  }
};

TEST_F(SupervisorEndTest, EndsWithItsServerBeforeASandboxIsCreated) {
  const pid_t init = AwaitChild("corral-init");
  EXPECT_EQ(End(), 7 << 8);
  EXPECT_EQ(::kill(init, 0), -1);
}

TEST_F(SupervisorEndTest, EndsWithAServerThatDoesNotWaitForAnAnswer) {
  AwaitService();
  Stop();
  wire::ToSupervisor request;
  request.mutable_signal()->set_execution_id("none");
  Send(request);
  server_ = PacketSocket();
  ASSERT_EQ(::kill(pid_, SIGCONT), 0);
  EXPECT_EQ(End(), 7 << 8);
}

TEST_F(SupervisorEndTest, EndsItsCommandsWithTheSandbox) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  ASSERT_EQ(Start("e1", "sleep 60").failure(), wire::Reply::NONE);
  const pid_t init = AwaitChild("corral-init");
  const pid_t spawner = AwaitChild("corral-spawner");
  EXPECT_EQ(Ask([](wire::ToSupervisor& request) {
              request.mutable_delete_sandbox()->set_cause(
                  wire::ExitRecord::SANDBOX_EXPIRED);
            }).failure(),
            wire::Reply::NONE);
  EXPECT_EQ(records_["e1"].state(), Record::EXITED);
  EXPECT_EQ(records_["e1"].exit().wait_status(), SIGKILL);
  EXPECT_EQ(records_["e1"].exit().cause(), wire::ExitRecord::SANDBOX_EXPIRED);
  created_ = false;
  EXPECT_EQ(End(), 7 << 8);
  EXPECT_EQ(::kill(init, 0), -1);
  EXPECT_EQ(::kill(spawner, 0), -1);
}

TEST_F(SupervisorEndTest, ReportsThatInitOrTheSpawnerDied) {
  struct Case {
    const char* name;
    wire::SandboxEnd::Cause cause;
    const char* why;
  };
  const Case cases[] = {
      {"corral-init", wire::SandboxEnd::INIT_DIED, "init died"},
      {"corral-spawner", wire::SandboxEnd::SPAWNER_DIED, "the spawner died"}};
  for (const auto& [name, cause, why] : cases) {
    ASSERT_EQ(Create().failure(), wire::Reply::NONE);
    ASSERT_EQ(Start("e1", "sleep 60").failure(), wire::Reply::NONE);
    ASSERT_EQ(::kill(AwaitChild(name), SIGKILL), 0);
    wire::FromSupervisor message;
    while (Receive(&message)) {
    }
    EXPECT_EQ(failed_.cause(), cause) << name;
    EXPECT_EQ(failed_.message(), why);
    EXPECT_EQ(records_["e1"].state(), Record::RUNNING) << "its end is unknown";
    wire::SandboxEnd left;
    EXPECT_TRUE(ReadRecord(directory_ + "/failure.pb", &left).ok());
    EXPECT_EQ(left.cause(), cause);
    EXPECT_EQ(left.message(), why);
    StartAnew();
  }
}

TEST_F(SupervisorEndTest, AllowsAHostOnceItsWayOutKnows) {
  tests::NameServer names;
  names.Set("api.example", {"127.0.0.1"});
  tests::UpstreamServer upstream(tests::Echo);
  ASSERT_EQ(Create([&](wire::SandboxSpec& spec) {
              spec.mutable_egress()->add_name_servers(names.address());
              spec.mutable_egress()->mutable_policy()->add_private_networks(
                  "127.0.0.1");
            }).failure(),
            wire::Reply::NONE);
  const pid_t process = AwaitChild("corral-egress");
  ASSERT_EQ(::kill(process, SIGSTOP), 0);
  wire::ToSupervisor allow;
  allow.set_request_id(1000);
  auto* const rule = allow.mutable_allow_hosts()->add_rules();
  rule->set_host("api.example");
  rule->add_ports(upstream.port());
  rule->set_protocol(corral::egress::v1::Rule::TCP);
  ASSERT_TRUE(server_.Send(allow).ok());
  wire::ToSupervisor later;
  later.set_request_id(1001);
  later.mutable_signal()->set_execution_id("none");
  ASSERT_TRUE(server_.Send(later).ok());
  EXPECT_EQ(NextReply().request_id(), 1001u);
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  const wire::Reply allowed = NextReply();
  EXPECT_EQ(allowed.request_id(), 1000u);
  EXPECT_EQ(allowed.failure(), wire::Reply::NONE);
  const std::string connect =
      absl::StrCat("exec 3<>/dev/tcp/api.example/", upstream.port());
  EXPECT_EQ(Run("e1", connect + " && echo a >&3 && read -r line <&3"), 0);
  // The next process knows it, too.
  ASSERT_EQ(::kill(process, SIGKILL), 0);
  const pid_t next = AwaitChild("corral-egress", process);
  EXPECT_EQ(Run("e2", absl::StrCat("until (", connect, "); do :; done")), 0);
  // A process that hangs does not hold the end back.
  EXPECT_EQ(::kill(next, SIGSTOP), 0);
  EXPECT_EQ(End(), 7 << 8);
}

TEST_F(SupervisorEndTest, KeepsAWayOutByName) {
  tests::NameServer names;
  names.Set("api.example", {"127.0.0.1"});
  tests::UpstreamServer upstream(tests::Echo);
  ASSERT_EQ(
      Create([&](wire::SandboxSpec& spec) {
        spec.mutable_egress()->add_name_servers(names.address());
        auto* const policy = spec.mutable_egress()->mutable_policy();
        policy->add_private_networks("127.0.0.1");
        policy->add_rules()->set_host("api.example");
        policy->mutable_rules(0)->add_ports(upstream.port());
        policy->mutable_rules(0)->set_protocol(corral::egress::v1::Rule::TCP);
      }).failure(),
      wire::Reply::NONE);
  const std::string place =
      absl::StrCat("/dev/tcp/api.example/", upstream.port());
  pid_t process = 0;
  for (const char* id : {"e1", "e2", "e3"}) {
    process = AwaitChild("corral-egress", process);
    EXPECT_EQ(Run(id, absl::StrCat("until (:) 3<>", place, "; do :; done; ",
                                   "exec 3<>", place,
                                   "; echo $EPOCHSECONDS >&3; read -r line <&3;"
                                   " [[ $line == 1* ]]")),
              0);
    EXPECT_EQ(::kill(process, SIGKILL), 0);
  }
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/network.log"));
}

TEST_F(SupervisorEndTest, EndsByItselfWhenItRefusesASandbox) {
  const auto refused = [](wire::SandboxSpec& spec) {
    spec.set_workspace("/nowhere");
  };
  EXPECT_EQ(Create(refused).failure(), wire::Reply::WORKSPACE);
  wire::ToSupervisor again = Creation();
  refused(*again.mutable_create_sandbox());
  Send(again);
  EXPECT_TRUE(IsLeft());
}

TEST_F(SupervisorEndTest, EndsByItselfWhenWhatIsPreparedDies) {
  for (const char* name : {"corral-init", "corral-spawner"}) {
    AwaitService();
    ASSERT_EQ(::kill(AwaitChild(name), SIGKILL), 0);
    EXPECT_TRUE(IsLeft()) << name;
    StartAnew();
  }
}

TEST_F(SupervisorEndTest, AnswersNothingWhenItsProcessesHaveJustDied) {
  for (const char* name : {"corral-init", "corral-spawner"}) {
    AwaitService();
    const pid_t victim = AwaitChild(name);
    const UniqueFd spawner(static_cast<int>(
        ::syscall(SYS_pidfd_open, AwaitChild("corral-spawner"), 0)));
    // When it continues it has the request, and has not noticed the death.
    Stop();
    Send(Creation());
    ASSERT_EQ(::kill(victim, SIGKILL), 0);
    // Init waits to be reaped after the spawner.
    pollfd dead = {spawner.get(), POLLIN, 0};
    while (::poll(&dead, 1, -1) <= 0) {
    }
    ASSERT_EQ(::kill(pid_, SIGCONT), 0);
    EXPECT_TRUE(IsLeft()) << name;
    StartAnew();
  }
}

TEST_F(SupervisorEndTest, LivesOnWithoutItsServer) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  server_ = PacketSocket();
  server_ = *PacketSocket::Connect(directory_, "control.sock");
  wire::FromSupervisor message;
  ASSERT_TRUE(Receive(&message));
  EXPECT_TRUE(message.snapshot().ready());
  EXPECT_EQ(Run("e1", "exit 4"), 4 << 8);
}

TEST_F(SupervisorEndTest, ReportsALaterServerWhatItHasForgotten) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  EXPECT_EQ(Run("e1", "echo hello; exit 4"), 4 << 8);
  const std::string path = absl::StrCat(directory_, "/executions/e1");
  while (!ExecutionRecords::Open(path)->synced()) {
    ::sched_yield();
  }
  // It cannot be read, which matters once it is forgotten.
  std::filesystem::rename(path, path + ".away");
  std::filesystem::create_directory(path);
  const auto ask = [this] {
    return Ask([](wire::ToSupervisor& request) {
             request.mutable_signal()->set_execution_id("e1");
           })
        .failure();
  };
  while (ask() != wire::Reply::SHORTAGE) {
  }
  server_ = *PacketSocket::Connect(directory_, "control.sock");
  wire::FromSupervisor message;
  ASSERT_TRUE(Receive(&message));
  EXPECT_NE(message.storage().failure(), "") << "it reports why it waits";
  EXPECT_EQ(Run("e2", "exit 5"), 5 << 8) << "others are delayed";
  std::filesystem::remove(path);
  std::filesystem::rename(path + ".away", path);
  while (!message.has_snapshot()) {
    ASSERT_TRUE(Receive(&message));
  }
  ASSERT_EQ(message.snapshot().executions_size(), 2);
  const wire::ExecutionRecord& forgotten = message.snapshot().executions(0);
  EXPECT_EQ(forgotten.id(), "e1");
  EXPECT_EQ(forgotten.exit().wait_status(), 4 << 8);
  EXPECT_EQ(forgotten.streams(0).end(), 6u);
  EXPECT_EQ(message.snapshot().storage().failure(), "");
}

TEST_F(SupervisorEndTest, RemovesItsGroupsThoughItsServerReadsNothing) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  // Its group has to stay, since a process lives in it.
  EXPECT_EQ(Run("e1", "sleep 1000 >/dev/null 2>&1 &"), 0);
  const CgroupHost host = *CgroupHost::Find();
  const std::string name = GroupName();
  ASSERT_EQ(Cgroup::List(host).count(name), 1u) << name;
  // More than a socket holds is answered.
  wire::ToSupervisor request;
  request.set_request_id(1000);
  request.mutable_signal()->set_execution_id(std::string(4096, 'x'));
  for (int i = 0; i < 500; ++i) {
    Send(request);
  }
  request.mutable_delete_sandbox();
  Send(request);
  while (Cgroup::List(host).count(name) != 0) {
    ::sched_yield();
  }
  pollfd server = {server_.fd(), 0, 0};
  EXPECT_EQ(::poll(&server, 1, 0), 0) << "it waits for its server";
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(NextReply().failure(), wire::Reply::NO_SUCH_EXECUTION);
  }
  EXPECT_EQ(NextReply().failure(), wire::Reply::NONE);
  EXPECT_TRUE(IsLeft());
}

TEST_F(SupervisorEndTest, EndsWhileItsWayOutOwesAnAnswer) {
  ASSERT_EQ(Create([](wire::SandboxSpec& spec) {
              spec.mutable_egress()->add_name_servers("127.0.0.1");
            }).failure(),
            wire::Reply::NONE);
  ASSERT_EQ(::kill(AwaitChild("corral-egress"), SIGSTOP), 0);
  wire::ToSupervisor allow;
  allow.set_request_id(1000);
  auto* const rule = allow.mutable_allow_hosts()->add_rules();
  rule->set_host("api.example");
  rule->add_ports(443);
  Send(allow);
  AwaitService();
  EXPECT_EQ(End(), 7 << 8);
}

}  // namespace
}  // namespace sandbox

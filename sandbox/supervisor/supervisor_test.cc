// The requests of a server.

#include "sandbox/supervisor/supervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/supervisor_fixture.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;

TEST_F(SupervisorTest, RunsCommandsAndRemovesTheirFiles) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  // The pipe can be opened anew.
  EXPECT_EQ(Run("e1", "echo hello > /dev/stdout; exit 3"), 3 << 8);
  EXPECT_EQ(Output("e1"), "hello\n");
  const auto remove = [](wire::ToSupervisor& request) {
    request.mutable_delete_execution()->set_execution_id("e1");
  };
  EXPECT_EQ(Ask(remove).failure(), wire::Reply::NONE);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/executions/e1"));
  EXPECT_EQ(Ask(remove).failure(), wire::Reply::NO_SUCH_EXECUTION);
}

TEST_F(SupervisorTest, RefusesRequestsThatItCannotServe) {
  EXPECT_EQ(Start("e1", "true").failure(), wire::Reply::SANDBOX_NOT_READY);
  EXPECT_EQ(Ask([](wire::ToSupervisor&) {}).failure(),
            wire::Reply::UNKNOWN_REQUEST);
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  const wire::Reply again = Create();
  EXPECT_EQ(again.failure(), wire::Reply::FAULT);
  EXPECT_EQ(again.message(), "the sandbox was created before");
  const std::function<void(wire::ToSupervisor&)> requests[] = {
      [](auto& request) { request.mutable_signal()->set_execution_id("x"); },
      [](auto& request) { request.mutable_resize()->set_execution_id("x"); },
      [](auto& request) {
        request.mutable_write_input()->set_execution_id("x");
      }};
  for (const auto& request : requests) {
    const wire::Reply reply = Ask(request);
    EXPECT_EQ(reply.failure(), wire::Reply::NO_SUCH_EXECUTION);
    EXPECT_EQ(reply.message(), "no execution x");
  }
  const wire::Reply rules =
      Ask([](auto& request) { request.mutable_allow_hosts(); });
  EXPECT_EQ(rules.failure(), wire::Reply::EGRESS);
  EXPECT_EQ(rules.message(), "the sandbox has no way out");
}

TEST_F(SupervisorTest, StartsCommandsWithIdsThatTheSandboxHas) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  const auto start = [this](const std::string& id, uint32_t user) {
    return Ask([&](wire::ToSupervisor& request) {
      request.mutable_start_with_user()->set_id(id);
      wire::CommandSpec& command =
          *request.mutable_start_with_user()->mutable_command();
      command.add_argv("/usr/bin/id");
      command.add_argv("-u");
      command.set_working_directory("/tmp");
      command.set_retain_bytes(1 << 20);
      command.set_user_id(user);
    });
  };
  EXPECT_EQ(start("e1", 2001).failure(), wire::Reply::NONE);
  AwaitEnd("e1");
  EXPECT_EQ(Output("e1"), "2001\n");
  EXPECT_EQ(start("e2", 0xffffffff).failure(), wire::Reply::ISOLATION);
  const wire::Reply refused = start("e3", 65536);
  EXPECT_EQ(refused.failure(), wire::Reply::ISOLATION);
  EXPECT_EQ(refused.message(),
            "user id 65536: the sandbox has only 65536 user ids");
}

TEST_F(SupervisorTest, MakesSocketsThatReachServersOfTheSandboxOnly) {
  const auto make = [](wire::ToSupervisor& request) {
    request.mutable_make_sockets();
  };
  EXPECT_EQ(Ask(make).failure(), wire::Reply::SANDBOX_NOT_READY);
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  // The same port outside.
  const UniqueFd outside(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(outside.get(), name, size), 0);
  ASSERT_EQ(::listen(outside.get(), 1), 0);
  ASSERT_EQ(::getsockname(outside.get(), name, &size), 0);

  ASSERT_EQ(Ask(make).failure(), wire::Reply::NONE);
  ASSERT_GE(fds_.size(), 1u);
  ASSERT_LE(fds_.size(), 2u);
  for (size_t i = 0; i < fds_.size(); ++i) {
    int domain = 0;
    socklen_t domain_size = sizeof(domain);
    ::getsockopt(fds_[i].get(), SOL_SOCKET, SO_DOMAIN, &domain, &domain_size);
    EXPECT_EQ(domain, i == 0 ? AF_INET : AF_INET6);
    EXPECT_NE(::fcntl(fds_[i].get(), F_GETFL) & O_NONBLOCK, 0);
  }
  ::fcntl(fds_[0].get(), F_SETFL, 0);
  EXPECT_EQ(::connect(fds_[0].get(), name, size), -1);
  EXPECT_EQ(errno, ECONNREFUSED);

  Start("e1", absl::StrCat("exec python3 -c 'import socket; s = "
                           "socket.create_server((\"127.0.0.1\", ",
                           ntohs(address.sin_port),
                           ")); print(1, flush=True); s.accept()[0].send(b"
                           "\"inside\")'"));
  AwaitOutput("e1");
  ASSERT_EQ(Ask(make).failure(), wire::Reply::NONE);
  ::fcntl(fds_[0].get(), F_SETFL, 0);
  ASSERT_EQ(::connect(fds_[0].get(), name, size), 0);
  char text[7] = {};
  EXPECT_EQ(::recv(fds_[0].get(), text, 6, MSG_WAITALL), 6);
  EXPECT_STREQ(text, "inside");
}

TEST_F(SupervisorTest, PassesSignalsSizesAndInputToACommand) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  ASSERT_EQ(Start("e1", "read line; stty size; read line; sleep 60",
                  [](wire::CommandSpec& command) {
                    command.set_terminal_rows(24);
                    command.set_terminal_columns(80);
                  })
                .failure(),
            wire::Reply::NONE);
  EXPECT_EQ(Ask([](wire::ToSupervisor& request) {
              request.mutable_resize()->set_execution_id("e1");
              request.mutable_resize()->set_rows(30);
              request.mutable_resize()->set_columns(90);
            }).failure(),
            wire::Reply::NONE);
  const wire::Reply input = Ask([](wire::ToSupervisor& request) {
    request.mutable_write_input()->set_execution_id("e1");
    request.mutable_write_input()->set_data("go\n");
  });
  EXPECT_EQ(input.failure(), wire::Reply::NONE);
  EXPECT_EQ(input.input().accepted_offset(), 3u);
  const OutputLogReader log =
      *OutputLogReader::Open(directory_ + "/executions/e1", wire::TERMINAL);
  std::string text;
  while (text.find("30 90") == std::string::npos) {
    wire::FromSupervisor message;
    ASSERT_TRUE(Receive(&message));
    text.resize(1000);
    text.resize(*log.Read(0, text.data(), text.size()));
  }
  EXPECT_EQ(Ask([](wire::ToSupervisor& request) {
              request.mutable_signal()->set_execution_id("e1");
              request.mutable_signal()->set_signal(SIGKILL);
            }).failure(),
            wire::Reply::NONE);
  EXPECT_EQ(AwaitEnd("e1").exit().wait_status(), SIGKILL);
}

TEST_F(SupervisorTest, LetsAWriterContinueWhenItsOutputIsAcknowledged) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  constexpr uint64_t kRetained = OutputLogWriter::kMinRetained;
  Start("e1", absl::StrCat("head -c ", kRetained + 1, " /dev/zero"),
        [](wire::CommandSpec& command) {
          command.set_overflow(wire::CommandSpec::BLOCK);
          command.set_retain_bytes(kRetained);
        });
  wire::FromSupervisor message;
  do {
    ASSERT_TRUE(Receive(&message));
  } while (message.output_changed().changes_size() == 0 ||
           message.output_changed().changes(0).streams(0).end() != kRetained);
  wire::ToSupervisor acknowledge;
  acknowledge.mutable_acknowledge()->set_execution_id("e1");
  acknowledge.mutable_acknowledge()->set_stream(wire::STDOUT);
  acknowledge.mutable_acknowledge()->set_offset(kRetained);
  ASSERT_TRUE(server_.Send(acknowledge).ok());
  EXPECT_EQ(AwaitEnd("e1").streams(0).end(), kRetained + 1);
}

TEST_F(SupervisorTest, GivesEachProfileItsCalls) {
  const std::pair<wire::SandboxSpec::Profile, const char*> profiles[] = {
      {wire::SandboxSpec::DEFAULT, "socket \n"},
      {wire::SandboxSpec::STRICT, "\n"},
      {wire::SandboxSpec::DEBUG, "socket fixed \n"},
      {wire::SandboxSpec::NESTED, "socket nested proc \n"},
      {static_cast<wire::SandboxSpec::Profile>(99), "\n"}};
  for (const auto& [profile, calls] : profiles) {
    ASSERT_EQ(Create([profile = profile](wire::SandboxSpec& spec) {
                spec.set_profile(profile);
              }).failure(),
              wire::Reply::NONE);
    Run("e1",
        "(: >/dev/udp/127.0.0.1/9) 2>/dev/null && printf 'socket '; "
        "setarch -R true 2>/dev/null && printf 'fixed '; "
        "unshare -U true 2>/dev/null && printf 'nested '; "
        "unshare -Urpf --mount-proc true 2>/dev/null && printf 'proc '; echo");
    EXPECT_EQ(Output("e1"), calls) << profile;
    EXPECT_EQ(End(), 7 << 8);
    std::filesystem::remove_all(directory_);
    created_ = false;
    SetUp();
  }
}

TEST_F(SupervisorTest, AnswersAStartWithAReportAloneIfItIsAsked) {
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  wire::ToSupervisor request;
  request.set_request_id(1000);
  wire::StartExecution& start = *request.mutable_start_execution();
  start.set_id("e1");
  start.mutable_command()->add_argv("/bin/true");
  start.mutable_command()->set_working_directory("/tmp");
  start.mutable_command()->set_retain_bytes(1 << 20);
  start.set_report_answers(1000);
  Send(request);
  wire::FromSupervisor message;
  while (records_["e1"].state() != wire::ExecutionRecord::EXITED &&
         Receive(&message)) {
    EXPECT_FALSE(message.has_reply());
  }
  EXPECT_EQ(records_["e1"].exit().wait_status(), 0);
  EXPECT_EQ(records_["e1"].answers(), 1000u);
  // A refusal has no report.
  Send(request);
  while (!message.has_reply() && Receive(&message)) {
  }
  EXPECT_EQ(message.reply().request_id(), 1000u);
  EXPECT_EQ(message.reply().failure(), wire::Reply::EXECUTION_EXISTS);
}

TEST_F(SupervisorTest, ReportsHowLongItTookToMakeTheSandbox) {
  const wire::SandboxTrace trace = Create().trace();
  EXPECT_GT(trace.prepare_unix_ns(), 0);
  for (const int64_t step :
       {trace.groups_ns(), trace.namespaces_ns(), trace.join_ns(),
        trace.mounts_ns(), trace.init_ns(), trace.spawner_ns(),
        trace.filter_ns(), trace.ready_ns(), trace.limits_ns(),
        trace.workspaces_ns()}) {
    EXPECT_GE(step, 1);
  }
  EXPECT_EQ(trace.protection_ns(), 0);
  EXPECT_EQ(trace.way_out_ns(), 0);
}

TEST_F(SupervisorTest, GivesALaterServerASnapshot) {
  const wire::Reply created = Create();
  ASSERT_EQ(created.failure(), wire::Reply::NONE);
  EXPECT_EQ(Run("e1", "exit 4"), 4 << 8);
  PacketSocket later = *PacketSocket::Connect(directory_, "control.sock");
  wire::FromSupervisor message;
  while (Receive(&message)) {
  }
  server_ = std::move(later);
  created_ = true;
  ASSERT_TRUE(Receive(&message));
  EXPECT_TRUE(message.snapshot().ready());
  EXPECT_EQ(message.snapshot().schema_version(), 1u);
  EXPECT_EQ(message.snapshot().storage().failure(), "");
  ASSERT_EQ(message.snapshot().executions_size(), 1);
  EXPECT_EQ(message.snapshot().executions(0).exit().wait_status(), 4 << 8);
  EXPECT_EQ(message.snapshot().trace().SerializeAsString(),
            created.trace().SerializeAsString());
}

TEST_F(SupervisorTest, RefusesASandboxWithoutItsDirectoryOrWorkspace) {
  const wire::Reply storage =
      Create([](wire::SandboxSpec& spec) { spec.set_directory("/nowhere"); });
  EXPECT_EQ(storage.failure(), wire::Reply::STORAGE);
  EXPECT_THAT(storage.message(), HasSubstr("mkdir /nowhere/executions"));
  EXPECT_EQ(End(), 7 << 8);
  SetUp();
  EXPECT_EQ(Create([](wire::SandboxSpec& spec) {
              spec.set_workspace("/nowhere");
            }).failure(),
            wire::Reply::WORKSPACE);
}

TEST_F(SupervisorTest, ReapsChildrenThatItsCommandsMakeForIt) {
  if (std::system("python3 -c 'import ctypes' 2> /dev/null") != 0) {
    GTEST_SKIP() << "python3 has no ctypes";
  }
  ASSERT_EQ(Create().failure(), wire::Reply::NONE);
  // clone3 with CLONE_PARENT. A zombie could still be signalled.
  EXPECT_EQ(Run("e1", R"(exec python3 -c '
import ctypes, os
arguments = (ctypes.c_uint64 * 11)(0x8000)
child = ctypes.CDLL(None).syscall(435, arguments, 88)
if child == 0:
  os._exit(0)
assert child > 0
try:
  while True:
    os.kill(child, 0)
except ProcessLookupError:
  print("reaped")
')"),
            0);
  EXPECT_EQ(Output("e1"), "reaped\n");
}

}  // namespace
}  // namespace sandbox

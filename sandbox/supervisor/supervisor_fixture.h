// A supervisor in a child of the test, which is its server. tests/supervisor
// tests the program through the connection that corrald has.

#ifndef SANDBOX_SUPERVISOR_SUPERVISOR_FIXTURE_H_
#define SANDBOX_SUPERVISOR_SUPERVISOR_FIXTURE_H_

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "corral/supervisor/v1/supervisor.pb.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/packet_socket.h"
#include "sandbox/base/unique_fd.h"
#include "sandbox/kernel/cgroup.h"
#include "sandbox/storage/output_log.h"
#include "sandbox/supervisor/strange_children.h"
#include "sandbox/supervisor/supervisor.h"

namespace sandbox {

class SupervisorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
    std::string path = ::testing::TempDir() + "/supervisorXXXXXX";
    directory_ = ::mkdtemp(path.data());
    auto pair = *PacketSocket::Pair();
    server_ = std::move(pair.first);
    pid_ = ::fork();
    if (pid_ == 0) {
      server_ = PacketSocket();
      BlockChildSignal();
      ::signal(SIGPIPE, SIG_IGN);
      Supervisor(*EventLoop::Create(), std::move(pair.second),
                 wire::SandboxSpec::DEFAULT, absl::OkStatus())
          .Run();
      ::_exit(7);
    }
  }
  void TearDown() override {
    if (pid_ > 0) {
      EXPECT_EQ(End(), 7 << 8);
      std::filesystem::remove_all(directory_);
    }
  }
  // Waits for the end of the supervisor and returns its status. Deletes the
  // sandbox, if there is one.
  int End() {
    if (created_) {
      EXPECT_EQ(Ask([](wire::ToSupervisor& request) {
                  request.mutable_delete_sandbox();
                }).failure(),
                wire::Reply::NONE);
    }
    server_ = PacketSocket();
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }

  // Receives the next message. Returns false if the supervisor has closed the
  // connection.
  bool Receive(wire::FromSupervisor* message) {
    for (;;) {
      std::vector<UniqueFd> fds;
      const absl::StatusOr<bool> got = server_.Receive(message, &fds);
      if (!got.ok()) {
        created_ = false;
        return false;
      }
      if (*got) {
        if (message->has_execution()) {
          records_[message->execution().id()] = message->execution();
        }
        if (message->has_reply()) {
          fds_ = std::move(fds);
        }
        if (message->has_failed()) {
          failed_ = message->failed();
        }
        return true;
      }
      pollfd readable = {server_.fd(), POLLIN, 0};
      ::poll(&readable, 1, -1);
    }
  }
  // Sends a request, once its socket has room. Does nothing if the supervisor
  // is gone.
  void Send(const wire::ToSupervisor& request) {
    while (absl::IsUnavailable(server_.Send(request))) {
      ::sched_yield();
    }
  }
  // Sends a request and returns its reply.
  wire::Reply Ask(const std::function<void(wire::ToSupervisor&)>& fill) {
    wire::ToSupervisor request;
    fill(request);
    request.set_request_id(++last_request_);
    Send(request);
    wire::FromSupervisor message;
    while (Receive(&message)) {
      if (message.reply().request_id() == last_request_) {
        return message.reply();
      }
    }
    ADD_FAILURE() << "the supervisor is gone without a reply";
    return wire::Reply();
  }
  wire::Reply Create(const std::function<void(wire::SandboxSpec&)>& fill =
                         [](wire::SandboxSpec&) {}) {
    wire::Reply reply = Ask([&](wire::ToSupervisor& request) {
      wire::SandboxSpec& spec = *request.mutable_create_sandbox();
      spec.set_directory(directory_);
      spec.set_memory_bytes(uint64_t{256} << 20);
      spec.set_pids(100);
      fill(spec);
    });
    created_ = created_ || reply.failure() == wire::Reply::NONE;
    return reply;
  }
  wire::Reply Start(
      const std::string& id, const std::string& script,
      const std::function<void(wire::CommandSpec&)>& fill =
          [](wire::CommandSpec&) {}) {
    return Ask([&](wire::ToSupervisor& request) {
      request.mutable_start_execution()->set_id(id);
      wire::CommandSpec& command =
          *request.mutable_start_execution()->mutable_command();
      for (const std::string& argument :
           {std::string("/bin/bash"), std::string("-c"), script}) {
        command.add_argv(argument);
      }
      command.add_environment("PATH=/usr/bin:/bin");
      command.set_working_directory("/tmp");
      command.set_retain_bytes(1 << 20);
      fill(command);
    });
  }
  wire::ExecutionRecord AwaitEnd(const std::string& id) {
    wire::FromSupervisor message;
    while (records_[id].state() != wire::ExecutionRecord::EXITED &&
           Receive(&message)) {
    }
    return records_[id];
  }
  // Runs a command to its end and returns its wait status.
  int Run(const std::string& id, const std::string& script) {
    EXPECT_EQ(Start(id, script).failure(), wire::Reply::NONE);
    return AwaitEnd(id).exit().wait_status();
  }
  std::string Output(const std::string& id) const {
    const OutputLogReader log = *OutputLogReader::Open(
        absl::StrCat(directory_, "/executions/", id), wire::STDOUT);
    std::string text(1 << 16, '\0');
    text.resize(*log.Read(log.state()->begin, text.data(), text.size()));
    return text;
  }
  // Returns once the supervisor serves, whatever is prepared.
  void AwaitService() {
    EXPECT_EQ(Ask([](wire::ToSupervisor&) {}).failure(),
              wire::Reply::UNKNOWN_REQUEST);
  }
  // Waits until the command has written something.
  void AwaitOutput(const std::string& id) {
    wire::FromSupervisor message;
    while (Output(id).empty() && Receive(&message)) {
    }
  }
  // The name of the sandbox's control group.
  std::string GroupName() const {
    std::ifstream groups(
        absl::StrCat("/proc/", AwaitChild("corral-init"), "/cgroup"));
    const std::string text(std::istreambuf_iterator<char>(groups), {});
    const size_t begin = text.find(kSandboxCgroup);
    return begin == std::string::npos
               ? "none"
               : text.substr(begin, text.find_first_of("/\n", begin) - begin);
  }
  // The child of the supervisor with this name, when there is one that is not
  // `before`.
  pid_t AwaitChild(const std::string& name, pid_t before = 0) const {
    for (;;) {
      std::ifstream children(
          absl::StrCat("/proc/", pid_, "/task/", pid_, "/children"));
      for (pid_t child; children >> child;) {
        std::string found;
        std::ifstream(absl::StrCat("/proc/", child, "/comm")) >> found;
        if (found == name && child != before) {
          return child;
        }
      }
    }
  }

  std::string directory_;
  PacketSocket server_;
  pid_t pid_ = 0;
  bool created_ = false;
  uint64_t last_request_ = 0;
  // The last reports of executions.
  std::map<std::string, wire::ExecutionRecord> records_;
  wire::SandboxEnd failed_;
  // The descriptors that came with the last reply.
  std::vector<UniqueFd> fds_;
};

}  // namespace sandbox

#endif  // SANDBOX_SUPERVISOR_SUPERVISOR_FIXTURE_H_

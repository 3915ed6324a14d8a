// A new server takes over from a running one while clients use it.

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/client/call.h"
#include "bridge/client/connection.h"
#include "bridge/client/output_reader.h"
#include "bridge/client/request_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "sandbox/base/unique_fd.h"
#include "tests/integration/integration_test.h"
#include "tests/process.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::corral::v1::Execution;
using ::corral::v1::STDOUT;
using ExecutionCalls = ::corral::v1::ExecutionService::StubInterface;

constexpr int kClients = 50;
constexpr int kUpgrades = 3;
constexpr int kCommandsBetween = 150;
constexpr int kSandboxes = 5;
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

// The longest of the durations that any number of threads report.
class Longest {
 public:
  void Add(absl::Duration duration) {
    sandbox::MutexLock lock(&mutex_);
    longest_ = std::max(longest_, duration);
  }
  absl::Duration get() {
    sandbox::MutexLock lock(&mutex_);
    return longest_;
  }

 private:
  sandbox::Mutex mutex_;
  absl::Duration longest_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

class UpgradeTest : public IntegrationTest {
 protected:
  // Waits for the new server: the calls of the test's client fail at once while
  // it is not connected.
  void Reconnect() {
    const std::shared_ptr<grpc::Channel> channel = server_.Connect();
    while (server_.IsRunning() &&
           !channel->WaitForConnected(std::chrono::system_clock::now() +
                                      std::chrono::milliseconds(50))) {
    }
    client_ = std::make_unique<Client>(channel);
  }

  std::unique_ptr<client::Connection> OpenConnection() const {
    client::ConnectOptions options;
    options.server = server_.address();
    auto connection = client::Connection::Open(options);
    EXPECT_THAT(connection.status(), IsOk());
    return *std::move(connection);
  }

  std::string Run(int client, int number) const {
    return absl::StrCat(server_.workspace(), "/", client, "-", number);
  }

  // A command with its own output, exit code and trace in the workspace for
  // each number.
  corral::v1::Command NumberedCommand(int client, int number) const {
    return MakeCommand(
        {"sh", "-c",
         absl::StrCat("echo ran >>", Run(client, number), "; echo ", client,
                      " ", number, "; exit ", number % 100)});
  }

  void ExpectNumbered(int client, int number, const Execution& ended,
                      const std::string& output) {
    EXPECT_EQ(ended.state(), Execution::EXITED) << ended.name();
    EXPECT_EQ(ended.exit().code(), number % 100) << ended.name();
    EXPECT_EQ(output, absl::StrCat(client, " ", number, "\n"));
  }

  // Uses RunExecution.
  void RunOne(client::Connection& connection, const std::string& sandbox,
              int client, int number) {
    corral::v1::RunExecutionRequest request;
    request.set_parent(sandbox);
    request.set_request_id(client::NewRequestId());
    *request.mutable_command() = NumberedCommand(client, number);
    client::OutputReader stream(connection, request);
    std::string output;
    Execution ended;
    ReadAll(stream, &output, &ended);
    ExpectNumbered(client, number, ended, output);
  }

  // Uses StartExecution, WaitExecution and ReadOutput.
  void StartOne(client::Connection& connection, const std::string& sandbox,
                int client, int number) {
    corral::v1::StartExecutionRequest start;
    start.set_parent(sandbox);
    start.set_request_id(client::NewRequestId());
    *start.mutable_command() = NumberedCommand(client, number);
    const absl::StatusOr<Execution> started =
        client::Call(connection, &ExecutionCalls::StartExecution, start);
    ASSERT_THAT(started.status(), IsOk());
    const absl::StatusOr<Execution> ended =
        client::WaitForEnd(connection, started->name());
    ASSERT_THAT(ended.status(), IsOk());
    corral::v1::ReadOutputRequest read;
    read.set_name(started->name());
    read.set_stream(STDOUT);
    const absl::StatusOr<corral::v1::ReadOutputResponse> output =
        client::Call(connection, &ExecutionCalls::ReadOutput, read);
    ASSERT_THAT(output.status(), IsOk());
    ExpectNumbered(client, number, *ended, output->data());
  }

  // `silence` may be null.
  static void ReadAll(client::OutputReader& stream, std::string* output,
                      Execution* ended, Longest* silence = nullptr) {
    while (true) {
      const absl::Time begin = absl::Now();
      const auto event = stream.Next();
      if (silence != nullptr) {
        silence->Add(absl::Now() - begin);
      }
      ASSERT_THAT(event.status(), IsOk());
      if (!event->has_value()) {
        return;
      }
      if ((*event)->has_chunk()) {
        EXPECT_EQ((*event)->chunk().offset(), output->size());
        *output += (*event)->chunk().data();
      }
      EXPECT_FALSE((*event)->has_gap());
      if ((*event)->has_ended()) {
        *ended = (*event)->ended();
      }
    }
  }

  // Runs commands one after another until stop_ is set.
  void BeClient(int client, const std::string& sandbox) {
    const auto connection = OpenConnection();
    int number = 0;
    while (!stop_) {
      const absl::Time begin = absl::Now();
      if (number % 2 == 0) {
        RunOne(*connection, sandbox, client, number);
      } else {
        StartOne(*connection, sandbox, client, number);
      }
      longest_command_.Add(absl::Now() - begin);
      ++number;
      ++commands_;
    }
    for (int i = 0; i < number; ++i) {
      EXPECT_EQ(ReadFile(Run(client, i)), "ran\n") << Run(client, i);
    }
  }

  // Connects again and again until stop_ is set.
  void Connect() {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    server_.socket_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    while (!stop_) {
      const sandbox::UniqueFd socket(
          ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address),
                          sizeof(address)),
                0)
          << std::strerror(errno);
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  // Reads a command that writes numbered lines until the file "stop" exists.
  void ReadLines(const std::string& name) {
    const auto connection = OpenConnection();
    corral::v1::StreamOutputRequest request;
    request.set_name(name);
    client::OutputReader stream(*connection, request);
    std::string output;
    Execution ended;
    ReadAll(stream, &output, &ended, &longest_silence_);
    EXPECT_EQ(ended.exit().code(), 9);
    std::string expected;
    int lines = 0;
    while (expected.size() < output.size()) {
      absl::StrAppend(&expected, "line ", lines++, "\n");
    }
    EXPECT_EQ(output, expected);
    EXPECT_EQ(ReadFile(server_.workspace() + "/lines"),
              absl::StrCat(lines, "\n"));
  }

  std::atomic<bool> stop_ = false;
  std::atomic<int> commands_ = 0;
  Longest longest_command_;
  Longest longest_silence_;
};

TEST_F(UpgradeTest, LosesAndRepeatsNothing) {
  std::vector<std::string> sandboxes;
  sandboxes.reserve(kSandboxes);
  for (int i = 0; i < kSandboxes; ++i) {
    sandboxes.push_back(CreateSandbox());
  }
  const std::string lines =
      client_
          ->Start(sandboxes[0],
                  MakeCommand({"sh", "-c",
                               "i=0; while [ ! -e stop ]; do echo line $i; "
                               "i=$((i+1)); sleep 0.01; done; echo $i >lines; "
                               "exit 9"}))
          .name();
  std::vector<std::thread> threads;
  threads.emplace_back([this] { Connect(); });
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([this, lines] { ReadLines(lines); });
  }
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([this, i, sandbox = sandboxes[i % kSandboxes]] {
      BeClient(i, sandbox);
    });
  }
  for (int i = 0; i < kUpgrades; ++i) {
    const int before = commands_;
    while (commands_ < before + kCommandsBetween && server_.IsRunning()) {
      absl::SleepFor(kPollInterval);
    }
    ASSERT_NO_FATAL_FAILURE(server_.TakeOver());
  }
  const int before = commands_;
  while (commands_ < before + kCommandsBetween && server_.IsRunning()) {
    absl::SleepFor(kPollInterval);
  }
  stop_ = true;
  WriteFile(server_.workspace() + "/stop", "");
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::cerr << commands_ << " commands; the longest took "
            << absl::FormatDuration(longest_command_.get())
            << ", and a stream was silent for "
            << absl::FormatDuration(longest_silence_.get()) << "\n";
  Reconnect();
}

TEST_F(UpgradeTest, PausesBrieflyWithManySandboxes) {
  std::vector<std::string> sandboxes;
  for (int i = 0; i < 100; ++i) {
    corral::v1::CreateSandboxRequest request;
    request.set_parent(kTenant);
    sandboxes.push_back(client_->CreateSandbox(request));
    for (int k = 0; k < 10; ++k) {
      client_->Start(sandboxes.back(), MakeCommand({"true"}));
    }
  }
  Longest pause;
  std::thread prober([this, &pause] {
    const auto connection = OpenConnection();
    corral::v1::GetServerInfoRequest info;
    while (!stop_) {
      const absl::Time begin = absl::Now();
      const auto answer = client::Call(
          *connection, &corral::v1::AdminService::StubInterface::GetServerInfo,
          info);
      EXPECT_THAT(answer.status(), IsOk());
      EXPECT_EQ(answer->executions(), 1000);
      pause.Add(absl::Now() - begin);
    }
  });
  ASSERT_NO_FATAL_FAILURE(server_.TakeOver());
  Reconnect();
  EXPECT_EQ(client_->GetInfo().sandboxes(), 100);
  stop_ = true;
  prober.join();
  // The supervisors of the sandboxes, and the one that the new server prepares.
  while (server_.Supervisors().size() != sandboxes.size() + 1) {
    absl::SleepFor(kPollInterval);
  }
  std::cerr << "100 sandboxes, 1000 executions: the longest call took "
            << absl::FormatDuration(pause.get()) << "\n";
  for (const std::string& sandbox : sandboxes) {
    client_->DeleteSandbox(sandbox);
  }
}

TEST_F(UpgradeTest, BadConfigurationLeavesTheOldServerRunning) {
  WriteFile(server_.config_file(), "max_sandboxes: 5000");
  Process successor({"./corrald", "--take-over", "--listen", server_.address(),
                     "--state-dir", server_.state_directory(), "--config",
                     server_.config_file()});
  EXPECT_EQ(successor.Wait(), 2);
  Process stranger({"./corrald", "--take-over", "--listen",
                    "unix:" + server_.config_file(), "--state-dir",
                    server_.state_directory()});
  EXPECT_EQ(stranger.Wait(), 1);
  EXPECT_EQ(client_->Run(CreateSandbox(), Shell("exit 5"))->ended.exit().code(),
            5);
}

TEST_F(UpgradeTest, MayListenElsewhere) {
  const std::string sandbox = CreateSandbox();
  const std::string other = server_.directory() + "/other.sock";
  Process successor(
      {"./corrald", "--take-over", "--listen", "unix:" + other, "--state-dir",
       server_.state_directory(), "--on-shutdown=LEAVE_SANDBOXES"},
      {}, server_.directory() + "/log");
  EXPECT_EQ(server_.Wait(), 0);
  const Client client(
      grpc::CreateChannel("unix:" + other, grpc::InsecureChannelCredentials()));
  corral::v1::ListSandboxesRequest list;
  list.set_parent(kTenant);
  corral::v1::ListSandboxesResponse sandboxes;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const auto stub = corral::v1::SandboxService::NewStub(
      grpc::CreateChannel("unix:" + other, grpc::InsecureChannelCredentials()));
  EXPECT_TRUE(stub->ListSandboxes(&context, list, &sandboxes).ok());
  ASSERT_EQ(sandboxes.sandboxes_size(), 1);
  EXPECT_EQ(sandboxes.sandboxes(0).name(), sandbox);
  EXPECT_FALSE(std::filesystem::exists(server_.socket_path()));
  successor.Signal(SIGTERM);
  EXPECT_EQ(successor.Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(TakeOverTest, StartsWhereNoServerRuns) {
  Corrald server;
  server.Launch({"--take-over", "--listen", server.address(), "--state-dir",
                 server.state_directory()});
  Client client(server.Connect());
  corral::v1::ServerInfo info;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const auto admin = corral::v1::AdminService::NewStub(server.Connect());
  EXPECT_TRUE(admin->GetServerInfo(&context, {}, &info).ok()) << server.log();
  server.End();
}

}  // namespace
}  // namespace tests

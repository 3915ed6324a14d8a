#include "bridge/client/output_reader.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bridge/client/connection.h"
#include "bridge/client/resource_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::HasSubstr;
using ::tests::FakeExecution;
using ::tests::FakeServer;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e1";

std::unique_ptr<Connection> Connect(const FakeServer& server,
                                    const Timing& timing = {}) {
  ConnectOptions options;
  options.server = server.address();
  options.timing = timing;
  auto connection = Connection::Open(options);
  EXPECT_THAT(connection.status(), IsOk());
  return *std::move(connection);
}

corral::v1::RunExecutionRequest RunRequest() {
  corral::v1::RunExecutionRequest request;
  request.set_parent(kTenant);
  request.mutable_command()->add_argv("true");
  auto& output = *request.mutable_command()->mutable_output();
  output.set_retain_bytes(1 << 20);
  output.set_overflow(corral::v1::OutputPolicy::BLOCK);
  return request;
}

// All chunks of standard output.
std::string ReadAll(OutputReader& reader, absl::Status* status) {
  std::string data;
  for (;;) {
    auto event = reader.Next();
    *status = event.status();
    if (!event.ok() || !event->has_value()) {
      return data;
    }
    data += (*event)->chunk().data();
  }
}

TEST(OutputReaderTest, ReturnsOpenedThenOutputThenTheEnd) {
  FakeServer server([](FakeExecution& command) {
    command.Print("hello");
    command.SetExit(7);
  });
  const auto connection = Connect(server);
  OutputReader reader(*connection, RunRequest());
  EXPECT_EQ((*reader.Next())->opened().name(), kExecution);
  EXPECT_EQ((*reader.Next())->chunk().data(), "hello");
  EXPECT_EQ((*reader.Next())->ended().exit().code(), 7);
}

TEST(OutputReaderTest, ReturnsNothingAfterTheEnd) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  OutputReader reader(*connection, RunRequest());
  EXPECT_TRUE(reader.Next().ok());
  EXPECT_TRUE((*reader.Next())->has_ended());
  EXPECT_FALSE(reader.Next()->has_value());
}

TEST(OutputReaderTest, ContinuesAtItsOffsetWhenTheServerIsRestarted) {
  FakeServer server([](FakeExecution& command) {
    command.Print("before ");
    command.ReadInput(1);
    command.Print("after");
  });
  const auto connection = Connect(server);
  auto run = RunRequest();
  run.mutable_command()->set_stdin(true);
  OutputReader reader(*connection, run);
  EXPECT_TRUE(reader.Next().ok());  // opened
  EXPECT_EQ((*reader.Next())->chunk().data(), "before ");

  server.Stop();
  std::thread restart([&server] {
    server.Start();
    corral::v1::WriteInputRequest input;
    corral::v1::InputState state;
    input.set_data("x");
    server.FindExecution(kExecution)->WriteInput(input, &state);
  });
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "after");
  EXPECT_THAT(status, IsOk());
  restart.join();
}

TEST(OutputReaderTest, StartsACommandOnceWhenTheAnswerIsLost) {
  FakeServer server([](FakeExecution& command) { command.Print("once"); });
  const auto connection = Connect(server);
  server.LoseAnswers(2);
  OutputReader reader(*connection, RunRequest());
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "once");
  EXPECT_THAT(status, IsOk());
  ASSERT_EQ(server.runs().size(), 3);
  EXPECT_NE(server.runs()[0].request_id(), "");
  EXPECT_EQ(server.runs()[0].request_id(), server.runs()[2].request_id());
  EXPECT_EQ(server.FindExecution("tenants/default/sandboxes/s2/executions/e1"),
            nullptr);
}

TEST(OutputReaderTest, AcknowledgesOutputSoThatABlockedCommandGoesOn) {
  const std::string megabyte(1 << 20, 'x');
  FakeServer server([&](FakeExecution& command) {
    for (int i = 0; i < 20; ++i) {
      command.Print(megabyte);
    }
  });
  const auto connection = Connect(server);
  OutputReader reader(*connection, RunRequest());
  reader.AcknowledgeEvery(1 << 18);
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status).size(), 20 * megabyte.size());
}

// Starts s1/e1 without reading its output. Adds a program to the command.
void Start(Connection& connection, corral::v1::Command command) {
  corral::v1::CreateSandboxRequest create;
  create.set_parent(kTenant);
  grpc::ClientContext create_context;
  corral::v1::Sandbox sandbox;
  ASSERT_TRUE(connection.sandboxes()
                  .CreateSandbox(&create_context, create, &sandbox)
                  .ok());
  corral::v1::StartExecutionRequest start;
  start.set_parent(sandbox.name());
  command.add_argv("cmd");
  *start.mutable_command() = std::move(command);
  grpc::ClientContext start_context;
  corral::v1::Execution execution;
  ASSERT_TRUE(connection.executions()
                  .StartExecution(&start_context, start, &execution)
                  .ok());
}

corral::v1::StreamOutputRequest StreamRequest() {
  corral::v1::StreamOutputRequest request;
  request.set_name(kExecution);
  return request;
}

TEST(OutputReaderTest, BeginsAtTheRequestedCursors) {
  FakeServer server(
      [](FakeExecution& command) { command.Print("0123456789"); });
  const auto connection = Connect(server);
  Start(*connection, {});
  auto request = StreamRequest();
  auto* cursor = request.add_cursors();
  cursor->set_stream(corral::v1::STDOUT);
  cursor->set_offset(7);
  OutputReader reader(*connection, request);
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "789");
}

TEST(OutputReaderTest, AsksForEachStreamOnceHoweverOftenItIsResumed) {
  FakeServer server([](FakeExecution& command) {
    command.Print("a");
    command.ReadInput(1);
  });
  const auto connection = Connect(server);
  corral::v1::Command command;
  command.set_stdin(true);
  Start(*connection, command);
  OutputReader reader(*connection, StreamRequest());
  EXPECT_TRUE((*reader.Next())->has_opened());
  EXPECT_EQ((*reader.Next())->chunk().data(), "a");
  server.Stop();
  std::thread restarts([&server] {
    server.Start();
    server.WaitForStreams(2);
    server.Stop();
    server.Start();
    server.WaitForStreams(3);
    server.FindExecution(kExecution)->Signal(9);
  });
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "");
  restarts.join();
  EXPECT_THAT(status, IsOk());
  ASSERT_GE(server.streams().size(), 3);
  EXPECT_EQ(server.streams().back().ShortDebugString(),
            "name: \"tenants/default/sandboxes/s1/executions/e1\" "
            "cursors { stream: STDOUT offset: 1 } cursors { stream: STDERR }");
}

TEST(OutputReaderTest, ResumesAStreamThatIsSilent) {
  FakeServer server([](FakeExecution& command) { command.Print("hello"); });
  Timing timing;
  timing.stream_silence = absl::Milliseconds(50);
  const auto connection = Connect(server, timing);
  Start(*connection, {});
  server.StallStreams(2);
  OutputReader reader(*connection, StreamRequest());
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "hello");
  EXPECT_THAT(status, IsOk());
  EXPECT_GE(server.streams().size(), 3);
}

void TypeOneByte(FakeServer& server) {
  corral::v1::WriteInputRequest input;
  corral::v1::InputState state;
  input.set_data("x");
  server.FindExecution(kExecution)->WriteInput(input, &state);
}

TEST(OutputReaderTest, CountsThePatienceForEachOutageByItself) {
  FakeServer server([](FakeExecution& command) {
    for (const char* text : {"1", "2", "3"}) {
      command.Print(text);
      command.ReadInput(1);
    }
  });
  // Each outage lasts 20 s: the clock is read when the stream breaks, and then
  // before each attempt to connect.
  constexpr int kNoOutage = 1000;
  int reads = kNoOutage;
  absl::Time time = absl::UnixEpoch();
  Timing timing;
  timing.now = [&] {
    if (++reads == 3) {
      time += absl::Seconds(20);
      server.Start();
      TypeOneByte(server);
    }
    return time;
  };
  const auto connection = Connect(server, timing);
  auto run = RunRequest();
  run.mutable_command()->set_stdin(true);
  OutputReader reader(*connection, run);
  EXPECT_TRUE((*reader.Next())->has_opened());
  EXPECT_EQ((*reader.Next())->chunk().data(), "1");
  for (const char* next : {"2", "3"}) {
    server.Stop();
    reads = 0;
    const auto event = reader.Next();
    ASSERT_THAT(event.status(), IsOk());
    EXPECT_EQ((*event)->chunk().data(), next);
    reads = kNoOutage;
  }
}

TEST(OutputReaderTest, RepeatsTheLastAcknowledgementWhenItIsResumed) {
  FakeServer server([](FakeExecution& command) {
    command.Print("0123456789");
    command.Hang();
  });
  const auto connection = Connect(server);
  OutputReader reader(*connection, RunRequest());
  reader.AcknowledgeEvery(10, 4);
  EXPECT_TRUE((*reader.Next())->has_opened());
  EXPECT_EQ((*reader.Next())->chunk().data(), "0123456789");
  std::thread restart([&server] {
    server.WaitForAcknowledgements(1);
    server.Stop();
    server.Start();
    server.WaitForAcknowledgements(2);
    server.FindExecution(kExecution)->Signal(9);
  });
  EXPECT_TRUE((*reader.Next())->has_ended());
  restart.join();
  for (const auto& acknowledgement : server.acknowledgements()) {
    EXPECT_EQ(acknowledgement.cursors(0).ShortDebugString(),
              "stream: STDOUT offset: 6");
  }
}

TEST(OutputReaderTest, ReportsTheServersError) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  corral::v1::StreamOutputRequest request;
  request.set_name("tenants/default/sandboxes/s9/executions/e9");
  OutputReader reader(*connection, request);
  EXPECT_THAT(reader.Next().status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("s9")));
}

TEST(OutputReaderTest, ResumesAStreamThatTheServerEndsBeforeTheCommand) {
  FakeServer server([](FakeExecution& command) { command.Print("hello"); });
  const auto connection = Connect(server);
  Start(*connection, {});
  server.EndStreams(1);
  OutputReader reader(*connection, StreamRequest());
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "hello");
  EXPECT_THAT(status, IsOk());
  EXPECT_EQ(server.streams().size(), 2);
}

TEST(OutputReaderTest, EndsAStreamThatDoesNotFollow) {
  FakeServer server([](FakeExecution& command) {
    command.Print("hello");
    command.Hang();
  });
  const auto connection = Connect(server);
  Start(*connection, {});
  server.FindExecution(kExecution)->WaitForOutput(corral::v1::STDOUT, 5);
  auto request = StreamRequest();
  request.set_no_follow(true);
  OutputReader reader(*connection, request);
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "hello");
  EXPECT_THAT(status, IsOk());
  EXPECT_EQ(server.streams().size(), 1);
}

TEST(OutputReaderTest, CanBeCancelledBeforeItBegins) {
  FakeServer server([](FakeExecution& command) { command.Hang(); });
  const auto connection = Connect(server);
  Start(*connection, {});
  server.StallStreams(1);
  OutputReader reader(*connection, StreamRequest());
  reader.Cancel();
  absl::StatusOr<std::optional<corral::v1::OutputEvent>> event = reader.Next();
  while (event.ok()) {
    event = reader.Next();
  }
  EXPECT_EQ(event.status().code(), absl::StatusCode::kCancelled);
}

TEST(OutputReaderTest, CanBeCancelledWhileItWaits) {
  FakeServer server([](FakeExecution& command) { command.Hang(); });
  const auto connection = Connect(server);
  OutputReader reader(*connection, RunRequest());
  EXPECT_TRUE((*reader.Next())->has_opened());
  std::thread cancel([&reader] { reader.Cancel(); });
  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kCancelled);
  cancel.join();
}

}  // namespace
}  // namespace client

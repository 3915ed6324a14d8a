#include "bridge/client/output_reader.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
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

std::unique_ptr<Connection> Connect(const FakeServer& server) {
  auto connection = Connection::Open({server.address()});
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
std::string ReadAll(OutputReader& stream, absl::Status* status) {
  std::string data;
  for (;;) {
    auto event = stream.Next();
    *status = event.status();
    if (!event.ok() || !event->has_value()) {
      return data;
    }
    data += (*event)->chunk().data();
  }
}

TEST(OutputReaderTest, GivesOpenedOutputAndEnd) {
  FakeServer server([](FakeExecution& command) {
    command.Print("hello");
    command.SetExit(7);
  });
  const auto connection = Connect(server);
  OutputReader stream(*connection, RunRequest());
  EXPECT_EQ((*stream.Next())->opened().name(), kExecution);
  EXPECT_EQ((*stream.Next())->chunk().data(), "hello");
  EXPECT_EQ((*stream.Next())->ended().exit().code(), 7);
}

TEST(OutputReaderTest, IsOverAfterTheEnd) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  OutputReader stream(*connection, RunRequest());
  EXPECT_TRUE(stream.Next().ok());
  EXPECT_TRUE((*stream.Next())->has_ended());
  EXPECT_FALSE(stream.Next()->has_value());
}

TEST(OutputReaderTest, GoesOnWhereItWasWhenTheServerIsRestarted) {
  FakeServer server([](FakeExecution& command) {
    command.Print("before ");
    command.ReadInput(1);
    command.Print("after");
  });
  const auto connection = Connect(server);
  auto run = RunRequest();
  run.mutable_command()->set_stdin(true);
  OutputReader stream(*connection, run);
  EXPECT_TRUE(stream.Next().ok());  // opened
  EXPECT_EQ((*stream.Next())->chunk().data(), "before ");

  server.Stop();
  std::thread restart([&server] {
    server.Start();
    corral::v1::WriteInputRequest input;
    corral::v1::InputState state;
    input.set_data("x");
    server.FindExecution(kExecution)->WriteInput(input, &state);
  });
  absl::Status status;
  EXPECT_EQ(ReadAll(stream, &status), "after");
  EXPECT_THAT(status, IsOk());
  restart.join();
}

TEST(OutputReaderTest, StartsACommandOnceWhenTheAnswerIsLost) {
  FakeServer server([](FakeExecution& command) { command.Print("once"); });
  const auto connection = Connect(server);
  server.LoseAnswers(2);
  OutputReader stream(*connection, RunRequest());
  absl::Status status;
  EXPECT_EQ(ReadAll(stream, &status), "once");
  EXPECT_THAT(status, IsOk());
  ASSERT_EQ(server.runs().size(), 3);
  EXPECT_NE(server.runs()[0].request_id(), "");
  EXPECT_EQ(server.runs()[0].request_id(), server.runs()[2].request_id());
  EXPECT_EQ(server.FindExecution("tenants/default/sandboxes/s2/executions/e1"),
            nullptr);
}

TEST(OutputReaderTest, AcknowledgesWhatWasTakenSoThatABlockedCommandGoesOn) {
  const std::string megabyte(1 << 20, 'x');
  FakeServer server([&](FakeExecution& command) {
    for (int i = 0; i < 20; ++i) {
      command.Print(megabyte);
    }
  });
  const auto connection = Connect(server);
  OutputReader stream(*connection, RunRequest());
  stream.AcknowledgeEvery(1 << 18);
  absl::Status status;
  EXPECT_EQ(ReadAll(stream, &status).size(), 20 * megabyte.size());
}

TEST(OutputReaderTest, FollowsFromItsCursors) {
  FakeServer server(
      [](FakeExecution& command) { command.Print("0123456789"); });
  const auto connection = Connect(server);
  grpc::ClientContext create_context;
  corral::v1::Sandbox sandbox;
  connection->sandboxes().CreateSandbox(&create_context, {}, &sandbox);
  corral::v1::StartExecutionRequest start;
  start.set_parent(sandbox.name());
  grpc::ClientContext start_context;
  corral::v1::Execution execution;
  connection->executions().StartExecution(&start_context, start, &execution);

  corral::v1::StreamOutputRequest request;
  request.set_name(execution.name());
  auto* cursor = request.add_cursors();
  cursor->set_stream(corral::v1::STDOUT);
  cursor->set_offset(7);
  OutputReader stream(*connection, request);
  absl::Status status;
  EXPECT_EQ(ReadAll(stream, &status), "789");
}

TEST(OutputReaderTest, ReportsTheServersError) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  corral::v1::StreamOutputRequest request;
  request.set_name("tenants/default/sandboxes/s9/executions/e9");
  OutputReader stream(*connection, request);
  EXPECT_THAT(stream.Next().status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("s9")));
}

TEST(OutputReaderTest, CanBeCancelledWhileItWaits) {
  FakeServer server([](FakeExecution& command) { command.Hang(); });
  const auto connection = Connect(server);
  OutputReader stream(*connection, RunRequest());
  EXPECT_TRUE((*stream.Next())->has_opened());
  std::thread cancel([&stream] { stream.Cancel(); });
  EXPECT_EQ(stream.Next().status().code(), absl::StatusCode::kCancelled);
  cancel.join();
}

}  // namespace
}  // namespace client

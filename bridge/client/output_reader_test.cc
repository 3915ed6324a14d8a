#include "bridge/client/output_reader.h"

#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bridge/client/connection_fixture.h"
#include "bridge/client/output_reader_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::HasSubstr;
using ::tests::FakeExecution;
using ::tests::FakeServer;
using ::tests::IsOk;
using ::tests::StatusIs;

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

TEST(OutputReaderTest, ContinuesWithAStreamThatWasEmptyBeforeTheRestart) {
  FakeServer server([](FakeExecution& command) {
    command.Print("out");
    command.ReadInput(1);
    command.Write(corral::v1::STDERR, "err");
  });
  const auto connection = Connect(server);
  auto run = RunRequest();
  run.mutable_command()->set_stdin(true);
  OutputReader reader(*connection, run);
  EXPECT_TRUE(reader.Next().ok());  // opened
  EXPECT_EQ((*reader.Next())->chunk().data(), "out");
  server.Stop();
  std::thread restart([&server] {
    server.Start();
    TypeOneByte(server);
  });
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "err");
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

TEST(OutputReaderTest, KeepsTheRequestIdThatItIsGiven) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  auto run = RunRequest();
  run.set_request_id("mine");
  OutputReader reader(*connection, run);
  EXPECT_TRUE((*reader.Next())->has_opened());
  EXPECT_EQ(server.runs().at(0).request_id(), "mine");
}

TEST(OutputReaderTest, BeginsAtTheRequestedCursors) {
  FakeServer server(
      [](FakeExecution& command) { command.Print("0123456789"); });
  const auto connection = Connect(server);
  Start(*connection);
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
  Start(*connection, "cmd", WithInput());
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
  Start(*connection);
  server.StallStreams(2);
  OutputReader reader(*connection, StreamRequest());
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "hello");
  EXPECT_THAT(status, IsOk());
  EXPECT_GE(server.streams().size(), 3);
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

TEST(OutputReaderTest, ReportsTheServersErrorOnce) {
  FakeServer server([](FakeExecution&) {});
  const auto connection = Connect(server);
  corral::v1::StreamOutputRequest request;
  request.set_name("tenants/default/sandboxes/s9/executions/e9");
  OutputReader reader(*connection, request);
  EXPECT_THAT(reader.Next().status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("s9")));
  ASSERT_THAT(reader.Next().status(), IsOk());
  EXPECT_FALSE(reader.Next()->has_value());
  EXPECT_EQ(server.streams().size(), 1);
}

TEST(OutputReaderTest, ResumesAStreamThatTheServerEndsBeforeTheCommand) {
  FakeServer server([](FakeExecution& command) { command.Print("hello"); });
  const auto connection = Connect(server);
  Start(*connection);
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
  Start(*connection);
  server.FindExecution(kExecution)->WaitForOutput(corral::v1::STDOUT, 5);
  auto request = StreamRequest();
  request.set_no_follow(true);
  OutputReader reader(*connection, request);
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "hello");
  EXPECT_THAT(status, IsOk());
  EXPECT_EQ(server.streams().size(), 1);
}

}  // namespace
}  // namespace client

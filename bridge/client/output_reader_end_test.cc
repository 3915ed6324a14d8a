// How an OutputReader acknowledges output, gives up and is cancelled.

#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bridge/client/connection_fixture.h"
#include "bridge/client/output_reader.h"
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

TEST(OutputReaderTest, AcknowledgesEachTimeThatSoMuchWasRead) {
  FakeServer server([](FakeExecution& command) {
    for (const char* text : {"0123", "4567", "89"}) {
      command.Print(text);
      command.ReadInput(1);
    }
  });
  const auto connection = Connect(server);
  auto run = RunRequest();
  run.mutable_command()->set_stdin(true);
  OutputReader reader(*connection, run);
  reader.AcknowledgeEvery(8);
  EXPECT_TRUE((*reader.Next())->has_opened());
  EXPECT_EQ((*reader.Next())->chunk().data(), "0123");
  TypeOneByte(server);
  EXPECT_EQ((*reader.Next())->chunk().data(), "4567");
  EXPECT_EQ(server.acknowledgements().size(), 0);
  TypeOneByte(server);
  EXPECT_EQ((*reader.Next())->chunk().data(), "89");
  TypeOneByte(server);
  EXPECT_TRUE((*reader.Next())->has_ended());
  EXPECT_EQ(server.acknowledgements().size(), 1);
}

TEST(OutputReaderTest, AcknowledgesNothingOfItsOwnAccord) {
  FakeServer server([](FakeExecution& command) { command.Print("hello"); });
  const auto connection = Connect(server);
  OutputReader reader(*connection, RunRequest());
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), "hello");
  EXPECT_EQ(server.acknowledgements().size(), 0);
}

TEST(OutputReaderTest, GivesUpOnAServerThatSendsNothing) {
  FakeServer server([](FakeExecution&) {});
  Timing timing;
  timing.stream_silence = absl::Milliseconds(20);
  timing.patience = absl::Milliseconds(50);
  const auto connection = Connect(server, timing);
  server.HoldRuns();
  OutputReader reader(*connection, RunRequest());
  EXPECT_THAT(reader.Next().status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("has not answered for 50ms")));
}

TEST(OutputReaderTest, GivesUpOnAServerThatEndsEachStreamAtOnce) {
  FakeServer server([](FakeExecution&) {});
  absl::Time time = absl::UnixEpoch();
  Timing timing;
  timing.now = [&time] { return time += absl::Milliseconds(10); };
  timing.patience = absl::Milliseconds(200);
  timing.retry_interval = absl::Milliseconds(20);
  const auto connection = Connect(server, timing);
  Start(*connection);
  server.EndStreams(100);
  OutputReader reader(*connection, StreamRequest());
  EXPECT_THAT(reader.Next().status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("has been gone for 200ms")));
}

TEST(OutputReaderTest, ReturnsAGapAndGoesOnBehindIt) {
  FakeServer server([](FakeExecution& command) {
    command.Print(std::string(200'000, 'a') + std::string(100'000, 'b'));
  });
  const auto connection = Connect(server);
  corral::v1::Command command;
  command.mutable_output()->set_retain_bytes(100'000);
  Start(*connection, "cmd", command);
  server.FindExecution(kExecution)->WaitUntilEnded();
  auto request = StreamRequest();
  request.add_cursors()->set_stream(corral::v1::STDOUT);
  OutputReader reader(*connection, request);
  EXPECT_TRUE((*reader.Next())->has_opened());
  EXPECT_EQ((*reader.Next())->gap().end_offset(), 200'000);
  absl::Status status;
  EXPECT_EQ(ReadAll(reader, &status), std::string(100'000, 'b'));
  EXPECT_THAT(status, IsOk());
}

TEST(OutputReaderTest, CanBeDestroyedWhileTheCommandRuns) {
  FakeServer server([](FakeExecution& command) { command.Hang(); });
  Timing timing;
  timing.stream_silence = absl::InfiniteDuration();
  const auto connection = Connect(server, timing);
  {
    OutputReader reader(*connection, RunRequest());
    EXPECT_TRUE((*reader.Next())->has_opened());
  }
  EXPECT_FALSE(server.FindExecution(kExecution)->Snapshot().has_exit());
}

TEST(OutputReaderTest, CanBeCancelledBeforeItBegins) {
  FakeServer server([](FakeExecution& command) { command.Hang(); });
  Timing timing;
  timing.stream_silence = absl::InfiniteDuration();
  const auto connection = Connect(server, timing);
  Start(*connection);
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
  Timing timing;
  timing.stream_silence = absl::InfiniteDuration();
  const auto connection = Connect(server, timing);
  OutputReader reader(*connection, RunRequest());
  EXPECT_TRUE((*reader.Next())->has_opened());
  std::thread cancel([&reader] { reader.Cancel(); });
  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kCancelled);
  cancel.join();
}

}  // namespace
}  // namespace client

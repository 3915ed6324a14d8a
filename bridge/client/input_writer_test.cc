#include "bridge/client/input_writer.h"

#include <signal.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "bridge/client/connection_fixture.h"
#include "corral/v1/execution_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::tests::FakeExecution;
using ::tests::IsOk;
using ::tests::StatusIs;
using Sharing = InputWriter::Sharing;

// The fake command accepts this much before it reads.
constexpr size_t kPipe = 65536;

// The command reads when it gets a signal, or takes no input if it is "deaf".
void Script(FakeExecution& command) {
  if (command.command().argv(0) == "deaf") {
    command.CloseInput();
    command.Hang();
    return;
  }
  command.CatchSignals();
  command.WaitForSignal();
  for (std::string data; !(data = command.ReadInput(kPipe)).empty();) {
    command.Print(data);
  }
}

class InputWriterTest : public ::testing::Test {
 protected:
  InputWriter Start(Sharing sharing, const std::string& program = "cmd") {
    client::Start(
        *connection_, program,
        sharing == Sharing::kExclusive ? WithInput() : WithTerminal());
    return InputWriter(connection_.get(), kExecution, sharing, 0);
  }

  // Each write as its data, with "@OFFSET" behind it if it names one, and "."
  // if it closes the input.
  std::vector<std::string> Writes() {
    std::vector<std::string> writes;
    for (const auto& input : server_.inputs()) {
      std::string write = input.data();
      write += input.has_offset() ? "@" + std::to_string(input.offset()) : "";
      write += input.eof() ? "." : "";
      writes.push_back(write);
    }
    return writes;
  }

  void AwaitAccepted(uint64_t offset) {
    const auto command = server_.FindExecution(kExecution);
    while (command->Snapshot().input().accepted_offset() < offset) {
      std::this_thread::yield();
    }
  }

  void AwaitClosedInput() {
    const auto command = server_.FindExecution(kExecution);
    while (!command->Snapshot().input().closed()) {
      std::this_thread::yield();
    }
  }

  tests::FakeServer server_{Script};
  std::unique_ptr<Connection> connection_ = Connect(server_);
};

TEST_F(InputWriterTest, WritesAtOffsetsIfNobodyElseWrites) {
  InputWriter writer = Start(Sharing::kExclusive);
  EXPECT_THAT(writer.Write("hello", false), IsOk());
  EXPECT_THAT(writer.Write("!", false), IsOk());
  EXPECT_THAT(writer.Write("end", true),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(Writes(), ElementsAre("hello@0", "!@5", "end@6."));
}

TEST_F(InputWriterTest, AppendsToASharedInput) {
  InputWriter writer = Start(Sharing::kShared);
  EXPECT_THAT(writer.Write("hello", false), IsOk());
  EXPECT_THAT(writer.Write("!", false), IsOk());
  EXPECT_THAT(Writes(), ElementsAre("hello", "!"));
}

TEST_F(InputWriterTest, ReportsThatTheInputIsClosed) {
  InputWriter writer = Start(Sharing::kExclusive, "deaf");
  AwaitClosedInput();
  EXPECT_THAT(writer.Write("x", false),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "the command accepts no more input"));
}

TEST_F(InputWriterTest, RepeatsAtTheSameOffsetWhatTheServerRefuses) {
  server_.RefuseInputs(1);
  InputWriter writer = Start(Sharing::kExclusive);
  EXPECT_THAT(writer.Write("abc", false), IsOk());
  EXPECT_THAT(Writes(), ElementsAre("abc@0", "abc@0"));
}

TEST_F(InputWriterTest, AsksASharedInputWhatItHasBeforeItRepeats) {
  InputWriter writer = Start(Sharing::kShared);
  EXPECT_THAT(writer.Write("one", false), IsOk());
  // Both the write and the question are refused once.
  server_.RefuseInputs(2);
  EXPECT_THAT(writer.Write("two", false), IsOk());
  EXPECT_THAT(Writes(), ElementsAre("one", "two", "", "", "two"));
}

TEST_F(InputWriterTest, WritesNothingTwiceWhenTheServerIsLost) {
  InputWriter writer = Start(Sharing::kShared);
  EXPECT_THAT(writer.Write("begin", false), IsOk());
  // The last ten bytes do not fit into the pipe of the command.
  const std::string text = std::string(kPipe - 5, 'a') + "0123456789";
  std::thread typist([&] { EXPECT_THAT(writer.Write(text, false), IsOk()); });
  AwaitAccepted(kPipe);
  server_.Stop();
  server_.Start();
  const auto command = server_.FindExecution(kExecution);
  command->Signal(SIGUSR1);
  typist.join();
  EXPECT_THAT(writer.Write(".", false), IsOk());
  command->WaitForOutput(corral::v1::TERMINAL, 5 + text.size() + 1);
  EXPECT_EQ(command->Snapshot().streams(0).end_offset(), 5 + text.size() + 1);
}

TEST_F(InputWriterTest, LosesNothingWhenTheServerIsLostTwice) {
  InputWriter writer = Start(Sharing::kShared);
  const std::string text = std::string(kPipe, 'a') + "0123456789";
  std::thread typist([&] { EXPECT_THAT(writer.Write(text, false), IsOk()); });
  AwaitAccepted(kPipe);
  server_.Stop();
  server_.Start();
  // There is still no room for the last ten bytes.
  while (Writes().back() != "0123456789") {
    std::this_thread::yield();
  }
  server_.Stop();
  server_.Start();
  const auto command = server_.FindExecution(kExecution);
  command->Signal(SIGUSR1);
  typist.join();
  EXPECT_THAT(writer.Write(".", false), IsOk());
  command->WaitForOutput(corral::v1::TERMINAL, text.size() + 1);
  EXPECT_EQ(command->Snapshot().streams(0).end_offset(), text.size() + 1);
}

TEST_F(InputWriterTest, RepeatsAllOfAWriteBehindWhatWasAcceptedBefore) {
  Start(Sharing::kShared);
  corral::v1::WriteInputRequest earlier;
  earlier.set_data("begin");
  corral::v1::InputState state;
  server_.FindExecution(kExecution)->WriteInput(earlier, &state);
  server_.RefuseInputs(1);
  InputWriter writer(connection_.get(), kExecution, Sharing::kShared,
                     state.accepted_offset());
  EXPECT_THAT(writer.Write("two", false), IsOk());
  EXPECT_THAT(Writes(), ElementsAre("two", "", "two"));
}

TEST_F(InputWriterTest, WritesNoMoreIntoASharedInputThatWasClosed) {
  InputWriter writer = Start(Sharing::kShared, "deaf");
  AwaitClosedInput();
  server_.RefuseInputs(1);
  EXPECT_THAT(writer.Write("x", false),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "the command accepts no more input"));
  EXPECT_THAT(Writes(), ElementsAre("x", ""));
}

TEST_F(InputWriterTest, FailsForACommandThatDoesNotExist) {
  InputWriter writer(connection_.get(), kExecution, Sharing::kShared, 0);
  EXPECT_THAT(writer.Write("x", false),
              StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(Writes(), ElementsAre("x"));
}

TEST_F(InputWriterTest, StopEndsAWriteThatTheCommandDoesNotRead) {
  InputWriter writer = Start(Sharing::kShared);
  std::thread typist([&] {
    EXPECT_THAT(writer.Write(std::string(kPipe + 1, 'x'), false),
                StatusIs(absl::StatusCode::kCancelled, _));
  });
  AwaitAccepted(kPipe);
  writer.Stop();
  typist.join();
}

TEST_F(InputWriterTest, WritesNothingAfterStop) {
  InputWriter writer = Start(Sharing::kShared);
  writer.Stop();
  EXPECT_THAT(writer.Write("x", false),
              StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_THAT(Writes(), ElementsAre());
}

}  // namespace
}  // namespace client

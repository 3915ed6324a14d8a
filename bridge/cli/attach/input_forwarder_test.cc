#include "bridge/cli/attach/input_forwarder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/client/connection.h"
#include "bridge/client/connection_fixture.h"
#include "corral/v1/execution_service.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using client::kExecution;
using ::testing::ElementsAre;
using ::tests::FakeExecution;
using Target = InputForwarder::Target;

// The command reads when it gets a signal, or takes no input if it is "deaf".
void Script(FakeExecution& command) {
  if (command.command().argv(0) == "deaf") {
    command.CloseInput();
    command.Hang();
    return;
  }
  command.CatchSignals();
  command.WaitForSignal();
  for (std::string data; !(data = command.ReadInput(65536)).empty();) {
    command.Print(data);
  }
}

// Standard input of this process is a pipe.
class InputForwarderTest : public ::testing::Test {
 protected:
  InputForwarderTest() : former_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) {
    ::dup2(pipe_.reader.get(), STDIN_FILENO);
    pipe_.reader.Reset();
  }
  ~InputForwarderTest() override {
    forwarder_.reset();
    ::dup2(former_.get(), STDIN_FILENO);
  }

  // The input of the command has taken `accepted` already.
  void Start(Target target, const std::string& program = "cmd",
             const std::string& accepted = "") {
    client::Start(
        *connection_, program,
        target == Target::kPipe ? client::WithInput() : client::WithTerminal());
    corral::v1::WriteInputRequest earlier;
    earlier.set_data(accepted);
    corral::v1::InputState state;
    server_.FindExecution(kExecution)->WriteInput(earlier, &state);
    forwarder_ = std::make_unique<InputForwarder>(
        *connection_, kExecution, target, accepted.size(),
        [this](const std::string& data) { return filter_(data); });
  }

  void Type(const std::string& data) {
    tests::WriteAll(pipe_.writer.get(), data);
  }

  std::vector<corral::v1::WriteInputRequest> AwaitInputs(size_t count) {
    while (server_.inputs().size() < count) {
      std::this_thread::yield();
    }
    return server_.inputs();
  }

  // The data of the inputs.
  std::vector<std::string> AwaitData(size_t count) {
    std::vector<std::string> data;
    for (const auto& input : AwaitInputs(count)) {
      data.push_back(input.data());
    }
    return data;
  }

  // Returns true if the forwarder has left something unread.
  static bool HasUnreadInput() {
    pollfd item = {STDIN_FILENO, POLLIN, 0};
    return ::poll(&item, 1, 0) == 1 && (item.revents & POLLIN) != 0;
  }

  tests::FakeServer server_{Script};
  std::unique_ptr<client::Connection> connection_ = client::Connect(server_);
  tests::Pipe pipe_;
  const sandbox::UniqueFd former_;
  InputForwarder::Filter filter_ = [](const std::string& data) {
    return InputForwarder::Filtered{data};
  };
  std::unique_ptr<InputForwarder> forwarder_;
};

TEST_F(InputForwarderTest, WritesAPipeAtOffsetsAndEndsIt) {
  Start(Target::kPipe);
  Type("hello");
  AwaitInputs(1);
  Type("!");
  AwaitInputs(2);
  pipe_.writer.Reset();
  const auto inputs = AwaitInputs(3);
  EXPECT_EQ(
      inputs[0].ShortDebugString(),
      absl::StrCat("name: \"", kExecution, "\" offset: 0 data: \"hello\""));
  EXPECT_EQ(inputs[1].ShortDebugString(),
            absl::StrCat("name: \"", kExecution, "\" offset: 5 data: \"!\""));
  EXPECT_EQ(inputs[2].data(), "");
  EXPECT_EQ(inputs[2].offset(), 6);
  EXPECT_TRUE(inputs[2].eof());
}

TEST_F(InputForwarderTest, TypesTheEndIntoATerminal) {
  Start(Target::kTerminal);
  Type("whole line\n");
  AwaitInputs(1);
  pipe_.writer.Reset();
  EXPECT_THAT(AwaitData(2), ElementsAre("whole line\n", "\x04"));
  EXPECT_FALSE(server_.inputs()[0].has_offset());
  EXPECT_FALSE(server_.inputs()[1].eof());
}

TEST_F(InputForwarderTest, EndsABegunLineOfATerminalFirst) {
  Start(Target::kTerminal);
  Type("begun");
  AwaitInputs(1);
  pipe_.writer.Reset();
  EXPECT_THAT(AwaitData(2), ElementsAre("begun", "\x04\x04"));
}

TEST_F(InputForwarderTest, TypesTheEndOnceIfNothingWasTyped) {
  Start(Target::kTerminal);
  pipe_.writer.Reset();
  EXPECT_THAT(AwaitData(1), ElementsAre("\x04"));
}

TEST_F(InputForwarderTest, KeepsTheEndFromASharedTerminal) {
  Start(Target::kSharedTerminal);
  Type("x");
  AwaitInputs(1);
  pipe_.writer.Reset();
  forwarder_.reset();
  EXPECT_THAT(AwaitData(1), ElementsAre("x"));
}

TEST_F(InputForwarderTest, RepeatsAllThatIsRefusedBehindTheInputOfOthers) {
  server_.RefuseInputs(1);
  Start(Target::kSharedTerminal, "cmd", "begin");
  Type("two");
  EXPECT_THAT(AwaitData(3), ElementsAre("two", "", "two"));
}

TEST_F(InputForwarderTest, WritesWhatTheFilterPassesUntilTheFilterStopsIt) {
  std::atomic<size_t> inputs_before = 0;
  std::atomic<bool> stopped = false;
  filter_ = [&](const std::string& data) {
    if (data == "drop") {
      inputs_before = server_.inputs().size();
      return InputForwarder::Filtered{""};
    }
    if (data == "stop") {
      return InputForwarder::Filtered{"st", [&] { stopped = true; }};
    }
    return InputForwarder::Filtered{data};
  };
  Start(Target::kTerminal);
  Type("one");
  AwaitInputs(1);
  Type("drop");
  while (inputs_before == 0) {
    std::this_thread::yield();
  }
  Type("stop");
  while (!stopped) {
    std::this_thread::yield();
  }
  EXPECT_THAT(AwaitData(2), ElementsAre("one", "st"));
  Type("more");
  forwarder_.reset();
  EXPECT_TRUE(HasUnreadInput());
}

TEST_F(InputForwarderTest, StopsWhenTheCommandTakesNoMore) {
  Start(Target::kPipe, "deaf");
  Type("x");
  AwaitInputs(1);
  // It may still read once while the answer is on its way.
  while (!HasUnreadInput()) {
    Type("y");
  }
  forwarder_.reset();
  EXPECT_TRUE(HasUnreadInput());
}

TEST_F(InputForwarderTest, TypesNothingTwiceWhenTheServerIsLost) {
  Start(Target::kTerminal);
  // The last ten bytes do not fit into the pipe of the command.
  const std::string text = std::string(65536, 'a') + "0123456789";
  std::thread typist([&] { Type(text); });
  const auto command = server_.FindExecution(kExecution);
  while (command->Snapshot().input().accepted_offset() < 65536) {
    std::this_thread::yield();
  }
  typist.join();
  server_.Stop();
  server_.Start();
  command->Signal(SIGUSR1);
  command->WaitForOutput(corral::v1::TERMINAL, text.size());
  pipe_.writer.Reset();
  command->WaitForOutput(corral::v1::TERMINAL, text.size() + 2);
  EXPECT_EQ(command->Snapshot().streams(0).end_offset(), text.size() + 2);
}

TEST_F(InputForwarderTest, EndsAtOnceWhileNobodyTypesOrReads) {
  Start(Target::kTerminal);
  forwarder_.reset();
  EXPECT_TRUE(server_.inputs().empty());
}

TEST_F(InputForwarderTest, EndsAtOnceWhileTheCommandDoesNotRead) {
  Start(Target::kTerminal);
  std::thread typist([&] { Type(std::string(100'000, 'x')); });
  const auto command = server_.FindExecution(kExecution);
  while (command->Snapshot().input().accepted_offset() < 65536) {
    std::this_thread::yield();
  }
  typist.join();
  forwarder_.reset();
  EXPECT_EQ(command->Snapshot().input().accepted_offset(), 65536);
}

}  // namespace
}  // namespace bridge

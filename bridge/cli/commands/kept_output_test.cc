// Output of an attached command that is not written here, or not kept by the
// server, against a fake server.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bridge/cli/commands/attached_command_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/child_process.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using corral::v1::OutputPolicy;
using sandbox::UniqueFd;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::tests::FakeExecution;
using ::tests::FakeServer;

constexpr char kNoSpace[] =
    "corral: standard output: No space left on device\n";

// Returns the exit status of the program, and what it says, when standard
// output is on a disk that is full.
std::string OutcomeOnAFullDisk(const FakeServer& server,
                               std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {"./bridge/cli/attach/attached_command_under_test",
                    "--server", server.address()});
  const UniqueFd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  tests::Pipe error;
  const pid_t pid = tests::Spawn({std::move(arguments),
                                  {},
                                  input.get(),
                                  full.get(),
                                  error.writer.get(),
                                  true});
  error.writer.Reset();
  std::string said;
  char bytes[4096];
  for (ssize_t size;
       (size = ::read(error.reader.get(), bytes, sizeof bytes)) > 0;) {
    said.append(bytes, size);
  }
  return absl::StrCat(tests::AwaitExit(pid), "|", said);
}

void PrintAndHang(FakeExecution& command) {
  command.Print("out");
  command.Hang();
}

corral::v1::Command ThatBlocks() {
  corral::v1::Command command;
  command.mutable_output()->set_overflow(OutputPolicy::BLOCK);
  return command;
}

TEST(RunAttachedTest, KeepsAnExecutionWhoseOutputCannotBeWritten) {
  FakeServer server(PrintAndHang);
  Start(server, {});
  EXPECT_EQ(OutcomeOnAFullDisk(server, {"exec", kSandbox}),
            absl::StrCat("125|corral: the output is kept: corral logs s1/e2\n",
                         kNoSpace));
  EXPECT_THAT(server.signals(), SizeIs(1));
  EXPECT_THAT(server.deletions(), IsEmpty());
}

TEST(RunAttachedTest, DeletesItsSandboxAlsoWhenTheOutputCannotBeWritten) {
  FakeServer server(PrintAndHang);
  EXPECT_EQ(OutcomeOnAFullDisk(server, {"run", "pipe"}),
            absl::StrCat("125|", kNoSpace));
  EXPECT_THAT(server.deletions(), ElementsAre(kSandbox));
}

TEST(RunAttachedTest, SaysNothingAboutASandboxThatIsGoneAtTheEnd) {
  FakeServer server([](FakeExecution& command) {
    command.Print("out");
    command.ReadInput(1);
  });
  Program program(server, {"run", "pipe"});
  program.ReadUntil("out");
  server.LoseSandbox(kSandbox);
  program.CloseInput();
  EXPECT_EQ(program.Outcome(), "0||");
}

TEST(AttachToTest, LeavesACommandWhoseOutputNobodyReads) {
  FakeServer server([](FakeExecution& command) {
    while (command.Print("y\n")) {
    }
  });
  corral::v1::Command command = ThatBlocks();
  command.mutable_output()->set_retain_bytes(1 << 20);
  Start(server, command);
  Program program(server, {"attach", kExecution});
  program.ReadUntil("y\n");
  program.CloseOutput();
  EXPECT_EQ(program.ReadError(), "corral: nobody reads the output\n");
  EXPECT_EQ(program.Wait(), 125);
  EXPECT_THAT(server.signals(), IsEmpty());
  EXPECT_THAT(server.deletions(), IsEmpty());
}

TEST(AttachToTest, ReportsWhatIsMissingOfEachStream) {
  FakeServer server([](FakeExecution& command) {
    command.Write(corral::v1::STDOUT, "0123456789");
    command.Write(corral::v1::STDERR, "oops");
  });
  Start(server, ThatBlocks());
  const auto execution = server.FindExecution(kExecution);
  execution->WaitUntilEnded();
  execution->Acknowledge(corral::v1::STDOUT, 4);
  execution->Acknowledge(corral::v1::STDERR, 2);
  EXPECT_THAT(Program(server, {"attach", kExecution}).Outcome(),
              AllOf(StartsWith("0|456789|"), HasSubstr("ps"),
                    HasSubstr("bytes 0 to 4 of stdout are no longer kept\n"),
                    HasSubstr("bytes 0 to 2 of stderr are no longer kept\n")));
}

TEST(AttachToTest, LeavesTheLastHalfOfWhatIsKeptByDefaultToOthers) {
  FakeServer server(
      [](FakeExecution& command) { command.Print(std::string(5 << 20, 'x')); });
  Start(server, ThatBlocks());
  Program program(server, {"attach", kExecution});
  EXPECT_EQ(program.ReadOutput().size(), 5 << 20);
  EXPECT_EQ(program.Wait(), 0);
  // After 4 MiB, which are less than half of 64 MiB.
  const auto acknowledgements = server.acknowledgements();
  ASSERT_THAT(acknowledgements, SizeIs(1));
  EXPECT_EQ(acknowledgements[0].cursors(0).offset(), 0);
}

}  // namespace
}  // namespace bridge

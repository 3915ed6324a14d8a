// All commands of corral, the program: what they have in common.

#include <unistd.h>

#include <string>
#include <vector>

#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/child_process.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::ContainsRegex;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<std::vector<std::string>>& Commands() {
  static const auto* const commands = new std::vector<std::vector<std::string>>{
      {"run", "cmd"},
      {"create"},
      {"exec", "s1", "cmd"},
      {"attach", "s1/e1"},
      {"ps"},
      {"logs", "s1/e1"},
      {"logs", "--network", "s1"},
      {"allow", "s1", "a.example"},
      {"screen", "s1/e1"},
      {"record", "s1/e1"},
      {"wait", "s1/e1"},
      {"kill", "s1/e1"},
      {"rm", "s1"},
      {"port-forward", "s1", "8080:0"},
      {"prune"},
      {"info"}};
  return *commands;
}

TEST(EveryCommandTest, TakesTheServerAmongItsOptions) {
  for (std::vector<std::string> words : Commands()) {
    words.insert(words.begin() + 1, "--server=unix:/none/second");
    CorralProcess corral("unix:/none/first", words);
    EXPECT_EQ(corral.ReadError(),
              "corral: no server listens at unix:/none/second\n")
        << words[0];
    EXPECT_EQ(corral.Wait(), 125) << words[0];
  }
}

TEST(EveryCommandTest, DescribesItself) {
  for (const std::vector<std::string>& words : Commands()) {
    CorralProcess corral("unix:/none/first", {words[0], "--help"});
    const std::string help = corral.ReadOutput();
    EXPECT_THAT(help, StartsWith("Usage: corral " + words[0]));
    EXPECT_THAT(help, Not(ContainsRegex("[^ -~\n]")));
    EXPECT_EQ(corral.ReadError(), "");
    EXPECT_EQ(corral.Wait(), 0) << words[0];
  }
}

TEST(EveryCommandTest, WritesNothingInPlaceOfStandardOutputThatIsClosed) {
  const tests::FakeServer server([](tests::FakeExecution&) {});
  tests::Pipe error;
  // gRPC opens a descriptor of its own in place of the first that is closed.
  const pid_t pid = tests::Spawn(
      {{"sh", "-c", "exec \"$0\" \"$@\" <&- >&-",
        "./bridge/cli/corral_under_test", "--server", server.address(), "ps"},
       {},
       error.reader.get(),
       error.writer.get(),
       error.writer.get(),
       true});
  error.writer.Reset();
  std::string said(4096, '\0');
  const ssize_t size = ::read(error.reader.get(), said.data(), said.size());
  said.resize(size > 0 ? size : 0);
  EXPECT_EQ(said, "corral: standard output: Bad file descriptor\n");
  EXPECT_EQ(tests::AwaitExit(pid), 125);
}

}  // namespace
}  // namespace bridge

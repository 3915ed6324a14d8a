// corral logs, the program, against a fake server.

#include <string>
#include <vector>

#include "bridge/cli/commands/corral_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_execution.h"
#include "tests/fakes/fake_server.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::tests::FakeExecution;
using ::tests::FakeServer;

constexpr char kSandbox[] = "tenants/default/sandboxes/s1";
constexpr char kExecution[] = "tenants/default/sandboxes/s1/executions/e1";

// The command s1/e1 has printed two lines, unless it is "silent", and ended.
class LogsTest : public ::testing::Test {
 protected:
  std::string Output(const std::vector<std::string>& arguments,
                     int expected = 0) {
    CorralProcess corral(server_.address(), arguments);
    std::string output = corral.ReadOutput();
    error_ = corral.ReadError();
    EXPECT_EQ(corral.Wait(), expected) << error_;
    return output;
  }

  void Run(const std::string& program) {
    Output({"create", "--no-workspace"});
    Output({"exec", "-d", "--overflow", "block", "s1", program});
    Output({"wait", "s1/e1"});
  }

  FakeServer server_{[](FakeExecution& command) {
    if (command.command().argv(0) != "silent") {
      command.Write(corral::v1::STDOUT, "one\ntwo\n");
      command.Write(corral::v1::STDERR, "oops");
    }
  }};
  std::string error_;  // of the last Output()
};

TEST_F(LogsTest, TakesTheLastOfItsTails) {
  Run("cmd");
  EXPECT_EQ(Output({"logs", "--tail", "1", "--tail", "all", "s1/e1"}),
            "one\ntwo\n");
  EXPECT_EQ(Output({"logs", "--tail", "all", "--tail", "1", "s1/e1"}), "two\n");
}

TEST_F(LogsTest, SaysNothingAboutExpiredOutputThatWasEmpty) {
  Run("silent");
  server_.FindExecution(kExecution)->Expire();
  EXPECT_EQ(Output({"logs", "s1/e1"}), "");
  EXPECT_EQ(error_, "");
}

TEST_F(LogsTest, ReportsWhatIsMissingOfEachStream) {
  Run("cmd");
  const auto execution = server_.FindExecution(kExecution);
  execution->Acknowledge(corral::v1::STDOUT, 4);
  execution->Acknowledge(corral::v1::STDERR, 2);
  EXPECT_EQ(Output({"logs", "s1/e1"}), "two\n");
  EXPECT_THAT(error_,
              AllOf(HasSubstr("bytes 0 to 4 of stdout are no longer kept\n"),
                    HasSubstr("bytes 0 to 2 of stderr are no longer kept\n")));
}

TEST_F(LogsTest, PrintsWhatASandboxWantedOfTheNetwork) {
  server_.RefuseHost(kSandbox, "a.example");
  EXPECT_THAT(Output({"logs", "--network", "s1"}),
              EndsWith("refused  look-up of a.example: name not allowed\n"));
  EXPECT_THAT(Output({"logs", "--network", "--json", "s1"}),
              HasSubstr("\"host\":\"a.example\""));
  Output({"logs", "--network", "s1/e1"}, 2);
  EXPECT_THAT(error_, HasSubstr("sandbox \"s1/e1\": allowed is SANDBOX"));
}

}  // namespace
}  // namespace bridge

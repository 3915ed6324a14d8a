// Conversion of commands; see conversion.h.

#include <string>

#include "corral/supervisor/v1/supervisor.pb.h"
#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/api/conversion.h"

namespace server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

corral::v1::Command True() {
  corral::v1::Command command;
  command.add_argv("true");
  return command;
}

corral::v1::Command Parse(const std::string& text) {
  corral::v1::Command command;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &command));
  return command;
}

TEST(CommandConversionTest, ACommandGetsTheDefaultsOfItsSandbox) {
  const wire::CommandSpec spec = ToCommandSpec(True(), "/build");
  EXPECT_THAT(
      spec.environment(),
      AllOf(Contains("HOME=/home/corral"), Contains("USER=corral"),
            Contains("SHELL=/bin/bash"), Not(Contains("TERM=xterm-256color"))));
  EXPECT_EQ(spec.working_directory(), "/build");
  EXPECT_EQ(spec.kill_grace_ns(), 2'000'000'000);
  EXPECT_EQ(spec.retain_bytes(), 64 << 20);
  EXPECT_EQ(spec.wall_timeout_ns(), 0);
  EXPECT_EQ(ToCommandSpec(True(), "").working_directory(), "/home/corral");
}

TEST(CommandConversionTest,
     TheLastValueOfARepeatedNameCountsAndReplacesADefault) {
  corral::v1::Command command = True();
  for (const char* value : {"1", "2"}) {
    auto* variable = command.add_environment();
    variable->set_name("LANG");
    variable->set_value(value);
  }
  const wire::CommandSpec spec = ToCommandSpec(command, "");
  EXPECT_THAT(spec.environment(),
              AllOf(Contains("LANG=2"), Not(Contains("LANG=1")),
                    Not(Contains("LANG=C.UTF-8"))));
}

TEST(CommandConversionTest, ATerminalHasTheVariableTermAndOneStream) {
  corral::v1::Command command = True();
  command.mutable_terminal()->set_rows(24);
  EXPECT_THAT(ToCommandSpec(command, "").environment(),
              Contains("TERM=xterm-256color"));
  EXPECT_THAT(StreamsOf(command), ElementsAre(corral::v1::TERMINAL));
  EXPECT_THAT(StreamsOf(True()),
              ElementsAre(corral::v1::STDOUT, corral::v1::STDERR));
}

TEST(CommandConversionTest, TheOriginalCommandIsKeptForALaterServer) {
  const wire::CommandSpec spec = ToCommandSpec(True(), "/build");
  corral::v1::Command original;
  ASSERT_TRUE(original.ParseFromString(spec.original()));
  EXPECT_EQ(original.argv(0), "true");
}

TEST(CommandConversionTest, SendsTheOverflowPolicyToTheSupervisor) {
  corral::v1::Command command = True();
  EXPECT_EQ(ToCommandSpec(command, "").overflow(),
            wire::CommandSpec::DROP_OLDEST);
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::BLOCK);
  EXPECT_EQ(ToCommandSpec(command, "").overflow(), wire::CommandSpec::BLOCK);
  command.mutable_output()->set_overflow(corral::v1::OutputPolicy::KILL);
  EXPECT_EQ(ToCommandSpec(command, "").overflow(), wire::CommandSpec::KILL);
}

TEST(CommandConversionTest, TimeoutsReachTheSupervisor) {
  corral::v1::Command command = True();
  EXPECT_FALSE(ToCommandSpec(command, "").has_drain_ns());
  command.mutable_cpu_timeout()->set_seconds(3);
  command.mutable_drain_timeout();
  EXPECT_EQ(ToCommandSpec(command, "").cpu_timeout_ns(), 3'000'000'000);
  EXPECT_TRUE(ToCommandSpec(command, "").has_drain_ns());
}

TEST(CommandConversionTest, EveryFieldOfACommandReachesTheSupervisor) {
  const wire::CommandSpec spec = ToCommandSpec(
      Parse(
          "argv: 'make' argv: 'all' working_directory: '/w/sub/' terminal { "
          "rows: 24 columns: 80 } stdin: true merge_stderr: true wall_timeout "
          "{ seconds: 1 } kill_grace { seconds: 3 } cpu_timeout { seconds: 2 } "
          "drain_timeout { seconds: 4 } output { retain_bytes: 70000 overflow: "
          "HEAD_AND_TAIL } user_id: 2001"),
      "/w");
  EXPECT_THAT(spec.argv(), ElementsAre("make", "all"));
  EXPECT_EQ(spec.working_directory(), "/w/sub");
  EXPECT_EQ(spec.terminal_rows(), 24);
  EXPECT_EQ(spec.terminal_columns(), 80);
  EXPECT_TRUE(spec.open_stdin());
  EXPECT_TRUE(spec.merge_stderr());
  EXPECT_EQ(spec.wall_timeout_ns(), 1'000'000'000);
  EXPECT_EQ(spec.cpu_timeout_ns(), 2'000'000'000);
  EXPECT_EQ(spec.kill_grace_ns(), 3'000'000'000);
  EXPECT_EQ(spec.drain_ns(), 4'000'000'000);
  EXPECT_EQ(spec.retain_bytes(), 70'000);
  EXPECT_EQ(spec.overflow(), wire::CommandSpec::HEAD_AND_TAIL);
  EXPECT_EQ(spec.user_id(), 2001u);
}

TEST(CommandConversionTest, ACommandHasTheDocumentedEnvironment) {
  EXPECT_THAT(
      ToCommandSpec(True(), "").environment(),
      ElementsAre("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
                  "/sbin:/bin",
                  "HOME=/home/corral", "USER=corral", "LOGNAME=corral",
                  "SHELL=/bin/bash", "LANG=C.UTF-8"));
}

TEST(CommandConversionTest, ACommandWithAnIdOfItsOwnHasNoHomeUnlessItIsGiven) {
  corral::v1::Command command = True();
  command.set_user_id(2001);
  EXPECT_THAT(ToCommandSpec(command, "").environment(),
              ElementsAre("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                          "/usr/bin:/sbin:/bin",
                          "SHELL=/bin/bash", "LANG=C.UTF-8"));
  EXPECT_EQ(ToCommandSpec(command, "").working_directory(), "/tmp");
  EXPECT_EQ(ToCommandSpec(command, "/build").working_directory(), "/build");
  auto* home = command.add_environment();
  home->set_name("HOME");
  home->set_value("/tmp/home");
  EXPECT_THAT(ToCommandSpec(command, "").environment(),
              Contains("HOME=/tmp/home"));
}

TEST(CommandConversionTest, AMergedStandardErrorHasNoStream) {
  corral::v1::Command command = True();
  command.set_merge_stderr(true);
  EXPECT_THAT(StreamsOf(command), ElementsAre(corral::v1::STDOUT));
}

}  // namespace
}  // namespace server

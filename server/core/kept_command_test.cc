#include "server/core/kept_command.h"

#include <string>

#include "corral/v1/execution.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace server {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::SizeIs;

corral::v1::Command EverythingButEnvironment() {
  corral::v1::Command command;
  command.add_argv("make");
  command.add_argv("-j2");
  command.set_working_directory("/work");
  command.mutable_terminal()->set_rows(24);
  command.set_stdin(true);
  command.set_merge_stderr(true);
  command.mutable_wall_timeout()->set_seconds(1);
  command.mutable_kill_grace()->set_seconds(2);
  command.mutable_output()->set_retain_bytes(65536);
  command.mutable_cpu_timeout()->set_seconds(3);
  command.mutable_drain_timeout()->set_seconds(4);
  command.set_trace(true);
  command.set_user_id(2001);
  return command;
}

TEST(KeptCommandTest, KeepsEveryFieldButTheEnvironment) {
  // A field that is added to Command must be kept, or left out on purpose.
  ASSERT_EQ(corral::v1::Command::descriptor()->field_count(), 13);
  corral::v1::Command command = EverythingButEnvironment();
  const KeptCommand kept(command);
  EXPECT_TRUE(kept.whole());
  EXPECT_TRUE(MessageDifferencer::Equals(kept.command(), command));

  command.add_environment()->set_name("NAME");
  const KeptCommand without(command);
  EXPECT_FALSE(without.whole());
  EXPECT_TRUE(MessageDifferencer::Equals(without.command(), kept.command()));
}

TEST(KeptCommandTest, CutsTheArgumentThatExceedsTheBytes) {
  corral::v1::Command command;
  command.add_argv("echo");
  command.add_argv(std::string(KeptCommand::kMaxArgumentBytes - 6, 'x'));
  EXPECT_TRUE(KeptCommand(command).whole());
  command.add_argv("");
  EXPECT_FALSE(KeptCommand(command).whole());
  EXPECT_THAT(KeptCommand(command).command().argv(), SizeIs(2));

  command.mutable_argv()->RemoveLast();
  command.set_argv(1, *command.mutable_argv(1) + "yz");
  const KeptCommand kept(command);
  EXPECT_FALSE(kept.whole());
  EXPECT_THAT(
      kept.command().argv(),
      ElementsAre("echo",
                  std::string(KeptCommand::kMaxArgumentBytes - 6, 'x')));
}

TEST(KeptCommandTest, CutsNoArgumentToNothing) {
  corral::v1::Command command;
  command.add_argv(std::string(KeptCommand::kMaxArgumentBytes - 2, 'x'));
  command.add_argv("more");
  const KeptCommand kept(command);
  EXPECT_FALSE(kept.whole());
  EXPECT_THAT(kept.command().argv(), SizeIs(1));
}

TEST(KeptCommandTest, KeepsNoMoreThanTheFirstArguments) {
  corral::v1::Command command;
  for (size_t i = 0; i < KeptCommand::kMaxArguments; ++i) {
    command.add_argv("x");
  }
  EXPECT_TRUE(KeptCommand(command).whole());
  command.add_argv("x");
  const KeptCommand kept(command);
  EXPECT_FALSE(kept.whole());
  EXPECT_THAT(kept.command().argv(), SizeIs(KeptCommand::kMaxArguments));
}

}  // namespace
}  // namespace server

#include "server/config.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/flags.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

Flags Listening() {
  Flags flags;
  flags.listen = "unix:/run/test.sock";
  return flags;
}

absl::Status Parse(const std::string& text) {
  return ParseConfig("f.textproto", text, Listening()).status();
}

TEST(ConfigTest, AnEmptyOneIsCompletedWithDefaults) {
  const auto config = ParseConfig("", "", Listening());
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->state_dir(), "/var/lib/corral");
  EXPECT_EQ(config->max_sandboxes(), 1024);
  EXPECT_EQ(config->max_executions_per_sandbox(), 10000);
  EXPECT_EQ(config->drain_seconds(), 10);
  EXPECT_EQ(config->default_limits().pids(), 4096);
  EXPECT_GT(config->default_limits().memory_bytes(), 0);
  EXPECT_FALSE(config->default_limits().has_cpu_millis());
}

TEST(ConfigTest, AFlagOverridesItsField) {
  Flags flags = Listening();
  flags.idle_exit_seconds = 5;
  flags.state_dir = "/b";
  const auto config =
      ParseConfig("f", "state_dir: '/a' idle_exit_seconds: 9", flags);
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->state_dir(), "/b");
  EXPECT_EQ(config->idle_exit_seconds(), 5);
}

TEST(ConfigTest, AnUnknownFieldIsFoundByLineAndColumn) {
  EXPECT_THAT(
      Parse("state_dir: '/a'\n\n  stat_dir: '/b'\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(StartsWith("f.textproto:3:"), HasSubstr("stat_dir"))));
}

TEST(ConfigTest, AValueOfTheWrongTypeIsFoundByLine) {
  EXPECT_THAT(Parse("\nmax_sandboxes: 'many'"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("f.textproto:2:")));
}

TEST(ConfigTest, AValueOutOfRangeIsShownWithItsFieldAndRange) {
  EXPECT_THAT(Parse("\n  max_sandboxes: 4097"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "f.textproto:2:3: field max_sandboxes: value "
                       "\"4097\"; allowed: [1, 4096]"));
  EXPECT_THAT(Parse("default_limits {\n pids: 1\n}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("f.textproto:2:2: field pids"),
                             HasSubstr("[8, 4194304]"))));
  for (const char* text :
       {"listen: 'tcp'", "listen: 'unix:run'", "listen: 'host:0'",
        "state_dir: 'a'", "max_executions_per_sandbox: 100001",
        "drain_seconds: 86401", "idle_exit_seconds: 86401",
        "default_limits { memory_bytes: 0 }",
        "default_limits { cpu_millis: 9 }",
        "tls { certificate_chain_file: '/a' private_key_file: 'b' }",
        "tls { }"}) {
    EXPECT_THAT(Parse(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                      StartsWith("f.textproto:")))
        << text;
  }
}

TEST(ConfigTest, NothingListensOnTcpWithoutTls) {
  Flags flags;
  flags.listen = "localhost:1234";
  EXPECT_THAT(ParseConfig("f", "", flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("TLS")));
  EXPECT_THAT(ParseConfig("f",
                          "tls { certificate_chain_file: '/a' private_key_file:"
                          " '/b' client_ca_file: '/c' }",
                          flags)
                  .status(),
              IsOk());
}

TEST(FlagsTest, TakesAValueAfterASpaceOrAnEqualsSign) {
  const auto flags = ParseFlags({"--listen=unix:/a", "--state-dir", "/s",
                                 "--config", "c", "--idle-exit-seconds=3"});
  ASSERT_THAT(flags.status(), IsOk());
  EXPECT_EQ(flags->listen, "unix:/a");
  EXPECT_EQ(flags->state_dir, "/s");
  EXPECT_EQ(flags->config_file, "c");
  EXPECT_EQ(flags->idle_exit_seconds, 3);
}

TEST(FlagsTest, NamesTheArgumentItDoesNotKnow) {
  EXPECT_THAT(
      ParseFlags({"--lisen", "x"}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--lisen")));
  EXPECT_THAT(ParseFlags({"--idle-exit-seconds", "-1"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--idle-exit-seconds")));
}

}  // namespace
}  // namespace server

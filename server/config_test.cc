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
  EXPECT_EQ(DefaultLimits(*config).output_bytes(), 4ULL << 30);
  EXPECT_EQ(config->on_shutdown(),
            corral::config::v1::ServerConfig::END_SANDBOXES);
}

TEST(ConfigTest, TheDefaultOfASandboxFitsIntoTheServer) {
  const auto config = ParseConfig("", "max_output_bytes: 2097152", Listening());
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->default_limits().output_bytes(), 2097152);
}

TEST(ConfigTest, AFlagOverridesItsField) {
  Flags flags = Listening();
  flags.idle_exit_seconds = 5;
  flags.state_dir = "/b";
  flags.on_shutdown = "LEAVE_SANDBOXES";
  const auto config = ParseConfig("f",
                                  "state_dir: '/a' idle_exit_seconds: 9 "
                                  "on_shutdown: END_SANDBOXES",
                                  flags);
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->state_dir(), "/b");
  EXPECT_EQ(config->idle_exit_seconds(), 5);
  EXPECT_EQ(config->on_shutdown(),
            corral::config::v1::ServerConfig::LEAVE_SANDBOXES);
  flags.on_shutdown = "LEAVE";
  EXPECT_THAT(ParseConfig("", "", flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--on-shutdown: value \"LEAVE\"; allowed: "
                       "END_SANDBOXES, LEAVE_SANDBOXES"));
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
        "default_limits { output_bytes: 1048575 }", "max_output_bytes: 1048575",
        "max_output_bytes: 2097152 default_limits { output_bytes: 2097153 }",
        "default_max_age_seconds: 31536001",
        "default_idle_timeout_seconds: 31536001", "on_shutdown: 2",
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
  const auto flags = ParseFlags(
      {"--listen=unix:/a", "--state-dir", "/s", "--config", "c", "--take-over",
       "--on-shutdown", "END_SANDBOXES", "--idle-exit-seconds=3"});
  ASSERT_THAT(flags.status(), IsOk());
  EXPECT_EQ(flags->listen, "unix:/a");
  EXPECT_EQ(flags->state_dir, "/s");
  EXPECT_EQ(flags->config_file, "c");
  EXPECT_EQ(flags->idle_exit_seconds, 3);
  EXPECT_EQ(flags->on_shutdown, "END_SANDBOXES");
  EXPECT_TRUE(flags->take_over);
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

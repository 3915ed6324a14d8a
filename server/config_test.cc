#include "server/config.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/config/v1/server_config.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/conversion.h"
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

TEST(ConfigTest, AnEmptyConfigurationIsCompletedWithDefaults) {
  const auto config = ParseConfig("", "", Listening());
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->state_dir(), "/var/lib/corral");
  EXPECT_EQ(config->max_sandboxes(), 1024);
  EXPECT_EQ(config->max_executions_per_sandbox(), 10000);
  EXPECT_EQ(config->drain_seconds(), 10);
  EXPECT_EQ(config->default_limits().pids(), 4096);
  EXPECT_GT(config->default_limits().memory_bytes(), 0);
  EXPECT_FALSE(config->default_limits().has_cpu_millis());
  EXPECT_EQ(DefaultsOf(*config).limits.output_bytes(), 4ULL << 30);
  EXPECT_FALSE(DefaultsOf(*config).lifetime.has_max_age());
  EXPECT_FALSE(DefaultsOf(*config).lifetime.has_idle_timeout());
  EXPECT_EQ(config->default_max_ended_executions(), 1000);
  EXPECT_EQ(config->default_max_ended_age_seconds(), 7 * 24 * 3600);
  EXPECT_EQ(config->max_ended_executions(), 100'000);
  EXPECT_EQ(config->max_waiting_calls(), 10'000);
  EXPECT_EQ(config->max_connections(), 10'000);
  EXPECT_EQ(config->max_rpc_memory_bytes(), 256 << 20);
  EXPECT_EQ(config->max_waiting_input_bytes(), 64 << 20);
  EXPECT_EQ(config->on_shutdown(),
            corral::config::v1::ServerConfig::END_SANDBOXES);
}

TEST(ConfigTest, TheDefaultOutputOfASandboxFitsIntoTheServers) {
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

TEST(ConfigTest, ReportsAnUnknownFieldWithLineAndColumn) {
  EXPECT_THAT(
      Parse("state_dir: '/a'\n\n  stat_dir: '/b'\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(StartsWith("f.textproto:3:"), HasSubstr("stat_dir"))));
}

TEST(ConfigTest, ReportsAValueOfTheWrongTypeWithItsLine) {
  EXPECT_THAT(Parse("\nmax_sandboxes: 'many'"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("f.textproto:2:")));
}

TEST(ConfigTest, ReportsAValueOutOfRangeWithItsFieldAndRange) {
  EXPECT_THAT(Parse("\n  max_sandboxes: 4097"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "f.textproto:2:3: field max_sandboxes: value "
                       "\"4097\"; allowed: [1, 4096]"));
  EXPECT_THAT(Parse("default_limits {\n pids: 1\n}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("f.textproto:2:2: field pids"),
                             HasSubstr("[8, 4194304]"))));
  for (const char* text :
       {"listen: 'tcp'",
        "listen: 'unix:run'",
        "listen: 'host:0'",
        "state_dir: 'a'",
        "max_executions_per_sandbox: 100001",
        "drain_seconds: 86401",
        "idle_exit_seconds: 86401",
        "default_limits { memory_bytes: 0 }",
        "default_limits { cpu_millis: 9 }",
        "default_limits { output_bytes: 1048575 }",
        "max_output_bytes: 1048575",
        "max_output_bytes: 2097152 default_limits { output_bytes: 2097153 }",
        "default_max_age_seconds: 31536001",
        "default_idle_timeout_seconds: 31536001",
        "on_shutdown: 2",
        "tls { certificate_chain_file: '/a' private_key_file: 'b' }",
        "default_max_ended_executions: 100001",
        "default_max_ended_age_seconds: 0",
        "default_max_ended_age_seconds: 31536001",
        "max_ended_executions: 10000001",
        "max_waiting_calls: 1000001",
        "max_connections: 1000001",
        "max_rpc_memory_bytes: 16777215",
        "max_rpc_memory_bytes: 1099511627777",
        "max_waiting_input_bytes: 4194303",
        "max_memory_bytes: 4194303",
        "max_pids: 7",
        "max_pids: 100 default_limits { pids: 101 }",
        "max_memory_bytes: 5000000 default_limits { memory_bytes: 5000001 }",
        "workspace_roots: ['/a', 'b']",
        "egress { private_networks: '10.0.0.1/8' }",
        "egress { private_networks: ['10.0.0.0/8', 'example.com'] }",
        "egress { name_servers: 'example.com' }",
        "egress { name_servers: '127.0.0.1:0' }",
        "egress { max_connections: 8001 }",
        "egress { idle_seconds: 86401 }",
        "ceilings { egress { rules { host: '10.0.0.1' } } }",
        "ceilings { egress { rules { host: 'a.com' ports: 0 } } }",
        "ceilings { egress { rules { ports: 443 } } }",
        "ceilings { limits { pids: 7 } }",
        "ceilings { max_age_seconds: 0 }",
        "ceilings { idle_timeout_seconds: 31536001 }",
        "ceilings { max_ended_executions: 100001 }",
        "ceilings { max_ended_age_seconds: 0 }",
        "ceilings { wall_timeout_seconds: 0 }",
        "ceilings { cpu_timeout_seconds: 0 }",
        "ceilings { kill_grace_seconds: 0 }",
        "ceilings { drain_timeout_seconds: 0 }",
        "ceilings { retain_bytes: 65535 }",
        "ceilings { keep_after_end_seconds: 31536001 }",
        "tls { }"}) {
    EXPECT_THAT(Parse(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                      StartsWith("f.textproto:")))
        << text;
  }
}

TEST(ConfigTest, NamesTheElementOfAListThatIsOutOfItsRange) {
  EXPECT_THAT(Parse("workspace_roots: '/a'\nworkspace_roots: 'b'"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "f.textproto:2:1: field workspace_roots: value \"b\"; "
                       "allowed: an absolute path"));
}

TEST(ConfigTest, NamesTheEgressRuleThatIsWrong) {
  EXPECT_THAT(Parse("ceilings { egress {\n"
                    " rules { host: '*.a.com' ports: 443 }\n"
                    " rules { host: 'b..com' }\n"
                    "} }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("f.textproto:3:10: field host: value "
                                        "\"b..com\"; allowed: "),
                             HasSubstr("a host name"))));
}

TEST(ConfigTest, OpensNoWayOutOverTcpByDefault) {
  const std::string tcp =
      "listen: 'h:1' tls { certificate_chain_file: '/a' private_key_file: '/b' "
      "client_ca_file: '/c' }";
  const auto closed = ParseConfig("f", tcp, Flags());
  ASSERT_THAT(closed.status(), IsOk());
  EXPECT_TRUE(closed->ceilings().has_egress());
  EXPECT_EQ(closed->ceilings().egress().rules_size(), 0);
  const auto open = ParseConfig(
      "f", tcp + " ceilings { egress { rules { host: 'a.com' } } }", Flags());
  ASSERT_THAT(open.status(), IsOk());
  EXPECT_EQ(open->ceilings().egress().rules_size(), 1);
  const auto local = ParseConfig("f", "listen: 'unix:/s'", Flags());
  ASSERT_THAT(local.status(), IsOk());
  EXPECT_FALSE(local->ceilings().has_egress());
}

TEST(ConfigTest, RefusesADefaultAboveItsCeiling) {
  EXPECT_THAT(Parse("default_limits { pids: 11 }\n"
                    "ceilings { limits { pids: 10 } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "f.textproto:1:18: field pids: value \"11\"; allowed: "
                       "at most 10, which ceilings.limits.pids names"));
  for (const std::string& field :
       {std::string("max_age_seconds"), std::string("idle_timeout_seconds"),
        std::string("max_ended_executions"),
        std::string("max_ended_age_seconds")}) {
    const std::string ceiling = "ceilings { " + field + ": 10 }";
    EXPECT_THAT(Parse("default_" + field + ": 10 " + ceiling), IsOk());
    EXPECT_THAT(Parse("default_" + field + ": 11 " + ceiling),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("field default_" + field),
                               HasSubstr("ceilings." + field))));
  }
}

TEST(ConfigTest, RefusesAProfileThatDoesNotExist) {
  EXPECT_THAT(Parse("ceilings { profiles: 'NESTED' profiles: 'STRICT' }"),
              IsOk());
  EXPECT_THAT(Parse("ceilings { profiles: 'STRICT'\nprofiles: 'strict' }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "f.textproto:2:1: field profiles: value \"strict\"; "
                       "allowed: DEFAULT, STRICT, DEBUG or NESTED"));
}

TEST(ConfigTest, TakesACeilingAsDefaultWhereItsOwnIsHigherOrNoLimit) {
  const auto config = ParseConfig("", R"(
      ceilings {
        limits { memory_bytes: 4194304 pids: 10 cpu_millis: 100
                 output_bytes: 1048576 }
        max_age_seconds: 1 idle_timeout_seconds: 2
        max_ended_executions: 3 max_ended_age_seconds: 4
      })",
                                  Listening());
  ASSERT_THAT(config.status(), IsOk());
  const SandboxDefaults defaults = DefaultsOf(*config);
  EXPECT_EQ(defaults.limits.memory_bytes(), 4194304);
  EXPECT_EQ(defaults.limits.pids(), 10);
  EXPECT_EQ(defaults.limits.cpu_millis(), 100);
  EXPECT_EQ(defaults.limits.output_bytes(), 1048576);
  EXPECT_EQ(defaults.lifetime.max_age().seconds(), 1);
  EXPECT_EQ(defaults.lifetime.idle_timeout().seconds(), 2);
  EXPECT_EQ(defaults.retention.max_ended_executions(), 3);
  EXPECT_EQ(defaults.retention.max_ended_age().seconds(), 4);
}

TEST(ConfigTest, KeepsItsOwnDefaultBelowACeiling) {
  const auto config = ParseConfig("", R"(
      default_max_age_seconds: 5
      ceilings {
        limits { pids: 100000 }
        max_age_seconds: 10 max_ended_executions: 5000
      })",
                                  Listening());
  ASSERT_THAT(config.status(), IsOk());
  const SandboxDefaults defaults = DefaultsOf(*config);
  EXPECT_EQ(defaults.limits.pids(), 4096);
  EXPECT_EQ(defaults.lifetime.max_age().seconds(), 5);
  EXPECT_EQ(defaults.retention.max_ended_executions(), 1000);
}

TEST(ConfigTest, RefusesTcpWithoutTls) {
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

}  // namespace
}  // namespace server

#include "server/config.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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
  EXPECT_FALSE(DefaultsOf(*config).limits.has_cpu_millis());
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

TEST(ConfigTest, TheDefaultMemoryOfASandboxLeavesAQuarterToTheHost) {
  struct sysinfo host = {};
  ASSERT_EQ(::sysinfo(&host), 0);
  const uint64_t quarter = uint64_t{host.totalram} * host.mem_unit / 4;
  EXPECT_EQ(ParseConfig("", "", Listening())->default_limits().memory_bytes(),
            3 * quarter);
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

TEST(ConfigTest, ReportsTheFirstOfTwoErrors) {
  EXPECT_THAT(Parse("\x01\nstat_dir: '/b'"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("f.textproto:1:")));
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
        "mount_roots { path: '/a' } mount_roots { path: 'b' }",
        "mount_roots { writable: true }",
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
                 output_bytes: 1048576 file_bytes: 8192
                 disk_bytes_per_second: 1048577
                 disk_operations_per_second: 11 disk_bytes: 1048579
                 disk_inodes: 17 }
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
  EXPECT_EQ(defaults.limits.file_bytes(), 8192);
  EXPECT_EQ(defaults.limits.disk_bytes_per_second(), 1048577);
  EXPECT_EQ(defaults.limits.disk_operations_per_second(), 11);
  EXPECT_EQ(defaults.limits.disk_bytes(), 1048579);
  EXPECT_EQ(defaults.limits.disk_inodes(), 17);
  EXPECT_EQ(defaults.lifetime.max_age().seconds(), 1);
  EXPECT_EQ(defaults.lifetime.idle_timeout().seconds(), 2);
  EXPECT_EQ(defaults.retention.max_ended_executions(), 3);
  EXPECT_EQ(defaults.retention.max_ended_age().seconds(), 4);
}

TEST(ConfigTest, KeepsItsOwnDefaultBelowACeiling) {
  const auto config = ParseConfig("", R"(
      default_max_age_seconds: 5
      default_limits { cpu_millis: 50 }
      ceilings {
        limits { pids: 100000 cpu_millis: 100 }
        max_age_seconds: 10 max_ended_executions: 5000
      })",
                                  Listening());
  ASSERT_THAT(config.status(), IsOk());
  const SandboxDefaults defaults = DefaultsOf(*config);
  EXPECT_EQ(defaults.limits.pids(), 4096);
  EXPECT_EQ(defaults.limits.cpu_millis(), 50);
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

TEST(ConfigTest, RefusesAFlagOutOfItsRangeByItsName) {
  Flags flags = Listening();
  flags.listen = "host";
  EXPECT_THAT(ParseConfig("", "", flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("--listen: value \"host\"")));
  flags = Listening();
  flags.state_dir = "a";
  EXPECT_THAT(ParseConfig("", "", flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("--state-dir: value \"a\"")));
  flags = Listening();
  flags.idle_exit_seconds = 86'400;
  EXPECT_THAT(ParseConfig("", "", flags).status(), IsOk());
  flags.idle_exit_seconds = 86'401;
  EXPECT_THAT(ParseConfig("", "", flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("--idle-exit-seconds: value \"86401\"")));
}

TEST(ConfigTest, ReadsTheFileThatAFlagNames) {
  Flags flags = Listening();
  EXPECT_THAT(LoadConfig(flags).status(), IsOk());
  const std::string path = ::testing::TempDir() + "/config.textproto";
  flags.config_file = path;
  std::ofstream(path) << "max_sandboxes: 7";
  ASSERT_THAT(LoadConfig(flags).status(), IsOk());
  EXPECT_EQ(LoadConfig(flags)->max_sandboxes(), 7);
  flags.config_file = path + "x";
  EXPECT_THAT(LoadConfig(flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--config: cannot read " + path + "x"));
}

TEST(ConfigTest, KeepsWhatTheFileGives) {
  const auto config = ParseConfig("", R"(
      state_dir: '/s' drain_seconds: 0 max_sandboxes: 1
      max_executions_per_sandbox: 2 max_ended_executions: 3
      max_waiting_calls: 4 max_connections: 5 max_rpc_memory_bytes: 16777216
      max_waiting_input_bytes: 4194304
      default_limits { memory_bytes: 5000000 pids: 9 cpu_millis: 10
                       output_bytes: 2000000 kill_all_on_oom: true
                       file_bytes: 5000 disk_bytes_per_second: 1048578
                       disk_operations_per_second: 12 disk_bytes: 1048580
                       disk_inodes: 18 }
      default_max_age_seconds: 6 default_idle_timeout_seconds: 7
      default_max_ended_executions: 0 default_max_ended_age_seconds: 8
      egress { private_networks: '10.0.0.0/8' name_servers: '10.0.0.1:5353'
               max_connections: 9 max_bytes: 10 idle_seconds: 11 })",
                                  Listening());
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->state_dir(), "/s");
  EXPECT_TRUE(config->has_drain_seconds());
  EXPECT_EQ(config->drain_seconds(), 0);
  EXPECT_EQ(config->max_sandboxes(), 1);
  EXPECT_EQ(config->max_executions_per_sandbox(), 2);
  EXPECT_EQ(config->max_ended_executions(), 3);
  EXPECT_EQ(config->max_waiting_calls(), 4);
  EXPECT_EQ(config->max_connections(), 5);
  EXPECT_EQ(config->max_rpc_memory_bytes(), 16 << 20);
  EXPECT_EQ(config->max_waiting_input_bytes(), 4 << 20);
  const SandboxDefaults defaults = DefaultsOf(*config);
  EXPECT_EQ(defaults.limits.ShortDebugString(),
            "memory_bytes: 5000000 pids: 9 cpu_millis: 10 output_bytes: "
            "2000000 kill_all_on_oom: true file_bytes: 5000 "
            "disk_bytes_per_second: 1048578 disk_operations_per_second: 12 "
            "disk_bytes: 1048580 disk_inodes: 18");
  EXPECT_EQ(defaults.lifetime.ShortDebugString(),
            "max_age { seconds: 6 } idle_timeout { seconds: 7 }");
  EXPECT_EQ(defaults.retention.ShortDebugString(),
            "max_ended_executions: 0 max_ended_age { seconds: 8 }");
  EXPECT_EQ(defaults.egress.policy().private_networks(0), "10.0.0.0/8");
  EXPECT_EQ(defaults.egress.name_servers(0), "10.0.0.1:5353");
  EXPECT_EQ(defaults.egress.policy().limits().connections(), 9);
  EXPECT_EQ(defaults.egress.policy().limits().bytes(), 10);
  EXPECT_EQ(defaults.egress.policy().limits().idle_ns(), 11'000'000'000);
}

TEST(ConfigTest, TheDefaultsOfASandboxFitIntoTheServersTotals) {
  const auto config =
      ParseConfig("", "max_memory_bytes: 5000000 max_pids: 9", Listening());
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->default_limits().memory_bytes(), 5'000'000);
  EXPECT_EQ(config->default_limits().pids(), 9);
}

TEST(ConfigTest, RootListensInTheDirectoryOfTheSystem) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root listens there";
  }
  const auto config = ParseConfig("", "", Flags());
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->listen(), "unix:/run/corral/corrald.sock");
}

TEST(ConfigTest, APersonListensInTheDirectoryOfTheSession) {
  const uid_t user = ::geteuid();
  if (user == 0 && ::seteuid(1000) != 0) {
    GTEST_SKIP() << "there is no user 1000 in this user namespace";
  }
  ::setenv("XDG_RUNTIME_DIR", "/run/user/1000", 1);
  ::setenv("XDG_STATE_HOME", "/home/person/state", 1);
  const auto config = ParseConfig("", "", Flags());
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  const auto relative = ParseConfig("", "", Flags());
  ::unsetenv("XDG_RUNTIME_DIR");
  const auto unset = ParseConfig("", "", Flags());
  ::unsetenv("XDG_STATE_HOME");
  ASSERT_EQ(::seteuid(user), 0);
  ASSERT_THAT(config.status(), IsOk());
  EXPECT_EQ(config->listen(), "unix:/run/user/1000/corral/corrald.sock");
  for (const absl::Status& refused : {relative.status(), unset.status()}) {
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("$XDG_RUNTIME_DIR")));
  }
}

}  // namespace
}  // namespace server

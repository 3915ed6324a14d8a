// The ranges in the configuration, and the rules between its fields.

#include "server/config_rules.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/config.h"
#include "server/flags.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

constexpr uint64_t kYear = 31'536'000;
constexpr uint64_t kDay = 86'400;
constexpr uint64_t kMiB = 1 << 20;

absl::Status Parse(const std::string& text) {
  Flags flags;
  flags.listen = "unix:/run/test.sock";
  return ParseConfig("f.textproto", text, flags).status();
}

// A field, whose number is N, and its range.
struct Ranged {
  const char* text;
  uint64_t least;
  uint64_t most;
};

absl::Status Parse(const Ranged& field, uint64_t number) {
  return Parse(absl::StrReplaceAll(field.text, {{"N", absl::StrCat(number)}}));
}

void ExpectRange(const Ranged& field) {
  EXPECT_THAT(Parse(field, field.least), IsOk()) << field.text;
  EXPECT_THAT(Parse(field, field.most), IsOk()) << field.text;
  if (field.most < UINT64_MAX) {
    EXPECT_THAT(Parse(field, field.most + 1),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(StartsWith("f.textproto:"),
                               HasSubstr(absl::StrCat(", ", field.most, "]")))))
        << field.text;
  }
}

void ExpectRefusedBelow(const Ranged& field) {
  EXPECT_THAT(Parse(field, field.least - 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("f.textproto:"),
                             HasSubstr(absl::StrCat("[", field.least, ", ")))))
      << field.text;
}

TEST(ConfigRulesTest, NumbersThatMayBeZeroHaveAMost) {
  for (const Ranged& field :
       {Ranged{"max_sandboxes: N", 1, 4096},
        Ranged{"max_executions_per_sandbox: N", 1, 100'000},
        Ranged{"drain_seconds: N", 0, kDay},
        Ranged{"idle_exit_seconds: N", 0, kDay},
        Ranged{"default_max_age_seconds: N", 0, kYear},
        Ranged{"default_idle_timeout_seconds: N", 0, kYear},
        Ranged{"default_max_ended_executions: N", 0, 100'000},
        Ranged{"max_ended_executions: N", 1, 10'000'000},
        Ranged{"max_waiting_calls: N", 1, 1'000'000},
        Ranged{"max_connections: N", 1, 1'000'000},
        Ranged{"egress { max_connections: N }", 1, 8000},
        Ranged{"egress { idle_seconds: N }", 1, kDay},
        Ranged{"ceilings { max_ended_executions: N }", 0, 100'000},
        Ranged{"ceilings { keep_after_end_seconds: N }", 0, kYear}}) {
    ExpectRange(field);
  }
}

TEST(ConfigRulesTest, NumbersHaveALeastAndAMost) {
  for (const Ranged& field :
       {Ranged{"max_output_bytes: N", kMiB, UINT64_MAX},
        Ranged{"max_memory_bytes: N", 4 * kMiB, UINT64_MAX},
        Ranged{"max_pids: N", 8, UINT64_MAX},
        Ranged{"max_rpc_memory_bytes: N", 16 * kMiB, kMiB << 20},
        Ranged{"max_waiting_input_bytes: N", 4 * kMiB, kMiB << 20},
        Ranged{"default_max_ended_age_seconds: N", 1, kYear},
        Ranged{"default_limits { memory_bytes: N }", 4 * kMiB, kMiB << 30},
        Ranged{"default_limits { pids: N }", 8, 4 * kMiB},
        Ranged{"default_limits { cpu_millis: N }", 10, 1'000'000},
        Ranged{"default_limits { output_bytes: N }", kMiB, kMiB << 30},
        Ranged{"default_limits { file_bytes: N }", 4096, kMiB << 30},
        Ranged{"default_limits { disk_bytes_per_second: N }", kMiB, kMiB << 30},
        Ranged{"default_limits { disk_operations_per_second: N }", 10,
               1'000'000'000},
        Ranged{"default_limits { disk_bytes: N }", kMiB, kMiB << 30},
        Ranged{"default_limits { disk_inodes: N }", 16, UINT32_MAX},
        Ranged{"ceilings { limits { memory_bytes: N } }", 4 * kMiB, kMiB << 30},
        Ranged{"ceilings { limits { pids: N } }", 8, 4 * kMiB},
        Ranged{"ceilings { limits { cpu_millis: N } }", 10, 1'000'000},
        Ranged{"ceilings { limits { output_bytes: N } }", kMiB, kMiB << 30},
        Ranged{"ceilings { limits { file_bytes: N } }", 4096, kMiB << 30},
        Ranged{"ceilings { limits { disk_bytes_per_second: N } }", kMiB,
               kMiB << 30},
        Ranged{"ceilings { limits { disk_operations_per_second: N } }", 10,
               1'000'000'000},
        Ranged{"ceilings { limits { disk_bytes: N } }", kMiB, kMiB << 30},
        Ranged{"ceilings { limits { disk_inodes: N } }", 16, UINT32_MAX},
        Ranged{"ceilings { max_age_seconds: N }", 1, kYear},
        Ranged{"ceilings { idle_timeout_seconds: N }", 1, kYear},
        Ranged{"ceilings { max_ended_age_seconds: N }", 1, kYear},
        Ranged{"ceilings { wall_timeout_seconds: N }", 1, kYear},
        Ranged{"ceilings { cpu_timeout_seconds: N }", 1, kYear},
        Ranged{"ceilings { kill_grace_seconds: N }", 1, kYear},
        Ranged{"ceilings { drain_timeout_seconds: N }", 1, kYear},
        Ranged{"ceilings { retain_bytes: N }", kMiB / 16, kMiB << 20}}) {
    ExpectRange(field);
    ExpectRefusedBelow(field);
  }
}

TEST(ConfigRulesTest, ADefaultNeedsNoCeilingOfItsOwn) {
  EXPECT_THAT(Parse("default_idle_timeout_seconds: 5 default_limits { pids: 9 }"
                    " ceilings { max_age_seconds: 1"
                    " limits { memory_bytes: 5000000 } }"),
              IsOk());
  EXPECT_THAT(Parse("default_limits { pids: 9 } ceilings { }"), IsOk());
}

TEST(ConfigRulesTest, ADefaultMayBeAllThatThereIs) {
  EXPECT_THAT(Parse("max_output_bytes: 2097152 max_memory_bytes: 5000000"
                    " max_pids: 9 default_limits { output_bytes: 2097152"
                    " memory_bytes: 5000000 pids: 9 }"),
              IsOk());
}

TEST(ConfigRulesTest, EachLimitThatIsADefaultObeysItsCeiling) {
  for (const auto& [limit, least] :
       std::map<std::string, uint64_t>{{"memory_bytes", 4 * kMiB},
                                       {"pids", 8},
                                       {"cpu_millis", 10},
                                       {"output_bytes", kMiB},
                                       {"file_bytes", 4096},
                                       {"disk_bytes_per_second", kMiB},
                                       {"disk_operations_per_second", 10},
                                       {"disk_bytes", kMiB},
                                       {"disk_inodes", 16}}) {
    const std::string ceiling =
        absl::StrCat(" ceilings { limits { ", limit, ": ", least, " } }");
    EXPECT_THAT(
        Parse(absl::StrCat("default_limits { ", limit, ": ", least + 1, " }",
                           ceiling)),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("ceilings.limits.", limit, " names"))));
  }
}

TEST(ConfigRulesTest, ChoosingWhatEndsWhenMemoryRunsOutIsNoCeiling) {
  EXPECT_THAT(Parse("default_limits { kill_all_on_oom: false }"), IsOk());
  EXPECT_THAT(Parse("ceilings { limits { kill_all_on_oom: true } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("kill_all_on_oom"), HasSubstr("true"),
                             HasSubstr("in default_limits only"))));
}

TEST(ConfigRulesTest, TlsNeedsTheAbsolutePathsOfAllItsFiles) {
  const std::string whole =
      "tls { certificate_chain_file: '/a' private_key_file: '/b' "
      "client_ca_file: '/c' }";
  EXPECT_THAT(Parse(whole), IsOk());
  for (const auto& [field, path] :
       std::map<std::string, std::string>{{"certificate_chain_file", "'/a'"},
                                          {"private_key_file", "'/b'"},
                                          {"client_ca_file", "'/c'"}}) {
    EXPECT_THAT(Parse(absl::StrReplaceAll(whole, {{path, "'relative'"}})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("field ", field,
                                                ": value "
                                                "\"relative\""))));
    EXPECT_THAT(
        Parse(absl::StrReplaceAll(whole, {{path, "''"}})),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("field ", field, " is missing"))));
  }
}

}  // namespace
}  // namespace server

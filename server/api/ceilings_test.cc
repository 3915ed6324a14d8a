#include "server/api/ceilings.h"

#include <string>

#include "absl/status/status.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::tests::IsOk;
using ::tests::StatusIs;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message))
      << text;
  return message;
}

absl::Status Sandbox(const std::string& ceilings, const std::string& sandbox) {
  return CheckCeilings(Parse<Ceilings>(ceilings), "sandbox",
                       Parse<corral::v1::Sandbox>(sandbox));
}

absl::Status Command(const std::string& ceilings, const std::string& command) {
  return CheckCeilings(Parse<Ceilings>(ceilings), "command",
                       Parse<corral::v1::Command>(command));
}

// Returns `command` with its absent fields filled, as text.
std::string Filled(const std::string& ceilings, const std::string& command) {
  auto filled = Parse<corral::v1::Command>(command);
  FillFromCeilings(Parse<Ceilings>(ceilings), &filled);
  return filled.ShortDebugString();
}

TEST(CeilingsTest, NamesTheFieldItsValueAndTheCeiling) {
  const absl::Status status =
      Sandbox("limits { pids: 100 }", "limits { pids: 101 }");
  EXPECT_EQ(ReasonOf(status), corral::v1::INVALID_FIELD);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "sandbox.limits.pids is \"101\"; allowed: at most 100, "
                       "the server's ceilings.limits.pids"));
  EXPECT_THAT(Sandbox("max_age_seconds: 60",
                      "lifetime { max_age { seconds: 60 nanos: 1 } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "sandbox.lifetime.max_age is \"1m0.000000001s\"; "
                       "allowed: at most 60 s, the server's "
                       "ceilings.max_age_seconds"));
}

TEST(CeilingsTest, GrantsProfilesByName) {
  for (const char* profile : {"DEFAULT", "STRICT", "DEBUG"}) {
    EXPECT_THAT(Sandbox("", std::string("profile: ") + profile), IsOk());
  }
  EXPECT_THAT(Sandbox("", "profile: NESTED"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "sandbox.profile is \"NESTED\"; allowed: DEFAULT, "
                       "STRICT, DEBUG, the server's ceilings.profiles"));
  EXPECT_THAT(Sandbox("profiles: 'NESTED'", "profile: NESTED"), IsOk());
  EXPECT_THAT(Sandbox("profiles: 'STRICT'", "profile: STRICT"), IsOk());
  EXPECT_THAT(Sandbox("profiles: 'STRICT'", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "sandbox.profile is \"DEFAULT\"; allowed: STRICT, the "
                       "server's ceilings.profiles"));
}

TEST(CeilingsTest, AllowsAValueAtItsCeilingAndRefusesTheNextOne) {
  struct Case {
    const char* ceilings;
    const char* at;
    const char* above;
  };
  for (const Case& each : {
           Case{"limits { memory_bytes: 5000000 }",
                "limits { memory_bytes: 5000000 }",
                "limits { memory_bytes: 5000001 }"},
           Case{"limits { pids: 9 }", "limits { pids: 9 }",
                "limits { pids: 10 }"},
           Case{"limits { cpu_millis: 100 }", "limits { cpu_millis: 100 }",
                "limits { cpu_millis: 101 }"},
           Case{"limits { output_bytes: 2000000 }",
                "limits { output_bytes: 2000000 }",
                "limits { output_bytes: 2000001 }"},
           Case{"limits { file_bytes: 5000 }", "limits { file_bytes: 5000 }",
                "limits { file_bytes: 5001 }"},
           Case{"limits { disk_bytes_per_second: 2000000 }",
                "limits { disk_bytes_per_second: 2000000 }",
                "limits { disk_bytes_per_second: 2000001 }"},
           Case{"limits { disk_operations_per_second: 50 }",
                "limits { disk_operations_per_second: 50 }",
                "limits { disk_operations_per_second: 51 }"},
           Case{"limits { disk_bytes: 2000000 }",
                "limits { disk_bytes: 2000000 }",
                "limits { disk_bytes: 2000001 }"},
           Case{"limits { disk_inodes: 50 }", "limits { disk_inodes: 50 }",
                "limits { disk_inodes: 51 }"},
           Case{"max_age_seconds: 5", "lifetime { max_age { seconds: 5 } }",
                "lifetime { max_age { seconds: 6 } }"},
           Case{"idle_timeout_seconds: 5",
                "lifetime { idle_timeout { seconds: 5 } }",
                "lifetime { idle_timeout { seconds: 6 } }"},
           Case{"max_ended_executions: 0",
                "retention { max_ended_executions: 0 }",
                "retention { max_ended_executions: 1 }"},
           Case{"max_ended_age_seconds: 5",
                "retention { max_ended_age { seconds: 5 } }",
                "retention { max_ended_age { seconds: 6 } }"},
       }) {
    EXPECT_THAT(Sandbox(each.ceilings, each.at), IsOk());
    EXPECT_EQ(ReasonOf(Sandbox(each.ceilings, each.above)),
              corral::v1::INVALID_FIELD)
        << each.above;
    EXPECT_THAT(Sandbox("", each.above), IsOk());
  }
  for (const Case& each : {
           Case{"wall_timeout_seconds: 5", "wall_timeout { seconds: 5 }",
                "wall_timeout { seconds: 5 nanos: 1 }"},
           Case{"cpu_timeout_seconds: 5", "cpu_timeout { seconds: 5 }",
                "cpu_timeout { seconds: 6 }"},
           Case{"kill_grace_seconds: 5", "kill_grace { seconds: 5 }",
                "kill_grace { seconds: 6 }"},
           Case{"drain_timeout_seconds: 5", "drain_timeout { seconds: 5 }",
                "drain_timeout { seconds: 6 }"},
           Case{"retain_bytes: 70000", "output { retain_bytes: 70000 }",
                "output { retain_bytes: 70001 }"},
           Case{"keep_after_end_seconds: 0", "output { keep_after_end { } }",
                "output { keep_after_end { nanos: 1 } }"},
       }) {
    EXPECT_THAT(Command(each.ceilings, each.at), IsOk());
    EXPECT_EQ(ReasonOf(Command(each.ceilings, each.above)),
              corral::v1::INVALID_FIELD)
        << each.above;
    EXPECT_THAT(Command("", each.above), IsOk());
  }
}

TEST(CeilingsTest, AbsentFieldsWithoutADefaultGetTheirCeiling) {
  EXPECT_EQ(Filled("wall_timeout_seconds: 5 cpu_timeout_seconds: 6 "
                   "keep_after_end_seconds: 7",
                   ""),
            "wall_timeout { seconds: 5 } output { keep_after_end { seconds: 7 "
            "} } cpu_timeout { seconds: 6 }");
  EXPECT_EQ(Filled("", ""), "");
}

TEST(CeilingsTest, AbsentFieldsWithADefaultAboveTheirCeilingGetTheCeiling) {
  EXPECT_EQ(Filled("kill_grace_seconds: 1 drain_timeout_seconds: 1 "
                   "retain_bytes: 65536",
                   ""),
            "kill_grace { seconds: 1 } output { retain_bytes: 65536 } "
            "drain_timeout { seconds: 1 }");
  EXPECT_EQ(Filled("kill_grace_seconds: 2 drain_timeout_seconds: 2 "
                   "retain_bytes: 67108864",
                   ""),
            "");
}

TEST(CeilingsTest, LeavesFieldsThatARequestNames) {
  const std::string command =
      "wall_timeout { seconds: 1 } kill_grace { } output { retain_bytes: 65536 "
      "keep_after_end { } } cpu_timeout { seconds: 1 } drain_timeout { }";
  EXPECT_EQ(Filled("wall_timeout_seconds: 5 cpu_timeout_seconds: 5 "
                   "kill_grace_seconds: 1 drain_timeout_seconds: 1 "
                   "retain_bytes: 70000 keep_after_end_seconds: 7",
                   command),
            command);
}

TEST(CeilingsTest, BoundsTheWaysOutOfASandbox) {
  const std::string rule = "network: ALLOW_LIST egress_rules { host: 'a.com' }";
  EXPECT_THAT(Sandbox("", rule), IsOk());
  EXPECT_THAT(Sandbox("egress { rules { host: 'a.com' } }", rule), IsOk());
  EXPECT_EQ(ReasonOf(Sandbox("egress { }", rule)), corral::v1::INVALID_FIELD);
}

}  // namespace
}  // namespace server

#include "server/api/validation.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "corral/v1/error_reason.pb.h"
#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/api/errors.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::tests::IsOk;
using ::tests::StatusIs;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message))
      << text;
  return message;
}

absl::Status Command(const std::string& text,
                     const std::vector<absl::string_view>& workspaces = {}) {
  return CheckCommand("command", Parse<corral::v1::Command>(text), workspaces);
}

absl::Status Sandbox(const std::string& text) {
  return CheckSandbox("sandbox", Parse<corral::v1::Sandbox>(text));
}

MATCHER_P(Refuses, field, "") {
  return ReasonOf(arg) == corral::v1::INVALID_FIELD &&
         ::testing::ExplainMatchResult(
             StatusIs(absl::StatusCode::kInvalidArgument,
                      StartsWith(absl::StrCat(field, " "))),
             arg, result_listener);
}

TEST(ValidationTest, AcceptsAPlainCommand) {
  EXPECT_THAT(Command("argv: 'true'"), IsOk());
  EXPECT_THAT(Command("argv: 'a' argv: '' argv: '\\xff'"), IsOk());
}

TEST(ValidationTest, RefusesArgumentsThatExecCannotPass) {
  EXPECT_THAT(Command(""), Refuses("command.argv"));
  EXPECT_THAT(Command("argv: ''"), Refuses("command.argv[0]"));
  EXPECT_THAT(Command("argv: 'a' argv: 'x\\0y'"), Refuses("command.argv[1]"));
}

TEST(ValidationTest, CountsArgumentsAndEnvironmentTogether) {
  corral::v1::Command command;
  command.add_argv("a");
  auto* variable = command.add_environment();
  variable->set_name("n");
  variable->set_value(std::string((1 << 20) - 5, 'x'));
  EXPECT_THAT(CheckCommand("command", command, {}), IsOk());
  command.set_argv(0, "ab");
  EXPECT_THAT(CheckCommand("command", command, {}), Refuses("command.argv"));
  command.set_argv(0, "a");
  command.add_argv("");
  EXPECT_THAT(CheckCommand("command", command, {}), Refuses("command.argv"));
  variable->mutable_value()->pop_back();
  EXPECT_THAT(CheckCommand("command", command, {}), IsOk());
}

TEST(ValidationTest, RefusesVariablesThatAnEnvironmentCannotHold) {
  EXPECT_THAT(Command("argv: 'a' environment { value: 'x' }"),
              Refuses("command.environment[0].name"));
  EXPECT_THAT(Command("argv: 'a' environment { name: 'a=b' }"),
              Refuses("command.environment[0].name"));
  EXPECT_THAT(Command("argv: 'a' environment { name: 'a\\0' }"),
              Refuses("command.environment[0].name"));
  EXPECT_THAT(Command("argv: 'a' environment { name: 'a' value: '\\0' }"),
              Refuses("command.environment[0].value"));
}

TEST(ValidationTest, TheWorkingDirectoryMustBeInTheWorkspace) {
  for (const char* good : {"/w", "/w/", "/w/a/b"}) {
    EXPECT_THAT(
        Command(absl::StrCat("argv: 'a' working_directory: '", good, "'"),
                {"/w"}),
        IsOk());
  }
  for (const char* bad : {"w", "./w", "/w/..", "/w/./a", "/w/../etc", "/ww",
                          "/", "/w//a", "/w/\\0"}) {
    EXPECT_THAT(
        Command(absl::StrCat("argv: 'a' working_directory: '", bad, "'"),
                {"/w"}),
        Refuses("command.working_directory"))
        << bad;
  }
  EXPECT_THAT(Command("argv: 'a' working_directory: '/'"), IsOk());
  for (const char* good : {"/w", "/w/", "/w/a"}) {
    EXPECT_THAT(
        Command(absl::StrCat("argv: 'a' working_directory: '", good, "'"),
                {"/w/"}),
        IsOk())
        << good;
  }
}

TEST(ValidationTest, RefusesNumbersOutOfTheirRanges) {
  EXPECT_THAT(Command("argv: 'a' terminal { rows: 0 columns: 80 }"),
              Refuses("command.terminal.rows"));
  EXPECT_THAT(Command("argv: 'a' terminal { rows: 1 columns: 65536 }"),
              Refuses("command.terminal.columns"));
  EXPECT_THAT(Command("argv: 'a' output { retain_bytes: 65535 }"),
              Refuses("command.output.retain_bytes"));
  EXPECT_THAT(Command("argv: 'a' output { retain_bytes: 1099511627777 }"),
              Refuses("command.output.retain_bytes"));
  EXPECT_THAT(Command("argv: 'a' wall_timeout { nanos: 999999 }"),
              Refuses("command.wall_timeout"));
  EXPECT_THAT(Command("argv: 'a' wall_timeout { seconds: 31536001 }"),
              Refuses("command.wall_timeout"));
  EXPECT_THAT(Command("argv: 'a' kill_grace { seconds: -1 }"),
              Refuses("command.kill_grace"));
  EXPECT_THAT(Command("argv: 'a' kill_grace { seconds: 1 nanos: -1 }"),
              Refuses("command.kill_grace"));
}

TEST(ValidationTest, AcceptsTheBoundsOfEveryRange) {
  for (const char* command :
       {"terminal { rows: 1 columns: 65535 }",
        "terminal { rows: 65535 columns: 1 }", "output { retain_bytes: 65536 }",
        "output { retain_bytes: 1099511627776 }",
        "output { keep_after_end { } }",
        "output { keep_after_end { seconds: 31536000 } }",
        "wall_timeout { nanos: 1000000 }", "wall_timeout { seconds: 31536000 }",
        "cpu_timeout { nanos: 1000000 }", "cpu_timeout { seconds: 31536000 }",
        "kill_grace { }", "kill_grace { seconds: 3600 }", "drain_timeout { }",
        "drain_timeout { seconds: 3600 }", "user_id: 0", "user_id: 1001",
        "user_id: 59999"}) {
    EXPECT_THAT(Command(absl::StrCat("argv: 'a' ", command)), IsOk())
        << command;
  }
  for (const char* sandbox :
       {"limits { memory_bytes: 1125899906842624 }", "limits { pids: 4194304 }",
        "limits { cpu_millis: 1000000 }", "limits { output_bytes: 1048576 }",
        "limits { memory_bytes: 4194304 pids: 8 cpu_millis: 10 }",
        "limits { output_bytes: 1125899906842624 }",
        "limits { file_bytes: 4096 kill_all_on_oom: true }",
        "limits { file_bytes: 1125899906842624 }",
        "limits { disk_bytes_per_second: 1048576 }",
        "limits { disk_bytes_per_second: 1125899906842624 }",
        "limits { disk_operations_per_second: 10 }",
        "limits { disk_operations_per_second: 1000000000 }",
        "limits { disk_bytes: 1048576 disk_inodes: 16 }",
        "limits { disk_bytes: 1125899906842624 disk_inodes: 4294967295 }",
        "lifetime { max_age { seconds: 1 } idle_timeout { seconds: 1 } }",
        "lifetime { max_age { seconds: 31536000 } }",
        "lifetime { idle_timeout { seconds: 31536000 } }",
        "lifetime { lease_timeout { seconds: 1 } }",
        "lifetime { lease_timeout { seconds: 31536000 } }"}) {
    EXPECT_THAT(Sandbox(sandbox), IsOk()) << sandbox;
  }
  const std::string longest = "/" + std::string(4094, 'a');
  EXPECT_THAT(Sandbox(absl::StrCat("workspace { path: '", longest, "' }")),
              IsOk());
}

TEST(ValidationTest, RefusesAnUnknownEnumerator) {
  corral::v1::Command command;
  command.add_argv("a");
  command.mutable_output()->set_overflow(
      static_cast<corral::v1::OutputPolicy::Overflow>(9));
  EXPECT_THAT(CheckCommand("command", command, {}),
              Refuses("command.output.overflow"));
}

TEST(ValidationTest, RefusesLimitsThatNoSandboxCanHave) {
  const struct {
    const char* field;
    std::vector<uint64_t> values;
  } cases[] = {
      {"memory_bytes", {0, 4194303, 1ULL << 63, UINT64_MAX}},
      {"pids", {7}},
      {"cpu_millis", {1ULL << 63}},
      {"output_bytes", {1048575}},
      {"file_bytes", {0, 4095, 1125899906842625}},
      {"disk_bytes_per_second", {0, 1048575, 1125899906842625}},
      {"disk_operations_per_second", {0, 9, 1000000001}},
      {"disk_bytes", {0, 1048575, 1125899906842625}},
      {"disk_inodes", {0, 15, 4294967296}},
  };
  for (const auto& [field, values] : cases) {
    for (const uint64_t value : values) {
      EXPECT_THAT(Sandbox(absl::StrCat("limits { ", field, ": ", value, " }")),
                  Refuses(absl::StrCat("sandbox.limits.", field)));
    }
  }
}

TEST(ValidationTest, RefusesUserIdsThatNoCommandMayHave) {
  for (const int id : {1, 999, 1000, 60000, 65534, 65536}) {
    EXPECT_THAT(Command(absl::StrCat("argv: 'a' user_id: ", id)),
                Refuses("command.user_id"));
  }
}

TEST(ValidationTest, RefusesTimesOutOfTheirRanges) {
  EXPECT_THAT(Command("argv: 'a' cpu_timeout { nanos: 999999 }"),
              Refuses("command.cpu_timeout"));
  EXPECT_THAT(Command("argv: 'a' drain_timeout { seconds: 3601 }"),
              Refuses("command.drain_timeout"));
  EXPECT_THAT(
      Command("argv: 'a' output { keep_after_end { seconds: 31536001 } }"),
      Refuses("command.output.keep_after_end"));
  for (const char* field : {"max_age", "idle_timeout", "lease_timeout"}) {
    for (const char* bad : {"nanos: 999999999", "seconds: 31536001"}) {
      EXPECT_THAT(
          Sandbox(absl::StrCat("lifetime { ", field, " { ", bad, " } }")),
          Refuses(absl::StrCat("sandbox.lifetime.", field)));
    }
  }
  EXPECT_THAT(Command("argv: 'a' cpu_timeout { seconds: 31536001 }"),
              Refuses("command.cpu_timeout"));
  EXPECT_THAT(Command("argv: 'a' drain_timeout { nanos: -1 }"),
              Refuses("command.drain_timeout"));
  EXPECT_THAT(Command("argv: 'a' output { keep_after_end { nanos: -1 } }"),
              Refuses("command.output.keep_after_end"));
}

TEST(ValidationTest, RefusesRetentionOutOfItsRange) {
  EXPECT_THAT(Sandbox("retention { max_ended_executions: 100000 max_ended_age "
                      "{ seconds: 31536000 } }"),
              IsOk());
  EXPECT_THAT(Sandbox("retention { max_ended_executions: 0 max_ended_age { "
                      "seconds: 1 } }"),
              IsOk());
  EXPECT_THAT(Sandbox("retention { max_ended_executions: 100001 }"),
              Refuses("sandbox.retention.max_ended_executions"));
  EXPECT_THAT(Sandbox("retention { max_ended_age { nanos: 999999999 } }"),
              Refuses("sandbox.retention.max_ended_age"));
  EXPECT_THAT(Sandbox("retention { max_ended_age { seconds: 31536001 } }"),
              Refuses("sandbox.retention.max_ended_age"));
}

TEST(ValidationTest, ARequestIdMustBeShortAndPrintable) {
  EXPECT_THAT(CheckRequestId("request_id", ""), IsOk());
  EXPECT_THAT(CheckRequestId("request_id", std::string(128, '~')), IsOk());
  EXPECT_THAT(CheckRequestId("request_id", std::string(129, 'a')),
              Refuses("request_id"));
  EXPECT_THAT(CheckRequestId("request_id", "a\n"), Refuses("request_id"));
  EXPECT_THAT(CheckRequestId("request_id", "\xc3\xa9"), Refuses("request_id"));
}

TEST(ValidationTest, TheWorkingDirectoryMayBeInAFurtherWorkspace) {
  EXPECT_THAT(Command("argv: 'a' working_directory: '/lib/x'", {"/w", "/lib"}),
              IsOk());
  EXPECT_THAT(Command("argv: 'a' working_directory: '/other'", {"/w", "/lib"}),
              Refuses("command.working_directory"));
}

TEST(ValidationTest, WorkspacesAreNotInsideOfEachOther) {
  for (const char* bad : {"/w", "/w/", "/w/sub", "/", "/a/b", "/a/b/c", "/a"}) {
    EXPECT_THAT(Sandbox(absl::StrCat("workspace { path: '/w' }"
                                     "further_workspaces { path: '/a/b' }"
                                     "further_workspaces { path: '",
                                     bad, "' }")),
                Refuses("sandbox.further_workspaces[1].path"))
        << bad;
  }
  EXPECT_THAT(Sandbox("workspace { path: '/w' }"
                      "further_workspaces { path: '/w2' }"
                      "further_workspaces { path: '/a' read_only: true }"),
              IsOk());
}

TEST(ValidationTest, FurtherWorkspacesNeedAFirstOneAndAreNotMany) {
  EXPECT_THAT(Sandbox("further_workspaces { path: '/a' }"),
              Refuses("sandbox.further_workspaces"));
  std::string many = "workspace { path: '/w' }";
  for (int i = 0; i < 17; ++i) {
    absl::StrAppend(&many, "further_workspaces { path: '/a", i, "' }");
  }
  EXPECT_THAT(Sandbox(many), Refuses("sandbox.further_workspaces"));
}

TEST(ValidationTest, RefusesAWorkspaceThatBelongsToTheSystem) {
  for (const char* bad : {"", "w", "/", "/proc", "/sys/fs", "/dev/", "/etc/x",
                          "/a/../etc", "/a\\0"}) {
    EXPECT_THAT(Sandbox(absl::StrCat("workspace { path: '", bad, "' }")),
                Refuses("sandbox.workspace.path"))
        << bad;
  }
  EXPECT_THAT(Sandbox("workspace { path: '/device' }"), IsOk());
  EXPECT_THAT(Sandbox(absl::StrCat("workspace { path: '/",
                                   std::string(4095, 'a'), "' }")),
              Refuses("sandbox.workspace.path"));
}

TEST(ValidationTest, ClampsAPageAndRefusesANegativeOne) {
  EXPECT_EQ(CheckPageSize("page_size", 0).value(), 100);
  EXPECT_EQ(CheckPageSize("page_size", 1).value(), 1);
  EXPECT_EQ(CheckPageSize("page_size", 1000).value(), 1000);
  EXPECT_EQ(CheckPageSize("page_size", 5000).value(), 1000);
  EXPECT_THAT(CheckPageSize("page_size", -1).status(), Refuses("page_size"));
}

TEST(ValidationTest, RefusesDurationsThatAreNotWellFormed) {
  for (const char* bad :
       {"seconds: 1 nanos: -1", "seconds: 1 nanos: 1000000000",
        "nanos: 1000000000", "seconds: -1 nanos: 1000000000", "nanos: -1",
        "seconds: 9223372036854775807", "seconds: -9223372036854775808",
        "seconds: 3601"}) {
    EXPECT_THAT(Command(absl::StrCat("argv: 'a' kill_grace { ", bad, " }")),
                Refuses("command.kill_grace"))
        << bad;
  }
  EXPECT_THAT(Command("argv: 'a' kill_grace { nanos: 999999999 }"), IsOk());
  EXPECT_THAT(Command("argv: 'a' kill_grace { seconds: 1 nanos: 999999999 }"),
              IsOk());
}

TEST(ValidationTest, RefusesSizesOfATerminalOutOfTheirRange) {
  EXPECT_THAT(Command("argv: 'a' terminal { rows: 65536 columns: 80 }"),
              Refuses("command.terminal.rows"));
  EXPECT_THAT(Command("argv: 'a' terminal { rows: 24 columns: 0 }"),
              Refuses("command.terminal.columns"));
}

TEST(ValidationTest, ChecksEveryPartOfASandbox) {
  EXPECT_THAT(Sandbox("egress_rules { host: 'a.com' }"),
              Refuses("sandbox.egress_rules"));
  EXPECT_THAT(Sandbox("egress_services: 'model'"),
              Refuses("sandbox.egress_services"));
  for (const char* bad : {"w", "/etc/x"}) {
    EXPECT_THAT(Sandbox(absl::StrCat("workspace { path: '/w' } "
                                     "further_workspaces { path: '",
                                     bad, "' }")),
                Refuses("sandbox.further_workspaces[0].path"));
  }
  corral::v1::Sandbox sandbox;
  sandbox.set_profile(static_cast<corral::v1::Sandbox::Profile>(9));
  EXPECT_THAT(CheckSandbox("sandbox", sandbox), Refuses("sandbox.profile"));
}

TEST(ValidationTest, AllowsSixteenFurtherWorkspaces) {
  std::string many = "workspace { path: '/w' }";
  for (int i = 0; i < 16; ++i) {
    absl::StrAppend(&many, "further_workspaces { path: '/a", i, "' }");
  }
  EXPECT_THAT(Sandbox(many), IsOk());
}

TEST(ValidationTest, ListsTheWorkspacesOfASandbox) {
  EXPECT_THAT(WorkspacesOf(corral::v1::Sandbox()), IsEmpty());
  const auto sandbox = Parse<corral::v1::Sandbox>(
      "workspace { path: '/w' } further_workspaces { path: '/a' }");
  EXPECT_THAT(WorkspacesOf(sandbox), ElementsAre("/w", "/a"));
}

TEST(ValidationTest, ReturnsTheDurationThatItChecked) {
  const auto duration =
      Parse<google::protobuf::Duration>("seconds: 2 nanos: 5");
  EXPECT_EQ(CheckDuration("f", duration, absl::ZeroDuration(), kYear).value(),
            absl::Seconds(2) + absl::Nanoseconds(5));
}

TEST(ValidationTest, AcceptsTheThreeStreams) {
  for (const corral::v1::Stream good :
       {corral::v1::STDOUT, corral::v1::STDERR, corral::v1::TERMINAL}) {
    EXPECT_THAT(CheckStream("stream", good), IsOk());
  }
  for (const int bad : {0, 4}) {
    EXPECT_THAT(CheckStream("stream", static_cast<corral::v1::Stream>(bad)),
                Refuses("stream"));
  }
}

TEST(ValidationTest, NamesTheValueAndTheRange) {
  EXPECT_THAT(
      Command("argv: 'a' kill_grace { seconds: 1 nanos: -2 }"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "command.kill_grace is \"1s + -2ns\"; allowed: [0, 1h]"));
  EXPECT_THAT(CheckRange("pids", 7, {8, 9}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "pids is \"7\"; allowed: [8, 9]"));
}

}  // namespace
}  // namespace server

#include "bridge/cli/report/json_output.h"

#include <cstdint>
#include <string>

#include "corral/v1/execution.pb.h"
#include "corral/v1/execution_service.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ToJsonTest, WritesPathsAndArgumentsAsText) {
  corral::v1::Execution execution;
  execution.set_name("s1/e1");
  execution.mutable_command()->add_argv("grep");
  execution.mutable_command()->add_argv("a\\b \"\xff\"");
  execution.mutable_command()->set_working_directory("/tmp");
  auto* variable = execution.mutable_command()->add_environment();
  variable->set_name("A");
  variable->set_value("\u00e4");
  execution.mutable_exit()->add_killed()->set_command("sle\xff");
  EXPECT_THAT(
      ToJson(execution),
      AllOf(
          HasSubstr(R"("argv":["grep","a\\\\b \"\\xff\""])"),
          HasSubstr(R"("working_directory":"/tmp")"),
          HasSubstr("\"environment\":[{\"name\":\"A\",\"value\":\"\u00e4\"}]"),
          HasSubstr(R"("command":"sle\\xff")"),
          HasSubstr(R"("name":"s1/e1")")));
}

TEST(ToJsonTest, WritesTimesAsProtobufDoes) {
  corral::v1::Sandbox sandbox;
  sandbox.mutable_workspace()->set_path("/w");
  sandbox.mutable_create_time()->set_seconds(1);
  sandbox.mutable_lifetime()->mutable_max_age()->set_seconds(90);
  EXPECT_THAT(
      ToJson(sandbox),
      AllOf(HasSubstr(R"("path":"/w")"), HasSubstr(R"("read_only":false)"),
            HasSubstr(R"("create_time":"1970-01-01T00:00:01Z")"),
            HasSubstr(R"("max_age":"90s")")));
}

TEST(ToJsonTest, WritesWhatAScriptExpects) {
  corral::v1::Execution execution;
  execution.set_state(corral::v1::Execution::EXITED);
  execution.mutable_exit()->set_code(7);
  execution.mutable_exit()->set_cause(
      static_cast<corral::v1::ExitStatus::Cause>(99));
  execution.mutable_usage()->set_memory_peak_bytes(uint64_t{1} << 63);
  const std::string json = ToJson(execution);
  // In the order of the .proto file. Large numbers are text.
  EXPECT_THAT(json, StartsWith(R"({"name":"","state":"EXITED",)"));
  EXPECT_THAT(json, HasSubstr(R"("exit":{"code":7,"cause":99,)"));
  EXPECT_THAT(json, HasSubstr(R"("memory_peak_bytes":"9223372036854775808")"));
  EXPECT_THAT(json, HasSubstr(R"("streams":[])"));
  // Absent messages and members of a oneof are not there.
  EXPECT_THAT(json, Not(HasSubstr("start_failure")));
  EXPECT_THAT(json, Not(HasSubstr("signal")));
}

TEST(ToJsonTest, WritesNumbersTextsAndMessagesThatAreRepeated) {
  corral::v1::Sandbox sandbox;
  sandbox.mutable_workspace()->set_read_only(true);
  sandbox.add_egress_services("model");
  auto* rule = sandbox.add_egress_rules();
  rule->set_host("a.example");
  rule->add_ports(80);
  rule->add_ports(443);
  rule->set_protocol(corral::v1::EgressRule::TCP);
  EXPECT_THAT(ToJson(sandbox),
              AllOf(HasSubstr(R"("read_only":true)"),
                    HasSubstr(R"("egress_services":["model"])"),
                    HasSubstr(R"("egress_rules":[{"host":"a.example",)"
                              R"("ports":[80,443],"protocol":"TCP"}])")));
}

TEST(ToJsonTest, WritesEachKindOfNumber) {
  google::protobuf::Int64Value int64;
  int64.set_value(-5);
  EXPECT_EQ(ToJson(int64), R"({"value":"-5"})");
  google::protobuf::UInt32Value uint32;
  uint32.set_value(~uint32_t{0});
  EXPECT_EQ(ToJson(uint32), R"({"value":4294967295})");
  google::protobuf::Int32Value int32;
  int32.set_value(-5);
  EXPECT_EQ(ToJson(int32), R"({"value":-5})");
  google::protobuf::DoubleValue real;
  real.set_value(0.5);
  EXPECT_EQ(ToJson(real), R"({"value":0.5})");
  google::protobuf::FloatValue small;
  small.set_value(0.25);
  EXPECT_EQ(ToJson(small), R"({"value":0.25})");
}

TEST(ToJsonTest, WritesAListAsOneArray) {
  corral::v1::ListExecutionsResponse list;
  EXPECT_EQ(ToJsonArray(list, "executions"), "[]");
  list.add_executions()->mutable_command()->add_argv("],\"x\":[]}\xff");
  list.add_executions()->set_name("s1/e1");
  const std::string one = ToJson(list.executions(0));
  const std::string other = ToJson(list.executions(1));
  EXPECT_EQ(ToJsonArray(list, "executions"), "[" + one + "," + other + "]");
}

}  // namespace
}  // namespace bridge

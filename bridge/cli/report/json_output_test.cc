#include "bridge/cli/report/json_output.h"

#include "corral/v1/execution.pb.h"
#include "corral/v1/sandbox.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(EscapeBytesTest, KeepsText) {
  EXPECT_EQ(EscapeBytes(""), "");
  EXPECT_EQ(EscapeBytes("/home/me"), "/home/me");
  EXPECT_EQ(EscapeBytes("\u00e4 \u20ac \U0001F600"),
            "\u00e4 \u20ac \U0001F600");
  EXPECT_EQ(EscapeBytes("a\nb"), "a\nb");
}

TEST(EscapeBytesTest, EscapesBackslashesAndBytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeBytes("\\"), "\\\\");
  EXPECT_EQ(EscapeBytes("\\x41"), "\\\\x41");
  EXPECT_EQ(EscapeBytes("a\xff"
                        "b"),
            "a\\xffb");
  EXPECT_EQ(EscapeBytes("\x80"), "\\x80");
}

TEST(EscapeBytesTest, EscapesWhatOnlyLooksLikeUtf8) {
  EXPECT_EQ(EscapeBytes("\xc3"), "\\xc3");  // cut off
  EXPECT_EQ(EscapeBytes("\xe2\x82"
                        "a"),
            "\\xe2\\x82a");
  EXPECT_EQ(EscapeBytes("\xc0\x80"), "\\xc0\\x80");  // overlong
  EXPECT_EQ(EscapeBytes("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(EscapeBytes("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
  EXPECT_EQ(EscapeBytes("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(EscapeBytes("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(EscapeBytes("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(EscapeBytes("\xed\x9f\xbf\xf4\x8f\xbf\xbf\xe0\xa0\x80"),
            "\xed\x9f\xbf\xf4\x8f\xbf\xbf\xe0\xa0\x80");
}

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
      *ToJson(execution),
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
      *ToJson(sandbox),
      AllOf(HasSubstr(R"("path":"/w")"), HasSubstr(R"("read_only":false)"),
            HasSubstr(R"("create_time":"1970-01-01T00:00:01Z")"),
            HasSubstr(R"("max_age":"90s")")));
}

}  // namespace
}  // namespace bridge

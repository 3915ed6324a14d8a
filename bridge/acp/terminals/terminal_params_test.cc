#include "bridge/acp/terminals/terminal_params.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::tests::IsOk;
using ::tests::StatusIs;

absl::StatusOr<CreateTerminalParams> Create(absl::string_view more) {
  return ParseCreateTerminal(
      absl::StrCat(R"({"sessionId":"s","command":"c")", more, "}"));
}

TEST(ParseCreateTerminalTest, ReadsEveryField) {
  const auto params =
      Create(R"(,"args":["a",""],"env":[{"name":"N","value":"V","_meta":{}}],)"
             R"("cwd":"/w","outputByteLimit":5,"_meta":null,"other":1)");
  ASSERT_THAT(params.status(), IsOk());
  EXPECT_EQ(params->session_id, "s");
  EXPECT_EQ(params->command, "c");
  EXPECT_THAT(params->arguments, ElementsAre("a", ""));
  EXPECT_THAT(params->environment, ElementsAre(Pair("N", "V")));
  EXPECT_EQ(params->cwd, "/w");
  EXPECT_EQ(params->output_byte_limit, 5u);
}

TEST(ParseCreateTerminalTest, TreatsMissingAndNullAlike) {
  for (const char* more :
       {"", R"(,"args":null,"env":null,"cwd":null,"outputByteLimit":null)"}) {
    const auto params = Create(more);
    ASSERT_THAT(params.status(), IsOk());
    EXPECT_TRUE(params->arguments.empty() && params->environment.empty());
    EXPECT_EQ(params->cwd, "");
    EXPECT_EQ(params->output_byte_limit, kDefaultOutputByteLimit);
  }
}

TEST(ParseCreateTerminalTest, AcceptsAnEnvironmentThatIsAnObject) {
  EXPECT_THAT(
      Create(R"(,"env":{"A":"b","C":null,"D":1,"E":true})")->environment,
      ElementsAre(Pair("A", "b"), Pair("D", "1"), Pair("E", "true")));
}

TEST(ParseCreateTerminalTest, SkipsVariablesWithoutNameOrValue) {
  EXPECT_THAT(
      Create(R"(,"env":[{"name":"A"},{"name":"B","value":null},{"value":"x"},)"
             R"({},{"name":"C","value":2},{"name":"C","value":"3"}])")
          ->environment,
      ElementsAre(Pair("C", "2"), Pair("C", "3")));
}

TEST(ParseCreateTerminalTest, ClampsTheLimit) {
  for (const char* limit :
       {"4194304", "4194304.0", "4194305", "9223372036854775808",
        "18446744073709551615", "1e30"}) {
    EXPECT_EQ(Create(absl::StrCat(R"(,"outputByteLimit":)", limit))
                  ->output_byte_limit,
              kMaxOutputByteLimit);
  }
  EXPECT_EQ(Create(R"(,"outputByteLimit":0)")->output_byte_limit, 0u);
  for (const char* odd : {"-1", "1.5", "\"9\"", "true"}) {
    EXPECT_EQ(
        Create(absl::StrCat(R"(,"outputByteLimit":)", odd))->output_byte_limit,
        kDefaultOutputByteLimit);
  }
}

TEST(ParseCreateTerminalTest, NamesTheWrongField) {
  const struct {
    const char* params;
    const char* message;
  } cases[] = {
      {"", "params is missing"},
      {"[]", "params is []"},
      {"{}", "sessionId is null"},
      {R"({"sessionId":1})", "sessionId is 1"},
      {R"({"sessionId":"s"})", "command is null"},
      {R"({"sessionId":"s","command":""})", "command is \"\""},
      {R"({"sessionId":"s","command":"c","args":"x"})", "args is \"x\""},
      {R"({"sessionId":"s","command":"c","args":[1]})", "args is [1]"},
      {R"({"sessionId":"s","command":"c","env":"x"})", "env is \"x\""},
      {R"({"sessionId":"s","command":"c","env":["x"]})", "env is [\"x\"]"},
      {R"({"sessionId":"s","command":"c","cwd":1})", "cwd is 1"},
  };
  for (const auto& example : cases) {
    EXPECT_THAT(ParseCreateTerminal(example.params).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(example.message)));
  }
}

TEST(ParseCreateTerminalTest, QuotesTheBeginOfALongValue) {
  const auto message = [](size_t size) {
    // The quotation marks count.
    const auto params =
        Create(absl::StrCat(R"(,"args":")", std::string(size - 2, 'x'), "\""));
    return static_cast<std::string>(params.status().message());
  };
  EXPECT_EQ(message(100), absl::StrCat("args is \"", std::string(98, 'x'),
                                       "\", must be a list of strings"));
  EXPECT_EQ(message(101), absl::StrCat("args is \"", std::string(99, 'x'),
                                       "..., must be a list of strings"));
}

TEST(ParseTerminalReferenceTest, RequiresBothIds) {
  const auto reference =
      ParseTerminalReference(R"({"sessionId":"s","terminalId":"t","x":0})");
  ASSERT_THAT(reference.status(), IsOk());
  EXPECT_EQ(reference->session_id, "s");
  EXPECT_EQ(reference->terminal_id, "t");
  EXPECT_THAT(ParseTerminalReference(R"({"sessionId":"s"})").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("terminalId is null")));
}

}  // namespace
}  // namespace bridge

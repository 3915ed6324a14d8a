#include "bridge/gate/gate_rules.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using corral::config::v1::ALLOW;
using corral::config::v1::ASK;
using corral::config::v1::DENY;
using corral::config::v1::GateDecision;
using ::testing::HasSubstr;
using ::tests::StatusIs;

GateDecision Decide(const std::string& rules, const GatedCommand& command) {
  return GateRules::Parse("file", rules)->Rule(command).decision;
}

GatedCommand Line(const std::string& line) {
  return {"s", {"/bin/sh", "-c", line}, {}, "/w"};
}

TEST(GateRulesTest, AllowsEverythingWithoutRules) {
  EXPECT_EQ(GateRules().Rule(Line("rm -rf /")).decision, ALLOW);
  EXPECT_EQ(Decide("otherwise: DENY", Line("ls")), DENY);
}

TEST(GateRulesTest, TakesTheFirstRuleThatMatches) {
  const auto rules = GateRules::Parse(
      "file",
      R"(rule { decision: ALLOW program: "git" command_line: "git log*" }
                 rule { decision: ASK program: "git" reason: "why" timeout: "5s" }
                 rule { decision: ASK program: "make" cpu_timeout: "7s" }
                 otherwise: DENY)");
  const Ruling log = rules->Rule({"s", {"git", "log", "-1"}, {}, "/w"});
  EXPECT_EQ(log.decision, ALLOW);
  EXPECT_EQ(log.by, "rule 1");
  const Ruling push = rules->Rule({"s", {"git", "push"}, {}, "/w"});
  EXPECT_EQ(push.decision, ASK);
  EXPECT_EQ(push.by, "rule 2");
  EXPECT_EQ(push.reason, "why");
  EXPECT_EQ(push.timeout, absl::Seconds(5));
  EXPECT_EQ(push.cpu_timeout, absl::InfiniteDuration());
  const Ruling make = rules->Rule({"s", {"make"}, {}, "/w"});
  EXPECT_EQ(make.timeout, absl::InfiniteDuration());
  EXPECT_EQ(make.cpu_timeout, absl::Seconds(7));
  EXPECT_EQ(rules->Rule(Line("ls")).by, "otherwise");
}

TEST(GateRulesTest, FindsTheFirstRuleWithLimits) {
  EXPECT_EQ(GateRules().FirstWithLimits(), 0);
  for (const char* const limit :
       {"timeout: '5s'", "cpu_timeout: '5s'", "pids: 50"}) {
    const auto rules = GateRules::Parse(
        "file", absl::StrCat("rule { decision: ASK program: 'a' } ",
                             "rule { decision: ASK ", limit, " } ",
                             "rule { decision: ASK timeout: '1s' }"));
    EXPECT_EQ(rules->FirstWithLimits(), 2) << limit;
  }
  EXPECT_EQ(
      GateRules::Parse("file", "rule { decision: ASK }")->FirstWithLimits(), 0);
}

TEST(GateRulesTest, ChecksEveryConditionOfARule) {
  const GatedCommand command = {"s", {"make", "all"}, {{"CC", "gcc"}}, "/w/a"};
  for (const char* matching :
       {R"(program: "m?ke")", R"(command_line: "make *")",
        R"(working_directory: "/w/*")", R"(environment: "CC=*")",
        R"(session: "s")", ""}) {
    EXPECT_EQ(
        Decide(std::string("rule { decision: DENY ") + matching + "}", command),
        DENY)
        << matching;
  }
  for (const char* other :
       {R"(program: "gmake")", R"(program: "/bin/make")",
        R"(command_line: "make")", R"(working_directory: "/w")",
        R"(environment: "CXX=*")", R"(session: "t")",
        R"(program: "make" session: "t")"}) {
    EXPECT_EQ(
        Decide(std::string("rule { decision: DENY ") + other + "}", command),
        ALLOW)
        << other;
  }
}

TEST(GateRulesTest, ComparesEveryFormOfALine) {
  const GatedCommand command = Line("cd '/w' && git  status");
  for (const char* const form :
       {"/bin/sh -c cd '/w' && git  status", "cd '/w' && git  status",
        "git  status", "git status"}) {
    EXPECT_EQ(Decide(absl::StrCat("rule { decision: DENY command_line: \"",
                                  form, "\" }"),
                     command),
              DENY)
        << form;
  }
}

TEST(GateRulesTest, TakesALineThatNeedsAShellForTheShell) {
  const std::string allow =
      R"(rule { decision: ALLOW program: "/bin/sh" } otherwise: DENY)";
  EXPECT_EQ(Decide(allow, Line("git status; rm x")), ALLOW);
  EXPECT_EQ(Decide(allow, Line("git status")), DENY);
}

TEST(GateRulesTest, TakesAnUnknownDirectoryForAnyUnlessItAllows) {
  const GatedCommand command = {"s", {"make"}, {}, ""};
  EXPECT_EQ(
      Decide(R"(rule { decision: DENY working_directory: "/w" })", command),
      DENY);
  EXPECT_EQ(
      Decide(R"(rule { decision: ASK working_directory: "/w" })", command),
      ASK);
  EXPECT_EQ(Decide(R"(rule { decision: ALLOW working_directory: "/w" }
                      otherwise: DENY)",
                   command),
            DENY);
  EXPECT_EQ(Decide("rule { decision: ALLOW program: 'make' } otherwise: DENY",
                   command),
            ALLOW);
}

TEST(GateRulesTest, AllowsAProgramThatVariablesChangeOnlyIfItSaysSo) {
  const GatedCommand command = {"s", {"git"}, {{"PATH", "/opt"}}, "/w"};
  for (const char* const named : {"program: 'git'", "command_line: 'git'",
                                  "program: 'git' command_line: 'git'"}) {
    const std::string rule = absl::StrCat("rule { decision: ALLOW ", named);
    EXPECT_EQ(Decide(absl::StrCat(rule, " } otherwise: DENY"), command), DENY);
    EXPECT_EQ(Decide(absl::StrCat(
                         rule, " environment: 'PATH=/opt' } otherwise: DENY"),
                     command),
              ALLOW);
  }
  // Such a rule allows all programs.
  EXPECT_EQ(Decide("rule { decision: ALLOW } otherwise: DENY", command), ALLOW);
  EXPECT_EQ(
      Decide("rule { decision: ASK program: 'git' } otherwise: DENY", command),
      ASK);
}

TEST(GateRulesTest, SeesThroughAPlainShellLine) {
  const std::string allow =
      R"(rule { decision: ALLOW program: "git" } otherwise: DENY)";
  EXPECT_EQ(Decide(allow, Line("git status")), ALLOW);
  EXPECT_EQ(Decide(allow, Line("cd '/w' && git status")), ALLOW);
  EXPECT_EQ(Decide(allow, Line("cd '/x' && git status")), DENY);
  EXPECT_EQ(Decide(allow, Line("git status; rm x")), DENY);
  EXPECT_EQ(Decide(allow, Line("git $(rm x)")), DENY);
}

TEST(GateRulesTest, AllowsNoOtherProgramOfTheSameName) {
  const std::string allow =
      R"(rule { decision: ALLOW program: "git" } otherwise: DENY)";
  EXPECT_EQ(Decide(allow, {"s", {"git"}, {{"A", "b"}}, "/w"}), ALLOW);
  EXPECT_EQ(Decide(allow, {"s", {"./git"}, {}, "/w"}), DENY);
  EXPECT_EQ(Decide(allow, {"s", {"/w/git"}, {}, "/w"}), DENY);
  EXPECT_EQ(Decide(allow, {"s", {"git"}, {{"PATH", "/w"}}, "/w"}), DENY);
  EXPECT_EQ(Decide(allow, {"s", {"git"}, {{"LD_PRELOAD", "x"}}, "/w"}), DENY);
  EXPECT_EQ(Decide("rule { decision: DENY program: \"git\" }",
                   {"s", {"/w/git"}, {}, "/w"}),
            DENY);
}

TEST(GateRulesTest, DeniesALineThatCouldRunTheProgram) {
  const std::string deny = R"(rule { decision: DENY program: "rm" })";
  EXPECT_EQ(Decide(deny, Line("true && rm x")), DENY);
  EXPECT_EQ(Decide(deny, Line("cd '/w' && rm x")), DENY);
  EXPECT_EQ(Decide(deny, Line("/bin/rm x; ls")), DENY);
  EXPECT_EQ(Decide(deny, Line("ls rmdir | cat")), ALLOW);
}

TEST(GateRulesTest, GivesCommandsOfARuleASandboxOfItsOwn) {
  const GateRules rules = *GateRules::Parse(
      "f",
      R"(rule { decision: ALLOW program: "npm" memory: "64M" pids: 50
                cpus: "0.5" profile: "strict" allow_host: "a.example" }
         rule { decision: ASK program: "curl" network: "none" }
         rule { decision: ALLOW program: "make" timeout: "5m" })");
  const auto npm = rules.Rule({"s", {"npm"}, {}, "/w"}).sandbox;
  ASSERT_TRUE(npm.has_value());
  EXPECT_EQ(npm->limits().memory_bytes(), 64 << 20);
  EXPECT_EQ(npm->limits().pids(), 50);
  EXPECT_EQ(npm->limits().cpu_millis(), 500);
  EXPECT_EQ(npm->profile(), corral::v1::Sandbox::STRICT);
  EXPECT_EQ(npm->network(), corral::v1::Sandbox::ALLOW_LIST);
  EXPECT_EQ(npm->egress_rules(0).host(), "a.example");
  const auto curl = rules.Rule({"s", {"curl"}, {}, "/w"}).sandbox;
  ASSERT_TRUE(curl.has_value());
  EXPECT_EQ(curl->network(), corral::v1::Sandbox::NONE);
  EXPECT_FALSE(rules.Rule({"s", {"make"}, {}, "/w"}).sandbox.has_value());
}

TEST(GateRulesTest, NamesAWrongLimitOfARule) {
  for (const auto& [field, error] :
       {std::pair{"memory: '1'", "memory \"1\": allowed is 4M to 1P"},
        std::pair{"pids: 1", "pids \"1\": allowed is 8"},
        std::pair{"cpus: 'x'", "cpus \"x\": "},
        std::pair{"profile: 'x'", "profile \"x\": allowed are"},
        std::pair{"network: 'x'", "network \"x\": allowed is"},
        std::pair{"network: 'none' allow_host: 'a.b'", "excludes allow_host"},
        std::pair{"allow_host: 'a b'", "allow_host \"a b\": allowed is"}}) {
    EXPECT_THAT(GateRules::Parse(
                    "f", absl::StrCat("rule { decision: ALLOW ", field, " }"))
                    .status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("f: rule 1: "), HasSubstr(error))));
  }
}

TEST(GateRulesTest, NamesWhatIsWrongInAFile) {
  EXPECT_THAT(
      GateRules::Parse("f", "rule {\n decison: DENY }").status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f: line 2: ")));
  EXPECT_THAT(GateRules::Parse("f", "rule { program: \"x\" }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f: rule 1: decision is missing")));
  EXPECT_THAT(
      GateRules::Parse("f", "rule { decision: ASK timeout: \"x\" }").status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("f: rule 1: timeout \"x\"")));
  EXPECT_THAT(GateRules::Parse("f",
                               "rule { decision: ASK } "
                               "rule { decision: ASK cpu_timeout: \"x\" }")
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f: rule 2: cpu_timeout \"x\"")));
  EXPECT_THAT(
      GateRules::Load("/nonexistent").status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/nonexistent")));
}

}  // namespace
}  // namespace bridge

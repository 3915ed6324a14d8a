#include "bridge/options/egress_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::StatusIs;

std::string Parse(absl::string_view text) {
  const auto rule = ParseEgressRule(text);
  return rule.ok() ? rule->ShortDebugString() : "refused";
}

TEST(EgressOptionsTest, ReadsHostsWithPortsAndAProtocol) {
  EXPECT_EQ(Parse("example.com"), "host: \"example.com\"");
  EXPECT_EQ(Parse("*.example.com:8443"), "host: \"*.example.com\" ports: 8443");
  EXPECT_EQ(Parse("example.com:80:443"),
            "host: \"example.com\" ports: 80 ports: 443");
  EXPECT_EQ(Parse("example.com:65535"), "host: \"example.com\" ports: 65535");
  EXPECT_EQ(Parse("github.com:22/tcp"),
            "host: \"github.com\" ports: 22 protocol: TCP");
}

TEST(EgressOptionsTest, RefusesOtherTexts) {
  for (const char* text :
       {"", ":443", "example.com:", "example.com:0", "example.com:65536",
        "example.com:x", "example.com/tcp", "https://example.com", "a@b.com",
        "example.com/path", "a b"}) {
    EXPECT_THAT(ParseEgressRule(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("a host name like example.com")))
        << text;
  }
}

TEST(EgressOptionsTest, GivesASandboxWithoutHostsNoNetwork) {
  corral::v1::Sandbox sandbox;
  EgressRules rules;
  SetEgress(rules, sandbox);
  EXPECT_EQ(sandbox.ShortDebugString(), "network: NONE");
  *rules.Add() = *ParseEgressRule("a.com");
  SetEgress(rules, sandbox);
  EXPECT_EQ(sandbox.ShortDebugString(),
            "network: ALLOW_LIST egress_rules { host: \"a.com\" }");
}

}  // namespace
}  // namespace bridge

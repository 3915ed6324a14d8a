#include "server/api/egress_rules.h"

#include <functional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "corral/egress/v1/egress.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace server {
namespace {

using corral::config::v1::EgressCeiling;
using corral::v1::Sandbox;
using google::protobuf::TextFormat;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

Sandbox Parse(const std::string& text) {
  Sandbox sandbox;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &sandbox)) << text;
  return sandbox;
}

Sandbox WithRule(const std::string& rule) {
  return Parse(absl::StrCat("network: ALLOW_LIST egress_rules { ", rule, " }"));
}

TEST(EgressRulesTest, AllowsHostsBelowNamesAndSinglePorts) {
  for (const char* rule :
       {"host: 'example.com'", "host: '*.example.com' ports: [443]",
        "host: 'github.com' ports: [22] protocol: TCP"}) {
    EXPECT_THAT(CheckEgress("sandbox", WithRule(rule)), IsOk()) << rule;
  }
  EXPECT_THAT(CheckEgress("sandbox", Parse("network: ALLOW_LIST")), IsOk());
  EXPECT_THAT(CheckEgress("sandbox", Parse("network: NONE")), IsOk());
}

TEST(EgressRulesTest, NamesTheFieldThatIsWrong) {
  const struct {
    Sandbox sandbox;
    const char* field;
    const char* allowed;
  } cases[] = {
      {WithRule(""), "s.egress_rules[0].host", "a host name"},
      {WithRule("host: '10.0.0.1'"), "s.egress_rules[0].host", "no address"},
      {WithRule("host: '*'"), "s.egress_rules[0].host", "a host name"},
      {WithRule("host: 'a.com' ports: [443, 0]"), "s.egress_rules[0].ports[1]",
       "[1, 65535]"},
      {WithRule("host: 'a.com' ports: 65536"), "s.egress_rules[0].ports[0]",
       "[1, 65535]"},
      {WithRule("host: 'a.com' protocol: TCP"), "s.egress_rules[0].ports",
       "at least one port"},
      {Parse("egress_rules { host: 'a.com' }"), "s.egress_rules",
       "unless network is ALLOW_LIST"},
      {WithRule("host: 'a.com' ports: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"
                "17]"),
       "s.egress_rules[0].ports", "at most 16"},
  };
  for (const auto& [sandbox, field, allowed] : cases) {
    EXPECT_THAT(CheckEgress("s", sandbox),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(field), HasSubstr(allowed))))
        << sandbox.ShortDebugString();
  }
  Sandbox many = Parse("network: ALLOW_LIST");
  for (int i = 0; i < 257; ++i) {
    many.add_egress_rules()->set_host("a.com");
  }
  EXPECT_THAT(
      CheckEgress("s", many),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 256")));
}

TEST(EgressRulesTest, KeepsRequestsWithinTheCeiling) {
  EgressCeiling ceiling;
  ASSERT_TRUE(TextFormat::ParseFromString(
      "rules { host: '*.example.com' }"
      "rules { host: 'git.example.com' ports: [22, 443] protocol: TCP }",
      &ceiling));
  for (const char* rule :
       {"host: 'a.example.com'", "host: '*.example.com' ports: 443",
        "host: '*.b.example.com'",
        "host: 'git.example.com' ports: 22 protocol: TCP",
        "host: 'git.example.com' ports: [22, 443]"}) {
    EXPECT_THAT(CheckEgressCeiling(ceiling, "sandbox.egress_rules",
                                   WithRule(rule).egress_rules()),
                IsOk())
        << rule;
  }
  for (const char* rule :
       {"host: 'example.com'", "host: '*.com'", "host: 'evil.com'",
        "host: 'a.example.com' ports: 8080",
        "host: 'a.example.com' ports: 443 protocol: TCP",
        "host: '*.example.com' ports: 22 protocol: TCP"}) {
    EXPECT_THAT(CheckEgressCeiling(ceiling, "sandbox.egress_rules",
                                   WithRule(rule).egress_rules()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("sandbox.egress_rules[0]")))
        << rule;
  }
  EXPECT_THAT(CheckEgressCeiling(EgressCeiling(), "sandbox.egress_rules",
                                 Parse("network: ALLOW_LIST").egress_rules()),
              IsOk());
}

TEST(EgressRulesTest, DescribesTheRulesInForce) {
  Sandbox described;
  DescribePolicy(ToPolicy(WithRule("host: 'a.com'").egress_rules()),
                 &described);
  EXPECT_EQ(described.ShortDebugString(),
            "network: ALLOW_LIST egress_rules { host: \"a.com\" ports: 80 "
            "ports: 443 protocol: WEB }");
}

TEST(EgressRulesTest, RefusesEnumeratorsThatItDoesNotKnow) {
  Sandbox sandbox = WithRule("host: 'a.com'");
  sandbox.mutable_egress_rules(0)->set_protocol(
      static_cast<corral::v1::EgressRule::Protocol>(9));
  EXPECT_THAT(CheckEgress("s", sandbox),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("s.egress_rules[0].protocol")));
  sandbox = Sandbox();
  sandbox.set_network(static_cast<Sandbox::Network>(9));
  EXPECT_THAT(
      CheckEgress("s", sandbox),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("s.network")));
}

TEST(EgressRulesTest, AllowsAsManyRulesAndPortsAsTheLimits) {
  Sandbox many = Parse("network: ALLOW_LIST");
  for (int i = 0; i < 256; ++i) {
    // 16 different ports in all.
    corral::v1::EgressRule* const rule = many.add_egress_rules();
    rule->set_host("a.com");
    rule->add_ports(1 + i % 16);
  }
  EXPECT_THAT(CheckEgress("s", many), IsOk());
  many.mutable_egress_rules(255)->add_ports(17);
  EXPECT_THAT(CheckEgress("s", many),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("s.egress_rules[255].ports")));
  EXPECT_THAT(CheckEgress("s", WithRule("host: 'a.com' ports: [1, 65535]")),
              IsOk());
}

TEST(EgressRulesTest, CountsThePortOfServicesAsThatOfARule) {
  Sandbox sandbox = Parse(
      "network: ALLOW_LIST egress_rules { host: 'a.com' ports: "
      "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] }");
  EXPECT_THAT(CheckEgress("s", sandbox), IsOk());
  sandbox.add_egress_services("model");
  EXPECT_THAT(CheckEgress("s", sandbox),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("17 different ports")));
  sandbox.mutable_egress_rules(0)->set_ports(0, 80);
  EXPECT_THAT(CheckEgress("s", sandbox), IsOk());
}

TEST(EgressRulesTest, DescribesServices) {
  corral::egress::v1::Policy policy;
  policy.add_services()->set_name("model");
  Sandbox described;
  DescribePolicy(policy, &described);
  EXPECT_EQ(described.ShortDebugString(),
            "network: ALLOW_LIST egress_services: \"model\"");
}

TEST(EgressRulesTest, DescribesARuleOfAnyProtocol) {
  Sandbox described;
  DescribePolicy(
      ToPolicy(
          WithRule("host: 'a.com' ports: 22 protocol: TCP").egress_rules()),
      &described);
  EXPECT_EQ(described.ShortDebugString(),
            "network: ALLOW_LIST egress_rules { host: \"a.com\" ports: 22 "
            "protocol: TCP }");
}

TEST(EgressRulesTest, EveryFieldOfAnEventReachesTheClient) {
  corral::egress::v1::Event event;
  event.set_number(1);
  event.set_time_ns(2'000'000'000);
  event.set_kind(corral::egress::v1::Event::CONNECTION_ENDED);
  event.set_host("a.com");
  event.set_port(443);
  event.set_claimed("b.com");
  event.set_upstream("1.2.3.4");
  event.set_left_out(5);
  event.set_sent_bytes(6);
  event.set_received_bytes(7);
  event.set_duration_ns(8'000'000'000);
  event.set_transport(corral::egress::v1::Event::Transport_MAX);
  const std::string always =
      "number: 1 time { seconds: 2 } host: 'a.com' port: 443 claimed: 'b.com' "
      "upstream: '1.2.3.4' left_out: 5 ";
  const auto expect = [&](const std::string& text) {
    corral::v1::NetworkEvent expected;
    EXPECT_TRUE(TextFormat::ParseFromString(always + text, &expected));
    expected.set_transport(corral::v1::NetworkEvent::Transport_MAX);
    EXPECT_EQ(FromEvent(event).ShortDebugString(), expected.ShortDebugString());
  };
  expect(
      "kind: CONNECTION_ENDED sent_bytes: 6 received_bytes: 7 duration { "
      "seconds: 8 }");
  // Only an end has a duration and counts bytes.
  event.set_kind(corral::egress::v1::Event::CONNECTION_REFUSED);
  event.set_reason(corral::egress::v1::Event::NAME_NOT_ALLOWED);
  expect("kind: CONNECTION_REFUSED reason: NAME_NOT_ALLOWED");
}

// The values of an enumeration, as "NAME = NUMBER".
std::set<std::string> ValuesOf(int first, int last,
                               const std::function<bool(int)>& is_valid,
                               const std::function<std::string(int)>& name) {
  std::set<std::string> values;
  for (int number = first; number <= last; ++number) {
    if (is_valid(number)) {
      values.insert(absl::StrCat(name(number), " = ", number));
    }
  }
  return values;
}

TEST(EgressRulesTest, EventsOfTheSupervisorAndOfTheApiHaveTheSameNumbers) {
  using Event = corral::egress::v1::Event;
  using NetworkEvent = corral::v1::NetworkEvent;
  EXPECT_EQ(ValuesOf(Event::Kind_MIN, Event::Kind_MAX, Event::Kind_IsValid,
                     Event::Kind_Name<int>),
            ValuesOf(NetworkEvent::Kind_MIN, NetworkEvent::Kind_MAX,
                     NetworkEvent::Kind_IsValid, NetworkEvent::Kind_Name<int>));
  EXPECT_EQ(
      ValuesOf(Event::Reason_MIN, Event::Reason_MAX, Event::Reason_IsValid,
               Event::Reason_Name<int>),
      ValuesOf(NetworkEvent::Reason_MIN, NetworkEvent::Reason_MAX,
               NetworkEvent::Reason_IsValid, NetworkEvent::Reason_Name<int>));
  EXPECT_EQ(ValuesOf(Event::Transport_MIN, Event::Transport_MAX,
                     Event::Transport_IsValid, Event::Transport_Name<int>),
            ValuesOf(NetworkEvent::Transport_MIN, NetworkEvent::Transport_MAX,
                     NetworkEvent::Transport_IsValid,
                     NetworkEvent::Transport_Name<int>));
}

}  // namespace
}  // namespace server

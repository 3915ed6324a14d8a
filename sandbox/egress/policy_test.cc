#include "sandbox/egress/policy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace egress {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::tests::StatusIs;

wire::Rule* Add(wire::Policy* message, const std::string& host, uint32_t port,
                wire::Rule::Protocol protocol = wire::Rule::WEB) {
  wire::Rule* const rule = message->add_rules();
  rule->set_host(host);
  rule->add_ports(port);
  rule->set_protocol(protocol);
  return rule;
}

TEST(PolicyTest, FindsTheFirstRuleOfANameAndAPort) {
  wire::Policy message;
  Add(&message, "a.com", 443);
  Add(&message, "*.com", 22, wire::Rule::TCP)->add_ports(443);
  Add(&message, "A.com", 22);
  const absl::StatusOr<Policy> policy = Policy::Make(message);
  ASSERT_TRUE(policy.ok());
  ASSERT_NE(policy->Find("a.com", 443), nullptr);
  EXPECT_EQ(policy->Find("a.com", 443)->protocol, wire::Rule::WEB);
  EXPECT_EQ(policy->Find("a.com", 22)->protocol, wire::Rule::TCP);
  EXPECT_EQ(policy->Find("b.com", 443)->protocol, wire::Rule::TCP);
  EXPECT_EQ(policy->Find("a.com", 80), nullptr);
  EXPECT_EQ(policy->Find("a.org", 443), nullptr);
}

TEST(PolicyTest, AllowsANameWithAnyPort) {
  wire::Policy message;
  Add(&message, "a.com", 443);
  Add(&message, "*.b.com", 22);
  const absl::StatusOr<Policy> policy = Policy::Make(message);
  ASSERT_TRUE(policy.ok());
  EXPECT_TRUE(policy->AllowsName("a.com"));
  EXPECT_TRUE(policy->AllowsName("x.b.com"));
  EXPECT_FALSE(policy->AllowsName("b.com"));
  EXPECT_FALSE(Policy::Make({})->AllowsName("a.com"));
}

TEST(PolicyTest, RefusesWrongRules) {
  const auto made = [](const std::string& host, uint32_t port) {
    wire::Policy message;
    Add(&message, host, port);
    return Policy::Make(message).status();
  };
  EXPECT_TRUE(made("a.com", 1).ok());
  EXPECT_TRUE(made("a.com", 65535).ok());
  for (const uint32_t port : {0U, 65536U}) {
    EXPECT_THAT(
        made("a.com", port),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("a.com: port ", port, " is not in [1, 65535]")));
  }
  EXPECT_THAT(made("10.0.0.1", 1), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("'10.0.0.1'")));
  wire::Policy message;
  message.add_rules()->set_host("a.com");
  EXPECT_THAT(Policy::Make(message).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "a.com: at least one port is needed"));
}

TEST(PolicyTest, HasBounds) {
  wire::Policy rules;
  for (int i = 0; i < 256; ++i) {
    Add(&rules, "a.com", 443);
  }
  EXPECT_TRUE(Policy::Make(rules).ok());
  Add(&rules, "a.com", 443);
  EXPECT_THAT(
      Policy::Make(rules).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, "257 rules; 256 allowed"));
  wire::Policy ports;
  for (uint32_t i = 1; i <= 16; ++i) {
    Add(&ports, "a.com", i);
    Add(&ports, "b.com", i);
  }
  EXPECT_TRUE(Policy::Make(ports).ok());
  Add(&ports, "a.com", 17);
  EXPECT_THAT(Policy::Make(ports).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "more than 16 different ports"));
}

TEST(PolicyTest, TakesDefaultsForLimitsThatAreNotSet) {
  wire::Policy message;
  const Limits defaults = Policy::Make(message)->limits();
  EXPECT_EQ(defaults.connections, 2048U);
  EXPECT_EQ(defaults.bytes, 0U);
  EXPECT_EQ(defaults.idle, absl::Minutes(15));
  EXPECT_EQ(defaults.total, absl::Hours(24));
  message.mutable_limits()->set_connections(1);
  message.mutable_limits()->set_bytes(2);
  message.mutable_limits()->set_idle_ns(3);
  message.mutable_limits()->set_total_ns(4);
  const Limits limits = Policy::Make(message)->limits();
  EXPECT_EQ(limits.connections, 1U);
  EXPECT_EQ(limits.bytes, 2U);
  EXPECT_EQ(limits.idle, absl::Nanoseconds(3));
  EXPECT_EQ(limits.total, absl::Nanoseconds(4));
}

TEST(PolicyTest, GetsFurtherRulesAtItsEndAndNoneTwice) {
  wire::Policy policy;
  Add(&policy, "a.com", 443);
  Add(&policy, "*.b.com", 443)->add_ports(80);
  wire::Policy further;
  Add(&further, "A.com.", 443);
  Add(&further, "*.B.com", 80)->add_ports(443);
  EXPECT_EQ(WithRules(policy, further)->rules_size(), 2);
  further.Clear();
  Add(&further, "a.com", 80);
  Add(&further, "b.com", 443)->add_ports(80);
  Add(&further, "*.a.b.com", 443)->add_ports(80);
  Add(&further, "a.com", 443)->set_protocol(wire::Rule::TCP);
  Add(&further, "a.com", 80);
  Add(&further, "*.com", 443);
  const wire::Policy all = *WithRules(policy, further);
  ASSERT_EQ(all.rules_size(), 7);
  EXPECT_EQ(all.rules(0).host(), "a.com");
  EXPECT_EQ(all.rules(2).ports(0), 80U);
  EXPECT_EQ(all.rules(3).host(), "b.com");
  EXPECT_EQ(all.rules(4).host(), "*.a.b.com");
  EXPECT_EQ(all.rules(5).protocol(), wire::Rule::TCP);
  EXPECT_EQ(all.rules(6).host(), "*.com") << "wider than one that is there";
}

TEST(PolicyTest, GetsNoFurtherRulesBeyondItsBounds) {
  wire::Policy policy;
  Add(&policy, "*.com", 443);
  wire::Policy further;
  for (uint32_t i = 1; i <= 15; ++i) {
    Add(&further, "a.com", i);
  }
  EXPECT_TRUE(WithRules(policy, further).ok());
  Add(&further, "a.com", 16);
  EXPECT_THAT(WithRules(policy, further).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "more than 16 different ports"));
  further.Clear();
  further.add_rules()->set_host("no name");
  EXPECT_FALSE(WithRules(policy, further).ok());
  // Both are too many, though none of the rules is new.
  for (int i = 0; i < 300; ++i) {
    Add(&policy, "*.com", 443);
  }
  EXPECT_FALSE(WithRules(policy, wire::Policy()).ok());
}

TEST(PolicyTest, ListsEachPortOnce) {
  wire::Policy message;
  Add(&message, "a.com", 443)->add_ports(22);
  Add(&message, "b.com", 443);
  EXPECT_THAT(PortsOf(message), ElementsAre(22, 443));
}

wire::Policy WithService() {
  wire::Policy message;
  wire::Service* const service = message.add_services();
  service->set_name("model");
  service->set_host("api.example");
  service->set_port(65535);
  service->set_header("x-api-key");
  return message;
}

TEST(PolicyTest, FindsServicesByTheirHostNames) {
  const auto policy = Policy::Make(WithService());
  ASSERT_TRUE(policy.ok()) << policy.status();
  const Service* const service = policy->FindService("model.corral.internal");
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->name, "model");
  EXPECT_EQ(service->host, "api.example");
  EXPECT_EQ(service->port, 65535);
  EXPECT_EQ(service->header, "x-api-key");
  EXPECT_TRUE(policy->AllowsName("model.corral.internal"));
  for (const char* other :
       {"model", "corral.internal", "api.example", "other.corral.internal"}) {
    EXPECT_EQ(policy->FindService(other), nullptr) << other;
    EXPECT_FALSE(policy->AllowsName(other)) << other;
  }
  EXPECT_EQ(policy->Find("model.corral.internal", 80), nullptr);
}

TEST(PolicyTest, ListensOnThePortOfServices) {
  EXPECT_EQ(PortsOf(WithService()), std::set<uint16_t>{80});
  EXPECT_EQ(PortsOf(wire::Policy()), std::set<uint16_t>{});
}

TEST(PolicyTest, RefusesServicesThatLackSomething) {
  for (const auto change : std::vector<void (*)(wire::Service*)>{
           [](wire::Service* service) { service->clear_name(); },
           [](wire::Service* service) { service->clear_host(); },
           [](wire::Service* service) { service->clear_header(); },
           [](wire::Service* service) { service->set_port(0); },
           [](wire::Service* service) { service->set_port(65536); }}) {
    wire::Policy message = WithService();
    change(message.mutable_services(0));
    EXPECT_FALSE(Policy::Make(message).ok()) << message.ShortDebugString();
  }
}

}  // namespace
}  // namespace egress

// The configuration of ways out of sandboxes.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "corral/config/v1/server_config.pb.h"
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

absl::Status Parse(const std::string& text) {
  Flags flags;
  flags.listen = "unix:/run/test.sock";
  return ParseConfig("f.textproto", text, flags).status();
}

TEST(ConfigEgressTest, NamesTheEgressRuleThatIsWrong) {
  EXPECT_THAT(Parse("ceilings { egress {\n"
                    " rules { host: '*.a.com' ports: 443 }\n"
                    " rules { host: 'b..com' }\n"
                    "} }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("f.textproto:3:10: field host: value "
                                        "\"b..com\"; allowed: "),
                             HasSubstr("a host name"))));
}

TEST(ConfigEgressTest, OpensNoWayOutOverTcpByDefault) {
  const std::string tcp =
      "listen: 'h:1' tls { certificate_chain_file: '/a' private_key_file: '/b' "
      "client_ca_file: '/c' }";
  const auto closed = ParseConfig("f", tcp, Flags());
  ASSERT_THAT(closed.status(), IsOk());
  EXPECT_TRUE(closed->ceilings().has_egress());
  EXPECT_EQ(closed->ceilings().egress().rules_size(), 0);
  const auto open = ParseConfig(
      "f", tcp + " ceilings { egress { rules { host: 'a.com' } } }", Flags());
  ASSERT_THAT(open.status(), IsOk());
  EXPECT_EQ(open->ceilings().egress().rules_size(), 1);
  const auto local = ParseConfig("f", "listen: 'unix:/s'", Flags());
  ASSERT_THAT(local.status(), IsOk());
  EXPECT_FALSE(local->ceilings().has_egress());
}

TEST(ConfigEgressTest, TakesNameServersInEveryForm) {
  for (const char* good :
       {"127.0.0.1", "127.0.0.1:1", "127.0.0.1:65535", "::1", "[::1]:53"}) {
    EXPECT_THAT(Parse(absl::StrCat("egress { name_servers: '", good, "' }")),
                IsOk())
        << good;
  }
  for (const char* bad :
       {"", "a", "127.0.0.1:", "127.0.0.1:65536", "[::1]", "[::1:53", "::1]:53",
        "[a]:53", "127.0.0.1:x", "a:53", "1:2:3:4:5:6:7:8:53"}) {
    EXPECT_THAT(Parse(absl::StrCat("egress { name_servers: '", bad, "' }")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("field name_servers")))
        << bad;
  }
}

TEST(ConfigEgressTest, TakesListsUpToTheirLongest) {
  const auto repeat = [](const char* element, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&text, element, " ");
    }
    return text;
  };
  struct Case {
    const char* section;
    const char* element;
    int most;
  };
  for (const Case& each :
       {Case{"egress {", "private_networks: '10.0.0.0/8'", 64},
        Case{"egress {", "name_servers: '127.0.0.1'", 8},
        Case{"ceilings { egress {", "rules { host: 'a.com' ports: 65535 }",
             256}}) {
    const std::string end =
        std::string(each.section).find("ceilings") == 0 ? "} }" : "}";
    EXPECT_THAT(
        Parse(absl::StrCat(each.section, repeat(each.element, each.most), end)),
        IsOk());
    EXPECT_THAT(Parse(absl::StrCat(each.section,
                                   repeat(each.element, each.most + 1), end)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("at most ", each.most))));
  }
}

TEST(ConfigEgressTest, NamesTheElementOfAListThatIsWrong) {
  EXPECT_THAT(Parse("egress {\nprivate_networks: '10.0.0.0/8'\n"
                    "private_networks: 'b'\n}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("f.textproto:3:1: field private_networks: "
                                  "value \"b\"")));
  EXPECT_THAT(
      Parse("egress {\nname_servers: '127.0.0.1'\nname_servers: 'b'\n}"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               StartsWith("f.textproto:3:1: field name_servers: value "
                          "\"b\"")));
  EXPECT_THAT(Parse("ceilings { egress { rules { host: 'a.com'\nports: 443\n"
                    "ports: 0\n} } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "f.textproto:3:1: field ports: value \"0\"; allowed: "
                       "[1, 65535]"));
}

TEST(ConfigEgressTest, NamesTheFirstElementOfAListThatIsTooMuch) {
  std::string text = "egress {\n";
  for (int i = 0; i < 10; ++i) {
    absl::StrAppend(&text, "name_servers: '127.0.0.1'\n");
  }
  EXPECT_THAT(Parse(text + "}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "f.textproto:10:1: field name_servers: value "
                       "\"10 elements\"; allowed: at most 8"));
}

TEST(ConfigEgressTest, RefusesARuleThatNoSandboxCanHave) {
  for (const char* bad :
       {"host: 'a.com' ports: 65536", "host: 'a.com' protocol: 9"}) {
    EXPECT_THAT(
        Parse(absl::StrCat("ceilings { egress { rules { ", bad, " } } }")),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 StartsWith("f.textproto:")))
        << bad;
  }
  EXPECT_THAT(Parse("ceilings { profiles: 'PROFILE_UNSPECIFIED' }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("field profiles")));
  EXPECT_THAT(Parse("egress { max_connections: 8000 idle_seconds: 86400 }"),
              IsOk());
}

}  // namespace
}  // namespace server

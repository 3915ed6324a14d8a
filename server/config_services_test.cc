// The services in a configuration.

#include "server/config_services.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

constexpr char kModel[] =
    "name: 'model' upstream: 'api.example' header: 'x-api-key' "
    "value_file: '/key'";

absl::StatusOr<corral::config::v1::ServerConfig> Load(const std::string& text) {
  Flags flags;
  flags.listen = "unix:/run/test.sock";
  return ParseConfig("f.textproto", text, flags);
}

absl::Status Parse(const std::string& services) {
  return Load(absl::StrCat("egress {\n", services, "\n}")).status();
}

std::string Service(const std::string& fields) {
  return absl::StrCat("services { ", fields, " }");
}

// The services of a way out with this configuration.
corral::supervisor::v1::Egress EgressOf(const std::string& text) {
  const auto config = Load(text);
  EXPECT_THAT(config.status(), IsOk());
  return DefaultsOf(*config).egress;
}

TEST(ConfigServicesTest, TakesEveryFieldOver) {
  const auto egress = EgressOf(
      "egress { services { name: 'model' upstream: 'API.example:8443' "
      "header: 'Authorization' value_command: '/bin/token' value_command: 'a b'"
      " value_prefix: 'Bearer ' ca_file: '/ca.pem' } " +
      Service("name: 'b' upstream: 'b.example' header: 'k' value_file: '/v'") +
      "}");
  ASSERT_EQ(egress.policy().services_size(), 2);
  const auto& service = egress.policy().services(0);
  EXPECT_EQ(service.name(), "model");
  EXPECT_EQ(service.host(), "api.example");
  EXPECT_EQ(service.port(), 8443U);
  EXPECT_EQ(service.header(), "Authorization");
  EXPECT_TRUE(service.own_authorities());
  ASSERT_EQ(egress.credentials_size(), 2);
  const auto& source = egress.credentials(0);
  EXPECT_EQ(source.service(), "model");
  EXPECT_EQ(source.file(), "");
  EXPECT_THAT(source.command(), ::testing::ElementsAre("/bin/token", "a b"));
  EXPECT_EQ(source.prefix(), "Bearer ");
  EXPECT_EQ(source.ca_file(), "/ca.pem");
  EXPECT_EQ(egress.policy().services(1).port(), 443U);
  EXPECT_FALSE(egress.policy().services(1).own_authorities());
  EXPECT_EQ(egress.credentials(1).file(), "/v");
}

TEST(ConfigServicesTest, NamesTheServiceThatIsWrong) {
  EXPECT_THAT(
      Parse(Service(kModel) + "\n" +
            Service("name: 'b'\n upstream: 'b..c' header: 'k' "
                    "value_file: '/v'")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(StartsWith("f.textproto:4:2: field upstream: value "
                                "\"b..c\"; allowed: HOST or HOST:PORT"))));
}

TEST(ConfigServicesTest, RefusesWrongValues) {
  const struct {
    const char* good;
    const char* bad;
    const char* field;
  } cases[] = {
      {"name: 'model'", "", "field name"},
      {"name: 'model'", "name: 'Model'", "field name"},
      {"name: 'model'", "name: 'a.b'", "field name"},
      {"upstream: 'api.example'", "", "field upstream"},
      {"'api.example'", "'https://api.example'", "field upstream"},
      {"'api.example'", "'api.example:0'", "field upstream"},
      {"'api.example'", "'api.example:65536'", "field upstream"},
      {"'api.example'", "'api.example:'", "field upstream"},
      {"'api.example'", "'10.0.0.1'", "field upstream"},
      {"header: 'x-api-key'", "", "field header"},
      {"'x-api-key'", "'x api'", "field header"},
      {"'x-api-key'", "'x_api'", "field header"},
      {"'x-api-key'", "'a:'", "field header"},
      {"'x-api-key'", "'Host'", "field header"},
      {"'x-api-key'", "'content-length'", "field header"},
      {"'x-api-key'", "'Transfer-Encoding'", "field header"},
      {"value_file: '/key'", "", "exactly one of value_file"},
      {"'/key'", "'/key' value_command: '/bin/x'", "exactly one of value_file"},
      {"'/key'", "'key'", "field value_file"},
      {"'/key'", "'/usr/key'", "field value_file"},
      {"value_file: '/key'", "value_command: 'token'", "field value_command"},
      {"value_file: '/key'", "value_command: '/t' value_command: 'a\\000'",
       "field value_command"},
      {"'/key'", "'/key' value_prefix: 'a\\n'", "field value_prefix"},
      {"'/key'", "'/key' ca_file: 'ca.pem'", "field ca_file"},
  };
  EXPECT_THAT(Parse(Service(kModel)), IsOk());
  for (const auto& [good, bad, field] : cases) {
    EXPECT_THAT(Parse(Service(absl::StrReplaceAll(kModel, {{good, bad}}))),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field)))
        << bad;
  }
}

TEST(ConfigServicesTest, NamesAFieldThatIsMissing) {
  const struct {
    const char* present;
    const char* why;
  } cases[] = {
      {"name: 'model'", "name is missing; allowed: a label of a host name"},
      {"upstream: 'api.example'",
       "upstream is missing; allowed: HOST or HOST:PORT, a host name"},
      {"header: 'x-api-key'",
       "header is missing; allowed: the name of a header, at most 64 letters"},
  };
  for (const auto& [present, why] : cases) {
    EXPECT_THAT(Parse(Service(absl::StrReplaceAll(kModel, {{present, ""}}))),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith(absl::StrCat("f.textproto: field ", why))));
  }
}

TEST(ConfigServicesTest, TakesValuesUpToTheirLongest) {
  const auto with = [](const std::string& fields) {
    return Parse(Service(absl::StrReplaceAll(kModel, {{"'/key'", fields}})));
  };
  EXPECT_THAT(with("'/key' value_prefix: '" + std::string(64, ' ') + "'"),
              IsOk());
  EXPECT_THAT(with("'/key' value_prefix: '" + std::string(65, ' ') + "'"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("field value_prefix")));
  const auto header = [](size_t size) {
    return Parse(Service(
        absl::StrReplaceAll(kModel, {{"x-api-key", std::string(size, 'h')}})));
  };
  EXPECT_THAT(header(64), IsOk());
  EXPECT_THAT(header(65), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("field header")));
  const auto command = [](int words) {
    std::string text =
        absl::StrReplaceAll(kModel, {{"value_file: '/key'", ""}});
    for (int i = 0; i < words; ++i) {
      absl::StrAppend(&text, " value_command: '/w'");
    }
    return Parse(Service(text));
  };
  EXPECT_THAT(command(64), IsOk());
  EXPECT_THAT(command(65), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("field value_command")));
}

TEST(ConfigServicesTest, TakesAnUpstreamAtAnyPort) {
  for (const char* upstream : {"'api.example:1'", "'api.example:65535'"}) {
    EXPECT_THAT(Parse(Service(absl::StrReplaceAll(
                    kModel, {{"'api.example'", upstream}}))),
                IsOk());
  }
}

TEST(ConfigServicesTest, TakesNoHeaderThatConcernsTheConnection) {
  for (const char* header :
       {"Connection", "Content-Length", "Expect", "Host", "Keep-Alive",
        "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade"}) {
    EXPECT_THAT(
        Parse(Service(absl::StrReplaceAll(kModel, {{"x-api-key", header}}))),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("field header")))
        << header;
  }
}

TEST(ConfigServicesTest, NamesTheElementOfAListThatIsWrong) {
  EXPECT_THAT(Parse("services { name: 'm' upstream: 'a.example' header: 'k'\n"
                    "value_command: '/t'\nvalue_command: 'a\\000' }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("f.textproto:4:1: field value_command")));
  EXPECT_THAT(Load(absl::StrCat("egress { ", Service(kModel), " }\n",
                                "ceilings { egress { services: 'model'\n",
                                "services: 'x' } }"))
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("f.textproto:3:1: field services")));
}

TEST(ConfigServicesTest, TakesSixtyFourServicesWithDifferentNames) {
  std::string services;
  for (int i = 0; i < 64; ++i) {
    absl::StrAppend(&services, Service(absl::StrReplaceAll(
                                   kModel, {{"model", absl::StrCat("m", i)}})));
  }
  EXPECT_THAT(Parse(services), IsOk());
  EXPECT_THAT(Parse(services + Service(kModel)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("at most 64 services")));
  EXPECT_THAT(Parse(Service(kModel) + Service(kModel)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no service before has")));
}

TEST(ConfigServicesTest, OffersWhatTheCeilingAllows) {
  const std::string both =
      "egress { " + Service(kModel) +
      Service("name: 'b' upstream: 'b.example' header: 'k' value_file: '/v'") +
      "} ";
  EXPECT_EQ(EgressOf(both).policy().services_size(), 2);
  EXPECT_EQ(EgressOf(both + "ceilings { egress {} }").credentials_size(), 0);
  const auto one = EgressOf(both + "ceilings { egress { services: 'b' } }");
  ASSERT_EQ(one.policy().services_size(), 1);
  EXPECT_EQ(one.policy().services(0).name(), "b");
  ASSERT_EQ(one.credentials_size(), 1);
  EXPECT_EQ(one.credentials(0).service(), "b");
  EXPECT_THAT(Load(both + "ceilings { egress { services: 'b' services: 'x' } }")
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("field services: value \"x\""),
                             HasSubstr("one of egress.services"))));
  EXPECT_THAT(Load("ceilings { egress { services: 'b' } }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("field services")));
}

}  // namespace
}  // namespace server

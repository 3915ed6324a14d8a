#include "bridge/acp/profiles/profile_settings.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kProfiles[] = R"(
  set { name: "RETRIES" value: "0" }
  agent {
    name: "a"
    model {
      service: "first"
      allow_host: "first.example"
      pass: "FIRST_KEY"
      pass: "SHARED_KEY"
      set { name: "FIRST_URL" value: "http://first.corral.internal" }
      set { name: "FIRST_KEY" value: "none" }
    }
    model {
      service: "second"
      allow_host: "second.example"
      pass: "SHARED_KEY"
      set { name: "SECOND_URL" value: "http://second.corral.internal" }
    }
    allow_host: "models.example:8080"
    set { name: "UPDATES" value: "off" }
    pass: "MODEL"
  })";

class ProfileSettingsTest : public ::testing::Test {
 protected:
  ProfileSettingsTest() {
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(kProfiles, &profiles_));
  }
  ProfileSettings Settle(const std::vector<std::string>& named,
                         const std::vector<std::string>& services) {
    return bridge::Settle(profiles_.agent(0), profiles_.set(), named, services);
  }

  corral::config::v1::AgentProfiles profiles_;
};

TEST_F(ProfileSettingsTest, PassOnTheCredentialAndAllowTheHosts) {
  const ProfileSettings settings = Settle({}, {"other"});
  EXPECT_THAT(settings.variables,
              ElementsAre("FIRST_KEY", "SHARED_KEY", "UPDATES=off", "MODEL",
                          "RETRIES=0"));
  EXPECT_THAT(settings.hosts, ElementsAre("first.example", "second.example",
                                          "models.example:8080"));
}

TEST_F(ProfileSettingsTest, LeadToAServiceInsteadOfPassingACredential) {
  const ProfileSettings settings = Settle({}, {"first", "second"});
  EXPECT_THAT(
      settings.variables,
      ElementsAre("FIRST_URL=http://first.corral.internal", "FIRST_KEY=none",
                  "SECOND_URL=http://second.corral.internal", "UPDATES=off",
                  "MODEL", "RETRIES=0"));
  EXPECT_THAT(settings.hosts, ElementsAre("models.example:8080"));
}

TEST_F(ProfileSettingsTest, LeaveOtherModelsAsTheyAre) {
  const ProfileSettings settings = Settle({}, {"second"});
  EXPECT_THAT(settings.variables,
              ElementsAre("FIRST_KEY", "SHARED_KEY",
                          "SECOND_URL=http://second.corral.internal",
                          "UPDATES=off", "MODEL", "RETRIES=0"));
  EXPECT_THAT(settings.hosts,
              ElementsAre("first.example", "models.example:8080"));
}

TEST_F(ProfileSettingsTest, SayNothingAboutAVariableThatTheUserNames) {
  EXPECT_THAT(Settle({"UPDATES", "FIRST_KEY", "RETRIES"}, {}).variables,
              ElementsAre("SHARED_KEY", "MODEL"));
  EXPECT_THAT(Settle({"FIRST_URL", "FIRST_KEY", "RETRIES", "UPDATES", "MODEL",
                      "SHARED_KEY"},
                     {"first"})
                  .variables,
              IsEmpty());
}

}  // namespace
}  // namespace bridge

#include "bridge/client/published_port.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace client {
namespace {

using ::testing::HasSubstr;
using ::tests::StatusIs;

TEST(PublishedPortTest, IsTheSameOnBothSidesOrAnother) {
  EXPECT_EQ(ParsePublishedPort("8080")->inside, 8080);
  EXPECT_EQ(ParsePublishedPort("8080")->local, 8080);
  EXPECT_EQ(ParsePublishedPort("1:65535")->inside, 1);
  EXPECT_EQ(ParsePublishedPort("1:65535")->local, 65535);
  EXPECT_EQ(ParsePublishedPort("65535:0")->inside, 65535);
  EXPECT_EQ(ParsePublishedPort("65535:0")->local, 0);
}

TEST(PublishedPortTest, RefusesWhatIsNoPort) {
  for (const char* text : {"", "0", "65536", "+80", " 80", "80 ", "x", ":80",
                           "-1", "99999999999", "0:80"}) {
    EXPECT_THAT(
        ParsePublishedPort(text).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("PORT:LOCAL")))
        << text;
  }
  for (const char* text : {"80:", "80:65536", "80:x", "80:80:80", "80:-1"}) {
    EXPECT_THAT(
        ParsePublishedPort(text).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 (any free")))
        << text;
  }
}

}  // namespace
}  // namespace client

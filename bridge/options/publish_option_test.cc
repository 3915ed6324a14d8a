#include "bridge/options/publish_option.h"

#include <vector>

#include "absl/status/status.h"
#include "bridge/client/published_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class PublishOptionTest : public ::testing::Test {
 protected:
  PublishOptionTest() { AddPublishOption(table_, ports_); }

  OptionTable table_{"program", "", ""};
  std::vector<client::PublishedPort> ports_;
};

TEST_F(PublishOptionTest, TakesEachPort) {
  EXPECT_THAT(table_.Parse({"--publish=8080", "-p", "8081:0"}).status(),
              IsOk());
  ASSERT_EQ(ports_.size(), 2);
  EXPECT_EQ(ports_[0].inside, 8080);
  EXPECT_EQ(ports_[0].local, 8080);
  EXPECT_EQ(ports_[1].inside, 8081);
  EXPECT_EQ(ports_[1].local, 0);
}

TEST_F(PublishOptionTest, RefusesWhatIsNoPort) {
  EXPECT_THAT(table_.Parse({"--publish", "0"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("allowed is PORT or PORT:LOCAL")));
  EXPECT_TRUE(ports_.empty());
}

}  // namespace
}  // namespace bridge
